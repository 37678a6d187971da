import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClusterRegistration, clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import { decideDeletion, decideRegistration } from "../../../lib/registration/decide.ts";
import type { Detected, ProbeOutcome, RegistrationStatus } from "../../../lib/registration/probe-outcome.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { faultsOf } from "../api/validate.ts";
import { aHealthyOutcome, aRegistration, aStatus } from "./registrations.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const healthy = aHealthyOutcome();
const connectionRefused: ProbeOutcome = {
  kind: "failed",
  reason: "ClusterUnhealthy",
  message: "cluster east: get /readyz: connection refused",
};
const timedOut: ProbeOutcome = {
  kind: "failed",
  reason: "ClusterUnhealthy",
  message: "cluster east: get /readyz: no answer in time",
};
const notConfigured: ProbeOutcome = {
  kind: "not-configured",
  reason: "ClusterNotConfigured",
  message: 'no kubeconfig is configured for cluster "east"',
};
const detected: Detected = {
  version: "v1.36.3",
  apis: [{ groupVersion: "networking.k8s.io/v1", kinds: ["Ingress"] }],
  nodes: {
    nodes: { ready: 2, total: 3 },
    capacity: { cpu: "24", memory: "96Gi", pods: "330" },
    allocatable: { cpu: "16", memory: "64Gi", pods: "220" },
    gpu: true,
  },
  storage: true,
};

const readyOf = (status: RegistrationStatus | undefined) => findCondition(status?.conditions, "Ready");

/** Decides after each outcome, `everySeconds` apart, and stores the written status as the reconciler does. */
function run(outcomes: readonly ProbeOutcome[], start: ClusterRegistration = aRegistration(), everySeconds = 30) {
  let registration = start;
  let writes = 0;
  const states = outcomes.map((outcome, index) => {
    const nowMs = startMs + (index + 1) * everySeconds * 1000;
    const { status } = decideRegistration({ registration, outcome, nowMs, settings });
    if (status !== undefined) {
      writes += 1;
      registration = { ...registration, status };
    }
    return readyOf(registration.status)?.status ?? "none";
  });
  return { registration, states, writes };
}

describe("decideRegistration", () => {
  const cases: Record<string, { before?: RegistrationStatus; outcome: ProbeOutcome; ready: object; rest?: object }> = {
    "a cluster that is not configured is not Ready with severity Error": {
      outcome: notConfigured,
      ready: { status: "False", reason: "ClusterNotConfigured", severity: "Error", message: notConfigured.message },
      rest: { lastHeartbeat: undefined, observedGeneration: 1 },
    },
    "a Ready cluster whose credentials are removed loses Ready at once and keeps its last heartbeat": {
      before: aStatus(),
      outcome: notConfigured,
      ready: { status: "False", reason: "ClusterNotConfigured" },
      rest: { lastHeartbeat: "2026-01-01T00:00:00Z" },
    },
    "expired credentials cause the reason CredentialsExpired and set credentialsExpire": {
      before: aStatus(),
      outcome: {
        kind: "not-configured",
        reason: "CredentialsExpired",
        message: "the credentials for the cluster have expired",
        credentialsExpireMs: startMs,
      },
      ready: { status: "False", reason: "CredentialsExpired" },
      rest: { credentialsExpire: "2026-01-01T00:00:00Z" },
    },
    "the first successful probe makes a new cluster Ready": {
      outcome: healthy,
      ready: { status: "True", reason: "ClusterReady", severity: undefined, observedGeneration: 1 },
      rest: { lastHeartbeat: "2026-01-01T00:10:00Z" },
    },
    "the first successful probe after ClusterNotConfigured makes the cluster Ready": {
      before: aStatus({ status: "False", reason: "ClusterNotConfigured" }),
      outcome: healthy,
      ready: { status: "True", reason: "ClusterReady", lastTransitionTime: "2026-01-01T00:10:00Z" },
    },
    "the first failed probe of a new cluster sets Ready to False with the cause": {
      outcome: connectionRefused,
      ready: { status: "False", reason: "ClusterUnhealthy", message: connectionRefused.message },
      rest: { lastHeartbeat: undefined, consecutiveFailures: 1, nextProbeTime: "2026-01-01T00:10:30Z" },
    },
    "one failed probe leaves a Ready cluster Ready and is counted": {
      before: aStatus(),
      outcome: connectionRefused,
      ready: { status: "True", reason: "ClusterReady", lastTransitionTime: "2026-01-01T00:00:00Z" },
      rest: { consecutiveFailures: 1, nextProbeTime: "2026-01-01T00:10:30Z", lastHeartbeat: "2026-01-01T00:00:00Z" },
    },
    "the third failed probe in a row sets Ready to False with the cause": {
      before: aStatus({}, { consecutiveFailures: 2, nextProbeTime: "2026-01-01T00:10:00Z" }),
      outcome: timedOut,
      ready: { status: "False", reason: "ClusterUnhealthy", message: timedOut.message },
      rest: { consecutiveFailures: 3 },
    },
    "a successful probe resets the counted failures": {
      before: aStatus({}, { consecutiveFailures: 2, nextProbeTime: "2026-01-01T00:10:00Z" }),
      outcome: healthy,
      ready: { status: "True", reason: "ClusterReady" },
      rest: { consecutiveFailures: undefined, nextProbeTime: undefined },
    },
    "one successful probe does not make a cluster Ready that lost Ready": {
      before: aStatus({ status: "False" }, { consecutiveFailures: 3 }),
      outcome: healthy,
      ready: { status: "False", reason: "ClusterUnhealthy" },
      rest: { consecutiveSuccesses: 1, consecutiveFailures: undefined, lastHeartbeat: "2026-01-01T00:10:00Z" },
    },
    "the second successful probe in a row makes a cluster Ready again": {
      before: aStatus({ status: "False" }, { consecutiveSuccesses: 1 }),
      outcome: healthy,
      ready: { status: "True", reason: "ClusterReady" },
      rest: { consecutiveSuccesses: undefined, nextProbeTime: undefined },
    },
    "a cluster that was never reached is Ready with its first successful probe after any number of failures": {
      before: {
        conditions: aStatus({ status: "False" }).conditions ?? [],
        observedGeneration: 1,
        consecutiveFailures: 3,
      },
      outcome: healthy,
      ready: { status: "True" },
    },
    "the expiry of the credentials is written to credentialsExpire": {
      before: aStatus(),
      outcome: aHealthyOutcome({ credentialsExpireMs: startMs + 3_600_000 }),
      ready: { status: "True" },
      rest: { credentialsExpire: "2026-01-01T01:00:00Z" },
    },
    "detected facts and capabilities are written with their time": {
      outcome: aHealthyOutcome({ detected }),
      ready: { status: "True" },
      rest: {
        kubernetesVersion: "v1.36.3",
        apis: detected.apis,
        nodes: { ready: 2, total: 3 },
        capacity: { cpu: "24", memory: "96Gi", pods: "330" },
        allocatable: { cpu: "16", memory: "64Gi", pods: "220" },
        capabilities: [
          { type: "compute", version: "v1.36.3" },
          { type: "gpu" },
          { type: "networking" },
          { type: "storage" },
        ],
        capabilitiesDetected: "2026-01-01T00:10:00Z",
      },
    },
    "nodes that TMC may not list are removed from the status": {
      before: aStatus({}, { nodes: { ready: 1, total: 1 }, capacity: { cpu: "1" }, capabilities: [{ type: "gpu" }] }),
      outcome: aHealthyOutcome({ detected: { ...detected, nodes: "forbidden", storage: false } }),
      ready: { status: "True" },
      rest: {
        nodes: undefined,
        capacity: undefined,
        allocatable: undefined,
        capabilities: [{ type: "compute", version: "v1.36.3" }, { type: "networking" }],
      },
    },
    "the requests of other pods are rounded up to 2 % of what is allocatable": {
      outcome: aHealthyOutcome({
        detected: {
          ...detected,
          otherPods: { kind: "known", requests: { cpu: 1_000_000_001n, memory: 1n } },
        },
      }),
      ready: { status: "True" },
      rest: { otherPods: { cpu: "1280m", memory: "1310Mi" } },
    },
    "no other pods are none": {
      outcome: aHealthyOutcome({
        detected: { ...detected, otherPods: { kind: "known", requests: { cpu: 0n, memory: 0n } } },
      }),
      ready: { status: "True" },
      rest: { otherPods: { cpu: "0", memory: "0" } },
    },
    "the requests of other pods that TMC may not list are unknown": {
      before: aStatus({}, { otherPods: { cpu: "1", memory: "1Gi" } }),
      outcome: aHealthyOutcome({ detected: { ...detected, otherPods: { kind: "unknown", reason: "Forbidden" } } }),
      ready: { status: "True" },
      rest: { otherPods: { unknown: "Forbidden" } },
    },
    "the requests of other pods that could not be read this time stay": {
      before: aStatus({}, { otherPods: { cpu: "1", memory: "1Gi" } }),
      outcome: aHealthyOutcome({ detected }),
      ready: { status: "True" },
      rest: { otherPods: { cpu: "1", memory: "1Gi" } },
    },
    "facts that could not be read keep their old values": {
      before: aStatus(
        {},
        {
          kubernetesVersion: "v1.35.0",
          nodes: { ready: 1, total: 1 },
          capabilities: [{ type: "gpu" }, { type: "storage" }],
        },
      ),
      outcome: aHealthyOutcome({
        detected: { version: undefined, apis: undefined, nodes: undefined, storage: undefined },
      }),
      ready: { status: "True" },
      rest: {
        kubernetesVersion: "v1.35.0",
        nodes: { ready: 1, total: 1 },
        apis: undefined,
        capabilities: [{ type: "compute", version: "v1.35.0" }, { type: "gpu" }, { type: "storage" }],
      },
    },
    "a failed probe keeps the detected facts and the last heartbeat": {
      before: aStatus({}, { kubernetesVersion: "v1.36.3", consecutiveFailures: 2, notifiedHash: "abc" }),
      outcome: connectionRefused,
      ready: { status: "False" },
      rest: { kubernetesVersion: "v1.36.3", notifiedHash: "abc", lastHeartbeat: "2026-01-01T00:00:00Z" },
    },
  };
  for (const [rule, { before, outcome, ready, rest = {} }] of Object.entries(cases)) {
    it(rule, () => {
      const registration = aRegistration(before === undefined ? {} : { status: before });
      const frozen = structuredClone(registration);
      const { status } = decideRegistration({ registration, outcome, nowMs: startMs + 600_000, settings });
      expect(status).toBeDefined();
      expect({ severity: undefined, ...readyOf(status) }).toMatchObject(ready);
      const written = new Map(Object.entries(status ?? {}));
      for (const [field, value] of Object.entries(rest))
        expect({ field, value: written.get(field) }).toEqual({ field, value });
      expect(registration).toEqual(frozen);
      expect(faultsOf(clusterRegistration, { ...registration, status })).toEqual([]);
    });
  }

  it("a new generation of the registration is set in the status and in the Ready condition", () => {
    const registration = aRegistration({ metadata: { generation: 2 }, status: aStatus() });
    const { status } = decideRegistration({ registration, outcome: healthy, nowMs: startMs + 1000, settings });
    expect(status).toMatchObject({ observedGeneration: 2, conditions: [{ observedGeneration: 2 }] });
  });
  it("conditions of other writers are kept in the registration", () => {
    const other = {
      type: "Other",
      status: "True",
      reason: "R",
      message: "m",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const registration = aRegistration({ status: { conditions: [other] } });
    expect(
      decideRegistration({ registration, outcome: healthy, nowMs: startMs, settings }).status?.conditions?.[0],
    ).toEqual(other);
  });
  it("nothing is written if no probe was due", () => {
    expect(
      decideRegistration({ registration: aRegistration(), outcome: undefined, nowMs: startMs, settings }).status,
    ).toBeUndefined();
  });
});

describe("flap damping", () => {
  it("Ready is lost after three failed probes and regained after two successful ones", () => {
    const { states } = run([healthy, connectionRefused, connectionRefused, connectionRefused, healthy, healthy]);
    expect(states).toEqual(["True", "True", "True", "False", "False", "True"]);
  });
  it("a cluster that fails every second probe stays Ready", () => {
    const outcomes = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? healthy : connectionRefused));
    expect(new Set(run(outcomes).states)).toEqual(new Set(["True"]));
  });
  it("a cluster that fails every second probe does not become Ready again", () => {
    const outcomes = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? healthy : connectionRefused));
    const lost = aRegistration({ status: aStatus({ status: "False" }, { consecutiveFailures: 3 }) });
    expect(new Set(run(outcomes, lost).states)).toEqual(new Set(["False"]));
  });
  it("Ready follows the last three failed or last two successful probes in every sequence of probes", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (successes) => {
        const { states } = run([healthy, ...successes.map((isSuccess) => (isSuccess ? healthy : connectionRefused))]);
        // The reference model uses only the last three and the last two probes.
        let expected = "True";
        for (const [index, state] of states.entries()) {
          const upTo = [true, ...successes].slice(0, index + 1);
          if (upTo.length >= 3 && upTo.slice(-3).every((isSuccess) => !isSuccess)) expected = "False";
          if (expected === "False" && upTo.slice(-2).every((isSuccess) => isSuccess)) expected = "True";
          if (state !== expected) return false;
        }
        return true;
      }),
    );
  });
});

describe("status writes of a registration", () => {
  it("an idle healthy cluster causes ten heartbeat writes in ten minutes", () => {
    const start = run([aHealthyOutcome({ detected })]).registration;
    const since = { ...start, status: { ...start.status, lastHeartbeat: "2026-01-01T00:00:00Z" } };
    const { writes, registration } = run(
      Array.from({ length: 20 }, () => healthy),
      since,
    );
    expect(writes).toBe(10);
    expect(registration.status?.lastHeartbeat).toBe("2026-01-01T00:10:00Z");
  });
  it("two controllers with different clocks do not overwrite each other's heartbeats", () => {
    let registration = aRegistration({ status: aStatus() });
    let writes = 0;
    for (let nowMs = startMs; nowMs <= startMs + 600_000; nowMs += 30_000) {
      for (const aheadMs of [0, 120_000]) {
        const { status } = decideRegistration({ registration, outcome: healthy, nowMs: nowMs + aheadMs, settings });
        if (status === undefined) continue;
        writes += 1;
        expect(Date.parse(status.lastHeartbeat ?? "")).toBeGreaterThanOrEqual(
          Date.parse(registration.status?.lastHeartbeat ?? ""),
        );
        registration = { ...registration, status };
      }
    }
    expect(writes).toBeLessThanOrEqual(12);
  });
  it("a heartbeat far in the future is overwritten", () => {
    const registration = aRegistration({ status: aStatus({}, { lastHeartbeat: "2027-01-01T00:00:00Z" }) });
    expect(decideRegistration({ registration, outcome: healthy, nowMs: startMs, settings }).status?.lastHeartbeat).toBe(
      "2026-01-01T00:00:00Z",
    );
  });
  it("a heartbeat far in the future is overwritten at once, however rarely heartbeats are written", () => {
    const registration = aRegistration({ status: aStatus({}, { lastHeartbeat: "2026-01-01T00:20:00Z" }) });
    const rarely = { ...settings, heartbeatWriteSeconds: 3_600 };
    const { status } = decideRegistration({ registration, outcome: healthy, nowMs: startMs, settings: rarely });
    expect(status?.lastHeartbeat).toBe("2026-01-01T00:00:00Z");
  });
  it("an infinite heartbeatWriteSeconds causes no heartbeat writes", () => {
    const withoutHeartbeats = { ...settings, heartbeatWriteSeconds: Number.POSITIVE_INFINITY };
    const registration = aRegistration({ status: aStatus() });
    const { status } = decideRegistration({
      registration,
      outcome: aHealthyOutcome(),
      nowMs: startMs + 600_000,
      settings: withoutHeartbeats,
    });
    expect(status).toBeUndefined();
  });
  it("a cluster that stops responding causes three writes and then none", () => {
    const { writes, registration } = run(
      Array.from({ length: 200 }, () => connectionRefused),
      aRegistration({ status: aStatus() }),
    );
    expect(writes).toBe(3);
    expect(registration.status?.consecutiveFailures).toBe(3);
  });
  it("a failure cause that changes with each probe is written no more often than a heartbeat", () => {
    const outcomes = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? connectionRefused : timedOut));
    const { writes } = run(
      outcomes,
      aRegistration({
        status: aStatus({ status: "False" }, { consecutiveFailures: 3, nextProbeTime: "2026-01-01T00:00:30Z" }),
      }),
    );
    expect(writes).toBeLessThanOrEqual(20);
  });
  it("a failure cause that has changed permanently is written", () => {
    const unreachable = aRegistration({
      status: aStatus({ status: "False" }, { consecutiveFailures: 3, nextProbeTime: "2026-01-01T00:00:30Z" }),
    });
    const { registration } = run(
      Array.from({ length: 5 }, () => timedOut),
      unreachable,
    );
    expect(readyOf(registration.status)?.message).toBe(timedOut.message);
  });
  it("a cluster that stays unconfigured causes one write", () => {
    expect(run(Array.from({ length: 20 }, () => notConfigured)).writes).toBe(1);
  });
  it("condition messages contain no times or counters: the same outcome later gives the same message", () => {
    for (const outcome of [healthy, connectionRefused, notConfigured]) {
      const later = run(Array.from({ length: 30 }, () => outcome)).registration;
      const soon = run([outcome, outcome, outcome]).registration;
      expect(readyOf(later.status)?.message).toBe(readyOf(soon.status)?.message);
    }
  });
  it("losing Ready is logged and recorded as an Event, staying Ready is not", () => {
    const registration = aRegistration({ status: aStatus({}, { consecutiveFailures: 2 }) });
    expect(
      decideRegistration({ registration, outcome: connectionRefused, nowMs: startMs + 1000, settings }),
    ).toMatchObject({
      readyChanges: [{ type: "Warning", reason: "ClusterUnhealthy", message: connectionRefused.message }],
      events: [
        { type: "Warning", reason: "HeartbeatFailed", message: `ClusterUnhealthy: ${connectionRefused.message}` },
      ],
    });
    expect(decideRegistration({ registration, outcome: healthy, nowMs: startMs + 1000, settings })).toMatchObject({
      readyChanges: [],
      events: [],
    });
  });
});

describe("decideDeletion", () => {
  const deleted = aRegistration({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  const cases: Record<string, { isUsed: boolean; passedSeconds: number; decided: object }> = {
    "releases a deleted registration at once if nothing uses the cluster": {
      isUsed: false,
      passedSeconds: 0,
      decided: { kind: "release" },
    },
    "waits while a placement uses the cluster": {
      isUsed: true,
      passedSeconds: 0,
      decided: { kind: "wait", afterSeconds: 1 },
    },
    "waits longer as time since the deletion passes": {
      isUsed: true,
      passedSeconds: 8,
      decided: { kind: "wait", afterSeconds: 8 },
    },
    "waits no longer than 30 seconds between checks": {
      isUsed: true,
      passedSeconds: 200,
      decided: { kind: "wait", afterSeconds: 30 },
    },
    "does not wait beyond releaseAfterSeconds": {
      isUsed: true,
      passedSeconds: 595,
      decided: { kind: "wait", afterSeconds: 5 },
    },
    "releases a deleted registration after ten minutes even if a placement uses the cluster": {
      isUsed: true,
      passedSeconds: 600,
      decided: { kind: "release" },
    },
    "accepts a deletionTimestamp in the future": {
      isUsed: true,
      passedSeconds: -50,
      decided: { kind: "wait", afterSeconds: 1 },
    },
  };
  for (const [rule, { isUsed, passedSeconds, decided }] of Object.entries(cases)) {
    it(rule, () => {
      const nowMs = startMs + passedSeconds * 1000;
      expect(decideDeletion({ registration: deleted, isUsed, nowMs, settings })).toEqual(decided);
    });
  }
});
