import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import { decideRegistration } from "../../../lib/registration/decide.ts";
import { decideDue } from "../../../lib/registration/due.ts";
import { acceptIdentityAnnotation } from "../../../lib/registration/identity.ts";
import type { ProbeOutcome, RegistrationStatus } from "../../../lib/registration/probe-outcome.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { aHealthyOutcome, aRegistration, aStatus } from "./registrations.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");

/** The registration after probes with these outcomes, 30 seconds apart. */
function afterProbes(outcomes: readonly ProbeOutcome[], start: ClusterRegistration): ClusterRegistration {
  let registration = start;
  for (const [index, outcome] of outcomes.entries()) {
    const { status } = decideRegistration({ registration, outcome, nowMs: startMs + index * 30_000, settings });
    if (status !== undefined) registration = { ...registration, status };
  }
  return registration;
}
const accepting = (uid: string, status?: RegistrationStatus): ClusterRegistration =>
  aRegistration({
    metadata: { annotations: { [acceptIdentityAnnotation]: uid } },
    ...(status === undefined ? {} : { status }),
  });
const stored = (rest: Partial<RegistrationStatus> = {}): RegistrationStatus =>
  aStatus({}, { clusterUID: "uid-a", kubernetesVersion: "v1.35.0", ...rest });
const summaryOf = ({ status }: ClusterRegistration) => {
  const ready = findCondition(status?.conditions, "Ready");
  return [ready?.status, ready?.reason, status?.clusterUID, status?.observedClusterUID];
};
const uidA = aHealthyOutcome({ uid: "uid-a" });
const uidB = aHealthyOutcome({ uid: "uid-b" });
const unreadable = aHealthyOutcome();
const unreachable: ProbeOutcome = { kind: "failed", reason: "ClusterUnhealthy", message: "connection refused" };
const changed = ["False", "ClusterIdentityChanged", "uid-a", "uid-b"];

describe("the identity of a registered cluster", () => {
  it.each<[string, ClusterRegistration, readonly ProbeOutcome[], readonly unknown[]]>([
    ["is stored at the first successful probe", aRegistration(), [uidA], ["True", "ClusterReady", "uid-a", undefined]],
    [
      "is stored for a registration of before, which has none",
      aRegistration({ status: aStatus() }),
      [uidA],
      ["True", "ClusterReady", "uid-a", undefined],
    ],
    [
      "makes the cluster not Ready at once when another one answers",
      aRegistration({ status: stored() }),
      [uidB],
      changed,
    ],
    ["stays changed with every further probe", aRegistration({ status: stored() }), [uidB, uidB, uidB], changed],
    [
      "is confirmed at once when the registered cluster answers again",
      aRegistration({ status: stored() }),
      [uidB, uidA],
      ["True", "ClusterReady", "uid-a", undefined],
    ],
    [
      "stays changed while the other cluster does not answer",
      aRegistration({ status: stored() }),
      [uidB, unreachable],
      ["False", "ClusterUnhealthy", "uid-a", "uid-b"],
    ],
    [
      "is replaced by the one that a user accepts, and the cluster is Ready at once",
      accepting("uid-b", stored()),
      [uidB],
      ["True", "ClusterReady", "uid-b", undefined],
    ],
    ["is not replaced by another one than a user accepts", accepting("uid-c", stored()), [uidB], changed],
    [
      "is not required where TMC never could read it",
      aRegistration({ status: aStatus() }),
      [unreadable, unreadable, unreadable],
      ["True", "ClusterReady", undefined, undefined],
    ],
    [
      "is kept while it cannot be read for less than three probes",
      aRegistration({ status: stored() }),
      [unreadable, unreadable],
      ["True", "ClusterReady", "uid-a", undefined],
    ],
    [
      "is unknown, and the cluster is not Ready, when it cannot be read any more",
      aRegistration({ status: stored() }),
      [unreadable, unreadable, unreadable],
      ["False", "ClusterIdentityUnknown", "uid-a", undefined],
    ],
    [
      "is no longer required when a user accepts that it is unknown",
      accepting("unknown", stored()),
      [unreadable],
      ["True", "ClusterReady", undefined, undefined],
    ],
  ])("%s", (_, start, outcomes, expected) => {
    expect(summaryOf(afterProbes(outcomes, start))).toEqual(expected);
  });

  it("names both clusters and the command that accepts the other one", () => {
    const { status } = afterProbes([uidB], aRegistration({ status: stored() }));
    expect(findCondition(status?.conditions, "Ready")?.message).toBe(
      'another cluster answers: its uid is uid-b, and the registered cluster has uid uid-a; if this is intended, run "tmc cluster accept-identity east"',
    );
  });

  it("keeps what was detected on the registered cluster, and its last heartbeat, while another one answers", () => {
    const detected = { version: "v1.36.0", apis: [], nodes: undefined, storage: true };
    const { status } = afterProbes([aHealthyOutcome({ uid: "uid-b", detected })], aRegistration({ status: stored() }));
    expect(status).toMatchObject({ kubernetesVersion: "v1.35.0", lastHeartbeat: stored().lastHeartbeat });
    expect(status?.capabilitiesDetected).toBeUndefined();
  });

  it("causes no write while the same other cluster answers every probe", () => {
    const registration = afterProbes([uidB], aRegistration({ status: stored() }));
    const later = startMs + 3_600_000;
    expect(decideRegistration({ registration, outcome: uidB, nowMs: later, settings }).status).toBeUndefined();
  });

  it("is probed at once when a user accepts the cluster that answers, and no other", () => {
    const due = (accepted: string) =>
      decideDue({
        registration: accepting(accepted, stored({ observedClusterUID: "uid-b" })),
        trigger: "other",
        lastProbeMs: startMs,
        lastDetectionMs: startMs,
        nowMs: startMs + 1_000,
        settings,
      }).kind;
    expect(due("uid-b")).toBe("now");
    expect(due("uid-c")).toBe("not-due");
  });
});

describe("registrations of the same cluster", () => {
  const conditionOf = (registration: ClusterRegistration) => {
    const unique = findCondition(registration.status?.conditions, "ClusterIdentityUnique");
    return unique && [unique.status, unique.reason, unique.message];
  };
  const probed = (registration: ClusterRegistration, sameCluster: readonly string[] | undefined) => {
    const { status } = decideRegistration({ registration, outcome: uidA, sameCluster, nowMs: startMs, settings });
    return status === undefined ? registration : { ...registration, status };
  };

  it("are shown in the condition ClusterIdentityUnique, until they are gone", () => {
    const alone = probed(aRegistration(), []);
    expect(conditionOf(alone)).toBeUndefined();
    const shared = probed(alone, ["west", "north"]);
    expect(conditionOf(shared)).toEqual([
      "False",
      "ClusterShared",
      "the same cluster is also registered as west, north",
    ]);
    expect(summaryOf(shared)[0]).toBe("True");
    expect(conditionOf(probed(shared, undefined))?.[0]).toBe("False");
    expect(conditionOf(probed(shared, []))).toEqual(["True", "ClusterNotShared", ""]);
  });
});
