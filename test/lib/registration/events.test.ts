import { describe, expect, it } from "vitest";
import type { Condition } from "../../../lib/model/condition.ts";
import { eventsOfLook } from "../../../lib/registration/decide.ts";
import type { Failed, Look } from "../../../lib/registration/probe-outcome.ts";

const lastTransitionTime = "2026-01-01T00:00:00Z";
const message = "cluster east: get /readyz: connection refused";
const healthy: Look = { kind: "healthy" };
const failed = (reason: Failed["reason"]): Look => ({ kind: "failed", reason, message });
const unknown: Look = { kind: "not-configured", reason: "ClusterNotConfigured", message };
const ready: Condition = { type: "Ready", status: "True", reason: "ClusterReady", message: "", lastTransitionTime };
const unready = (reason: string, words = message): Condition => ({
  type: "Ready",
  status: "False",
  reason,
  message: words,
  lastTransitionTime,
});

describe("what people hear of a look", () => {
  const cases: Record<
    string,
    { look: Look; before?: Condition | undefined; after: Condition | undefined; told: readonly string[] }
  > = {
    "a cluster that turns not Ready is told, with the cause": {
      look: failed("ClusterUnhealthy"),
      before: ready,
      after: unready("ClusterUnhealthy"),
      told: [`ClusterUnhealthy: ${message}`],
    },
    "one that was never reached is told, too": {
      look: unknown,
      after: unready("ClusterNotConfigured"),
      told: [`ClusterNotConfigured: ${message}`],
    },
    "a failure that does not count yet is not": {
      look: failed("ClusterUnhealthy"),
      before: ready,
      after: ready,
      told: [],
    },
    "one that stays so is told no more, whatever its network says": {
      look: failed("ClusterUnhealthy"),
      before: unready("ClusterUnhealthy", "no answer in time"),
      after: unready("ClusterUnhealthy"),
      told: [],
    },
    "another reason is told": {
      look: failed("CredentialsRejected"),
      before: unready("ClusterUnhealthy"),
      after: unready("CredentialsRejected"),
      told: [`CredentialsRejected: ${message}`],
    },
    "one that answers again and is not trusted yet is not": {
      look: healthy,
      before: unready("CredentialsRejected"),
      after: unready("ClusterUnhealthy", "the cluster answers again"),
      told: [],
    },
    "nor is one that turns Ready": { look: healthy, before: unready("ClusterUnhealthy"), after: ready, told: [] },
    "nor one that is": { look: healthy, before: ready, after: ready, told: [] },
  };
  for (const [rule, { look, before, after, told }] of Object.entries(cases)) {
    it(rule, () => {
      expect(eventsOfLook({ look, before, after })).toEqual(
        told.map((words) => ({ type: "Warning", reason: "HeartbeatFailed", message: words })),
      );
    });
  }
});
