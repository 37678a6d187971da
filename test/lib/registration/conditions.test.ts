import { describe, expect, test } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type Condition, findCondition } from "../../../lib/model/condition.ts";
import { credentialsCondition, watchedCondition } from "../../../lib/registration/conditions.ts";
import { decideRegistration } from "../../../lib/registration/decide.ts";
import type { ProbeOutcome, RegistrationStatus } from "../../../lib/registration/probe-outcome.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { aHealthyOutcome, aRegistration, aStatus } from "./registrations.ts";

const nowMs = Date.parse("2026-03-01T00:00:00Z");
const lastTransitionTime = "2026-02-01T00:00:00Z";
const existing = (type: string, status: "True" | "False"): readonly Condition[] => [
  { type, status, reason: "Before", message: "", lastTransitionTime },
];

describe("watchedCondition", () => {
  test.each([
    { what: "a process that does not watch clusters", watches: undefined, before: [], condition: undefined },
    {
      what: "a process that does not watch clusters, after one that did",
      watches: undefined,
      before: existing("ObjectsWatched", "False"),
      condition: undefined,
    },
    { what: "a cluster within the limits", watches: { excess: undefined }, before: [], condition: undefined },
    {
      what: "a cluster that exceeds a limit",
      watches: { excess: "cluster east: watch pods: too many" },
      before: [],
      condition: {
        status: "False",
        severity: "Warning",
        reason: "WatchLimitExceeded",
        message:
          "cluster east: watch pods: too many; TMC does not watch these objects now, and reads each of them when it needs it",
      },
    },
    {
      what: "a cluster that is within the limits again",
      watches: { excess: undefined },
      before: existing("ObjectsWatched", "False"),
      condition: { status: "True", reason: "WithinWatchLimits", message: "" },
    },
  ])("$what", ({ watches, before, condition }) => {
    expect(watchedCondition(before, watches)).toEqual(condition && { type: "ObjectsWatched", ...condition });
  });
});

describe("credentialsCondition", () => {
  const healthy = (credentialsRenewMs?: number): ProbeOutcome => aHealthyOutcome({ credentialsRenewMs });
  const unreachable: ProbeOutcome = { kind: "failed", reason: "ClusterUnhealthy", message: "no answer" };
  const False = { status: "False", reason: "CredentialsExpiring" };
  const cases: Record<string, { before?: readonly Condition[]; outcome: ProbeOutcome; condition: object | undefined }> =
    {
      "credentials that do not expire need no condition": { outcome: healthy(), condition: undefined },
      "credentials that need no renewal yet need no condition": { outcome: healthy(nowMs + 1), condition: undefined },
      "credentials are expiring from the time at which they should be renewed": {
        outcome: healthy(nowMs),
        condition: False,
      },
      "credentials of a cluster that does not respond expire as well": {
        outcome: { ...unreachable, credentialsRenewMs: nowMs },
        condition: False,
      },
      "renewed credentials are current": {
        before: existing("CredentialsCurrent", "False"),
        outcome: healthy(nowMs + 1),
        condition: { status: "True", reason: "CredentialsRenewed" },
      },
      "credentials that never expire replace expiring ones": {
        before: existing("CredentialsCurrent", "False"),
        outcome: healthy(),
        condition: { status: "True", reason: "CredentialsRenewed" },
      },
      "credentials that could not be read leave the condition as it is": {
        before: existing("CredentialsCurrent", "False"),
        outcome: unreachable,
        condition: undefined,
      },
    };
  test.each(Object.entries(cases))("%s", (_, { before = [], outcome, condition }) => {
    const decided = credentialsCondition(before, { registration: aRegistration(), outcome, nowMs });
    if (condition === undefined) expect(decided).toBeUndefined();
    else expect(decided).toMatchObject({ type: "CredentialsCurrent", ...condition });
  });

  const remedies: Record<string, { credentials?: ClusterRegistration["spec"]["credentials"]; remedy: string }> = {
    "a Secret of tmc cluster join": {
      credentials: { secretRef: { namespace: "default", name: "east" } },
      remedy:
        'store new ones in the Secret default/east; if "tmc cluster join" wrote it, run ' +
        '"tmc cluster join east --kubeconfig ADMIN_KUBECONFIG --location us-east-1" again',
    },
    "a Secret of tmc cluster join in another namespace": {
      credentials: { secretRef: { namespace: "clusters", name: "east" } },
      remedy:
        'store new ones in the Secret clusters/east; if "tmc cluster join" wrote it, run ' +
        '"tmc cluster join east --kubeconfig ADMIN_KUBECONFIG --location us-east-1 --secret-namespace clusters" again',
    },
    "a Secret of another name": {
      credentials: { secretRef: { namespace: "ci", name: "kubeconfigs" } },
      remedy: "store new ones in the Secret ci/kubeconfigs",
    },
    "credentials of the operator": { remedy: "the operator of TMC has to replace them" },
  };
  test.each(Object.entries(remedies))("says how to renew %s", (_, { credentials, remedy }) => {
    const registration = aRegistration({ spec: credentials === undefined ? {} : { credentials } });
    expect(credentialsCondition([], { registration, outcome: healthy(nowMs), nowMs })?.message).toBe(
      `the credentials expire at the time in status.credentialsExpire; ${remedy}`,
    );
  });
});

describe("a cluster with a warning", () => {
  const decide = (status: RegistrationStatus, excess: string | undefined, credentialsRenewMs: number) =>
    decideRegistration({
      registration: aRegistration({ status }),
      outcome: aHealthyOutcome({ credentialsRenewMs, credentialsExpireMs: credentialsRenewMs + 1_000 }),
      watches: { excess },
      nowMs,
      settings,
    });

  test("stays Ready, and gets one Event for each warning", () => {
    const first = decide(aStatus(), "too many objects", nowMs);
    expect(findCondition(first.status?.conditions, "Ready")?.status).toBe("True");
    expect(first.events.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "Warning CredentialsExpiring",
      "Warning WatchLimitExceeded",
    ]);
    const second = decide(first.status ?? {}, "too many objects", nowMs);
    expect(second.events).toEqual([]);
    const third = decide(first.status ?? {}, undefined, nowMs + 1);
    expect(third.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      "Ready=True",
      "ObjectsWatched=True",
      "CredentialsCurrent=True",
    ]);
    expect(third.events).toEqual([]);
  });
});
