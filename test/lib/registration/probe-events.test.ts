import { describe, expect, it } from "vitest";
import type { Condition } from "../../../lib/model/condition.ts";
import { probeEvents } from "../../../lib/registration/decide.ts";
import type { Failed, ProbeOutcome } from "../../../lib/registration/probe-outcome.ts";
import { aHealthyOutcome } from "./registrations.ts";

const lastTransitionTime = "2026-01-01T00:00:00Z";
const message = "cluster east: get /readyz: connection refused";
const healthy = aHealthyOutcome();
const failed = (reason: Failed["reason"]): ProbeOutcome => ({ kind: "failed", reason, message });
const notConfigured: ProbeOutcome = { kind: "not-configured", reason: "ClusterNotConfigured", message };
const ready: Condition = { type: "Ready", status: "True", reason: "ClusterReady", message: "", lastTransitionTime };
const notReady = (reason: string, text = message): Condition => ({
  type: "Ready",
  status: "False",
  reason,
  message: text,
  lastTransitionTime,
});

describe("probeEvents", () => {
  const cases: Record<
    string,
    { outcome: ProbeOutcome; before?: Condition | undefined; after: Condition | undefined; messages: readonly string[] }
  > = {
    "records an Event with the cause when a cluster loses Ready": {
      outcome: failed("ClusterUnhealthy"),
      before: ready,
      after: notReady("ClusterUnhealthy"),
      messages: [`ClusterUnhealthy: ${message}`],
    },
    "records an Event for a new cluster that is not configured": {
      outcome: notConfigured,
      after: notReady("ClusterNotConfigured"),
      messages: [`ClusterNotConfigured: ${message}`],
    },
    "records no Event for a failed probe that leaves the cluster Ready": {
      outcome: failed("ClusterUnhealthy"),
      before: ready,
      after: ready,
      messages: [],
    },
    "records no Event while the cluster stays not Ready for the same reason with another message": {
      outcome: failed("ClusterUnhealthy"),
      before: notReady("ClusterUnhealthy", "no answer in time"),
      after: notReady("ClusterUnhealthy"),
      messages: [],
    },
    "records an Event when the reason changes while the cluster is not Ready": {
      outcome: failed("CredentialsRejected"),
      before: notReady("ClusterUnhealthy"),
      after: notReady("CredentialsRejected"),
      messages: [`CredentialsRejected: ${message}`],
    },
    "records no Event for a cluster that responds again but is not Ready yet": {
      outcome: healthy,
      before: notReady("CredentialsRejected"),
      after: notReady("ClusterUnhealthy", "the cluster responds again"),
      messages: [],
    },
    "records no Event when a cluster becomes Ready": {
      outcome: healthy,
      before: notReady("ClusterUnhealthy"),
      after: ready,
      messages: [],
    },
    "records no Event while a cluster stays Ready": { outcome: healthy, before: ready, after: ready, messages: [] },
  };
  for (const [rule, { outcome, before, after, messages }] of Object.entries(cases)) {
    it(rule, () => {
      expect(probeEvents({ outcome, before, after })).toEqual(
        messages.map((text) => ({ type: "Warning", reason: "HeartbeatFailed", message: text })),
      );
    });
  }
});
