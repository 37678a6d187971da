import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClusterRegistration, clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import { decide } from "../../../lib/registration/decide.ts";
import { decideDeparture } from "../../../lib/registration/deletion.ts";
import type { Detected, Look, RegistrationStatus } from "../../../lib/registration/probe-outcome.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { faultsOf } from "../api/validate.ts";
import { aRegistration, aStatus } from "./registrations.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const healthy: Look = { kind: "healthy" };
const refused: Look = {
  kind: "failed",
  reason: "ClusterUnhealthy",
  message: "cluster east: get /readyz: connection refused",
};
const slow: Look = {
  kind: "failed",
  reason: "ClusterUnhealthy",
  message: "cluster east: get /readyz: no answer in time",
};
const unknown: Look = {
  kind: "not-configured",
  reason: "ClusterNotConfigured",
  message: 'no kubeconfig is given for cluster "east"',
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

/** Probes every `interval` and keeps what is written, as the reconciler does. */
function run(looks: readonly Look[], start: ClusterRegistration = aRegistration(), everySeconds = 30) {
  let registration = start;
  let writes = 0;
  const states = looks.map((look, index) => {
    const nowMs = startMs + (index + 1) * everySeconds * 1000;
    const { status } = decide({ registration, look, nowMs, settings });
    if (status !== undefined) {
      writes += 1;
      registration = { ...registration, status };
    }
    return readyOf(registration.status)?.status ?? "none";
  });
  return { registration, states, writes };
}

describe("what a look makes of a registration", () => {
  const cases: Record<string, { before?: RegistrationStatus; look: Look; ready: object; rest?: object }> = {
    "a cluster that is not configured is not Ready, as an error, and its heartbeat stays": {
      look: unknown,
      ready: { status: "False", reason: "ClusterNotConfigured", severity: "Error", message: unknown.message },
      rest: { lastHeartbeat: undefined, observedGeneration: 1 },
    },
    "a Ready cluster whose credentials are gone is not Ready at once": {
      before: aStatus(),
      look: unknown,
      ready: { status: "False", reason: "ClusterNotConfigured" },
      rest: { lastHeartbeat: "2026-01-01T00:00:00Z" },
    },
    "expired credentials have a reason of their own and show when they ended": {
      before: aStatus(),
      look: {
        kind: "not-configured",
        reason: "CredentialsExpired",
        message: "the credentials for the cluster have expired",
        credentialsExpireMs: startMs,
      },
      ready: { status: "False", reason: "CredentialsExpired" },
      rest: { credentialsExpire: "2026-01-01T00:00:00Z" },
    },
    "the first good probe makes a new cluster Ready": {
      look: healthy,
      ready: { status: "True", reason: "ClusterReady", severity: undefined, observedGeneration: 1 },
      rest: { lastHeartbeat: "2026-01-01T00:10:00Z" },
    },
    "the first good probe after it was configured makes it Ready": {
      before: aStatus({ status: "False", reason: "ClusterNotConfigured" }),
      look: healthy,
      ready: { status: "True", reason: "ClusterReady", lastTransitionTime: "2026-01-01T00:10:00Z" },
    },
    "the first failed probe of a new cluster says why it is unhealthy": {
      look: refused,
      ready: { status: "False", reason: "ClusterUnhealthy", message: refused.message },
      rest: { lastHeartbeat: undefined, consecutiveFailures: 1, nextProbeTime: "2026-01-01T00:10:30Z" },
    },
    "one failure leaves a Ready cluster Ready and is counted": {
      before: aStatus(),
      look: refused,
      ready: { status: "True", reason: "ClusterReady", lastTransitionTime: "2026-01-01T00:00:00Z" },
      rest: { consecutiveFailures: 1, nextProbeTime: "2026-01-01T00:10:30Z", lastHeartbeat: "2026-01-01T00:00:00Z" },
    },
    "the third failure in a row makes it not Ready, with the cause": {
      before: aStatus({}, { consecutiveFailures: 2, nextProbeTime: "2026-01-01T00:10:00Z" }),
      look: slow,
      ready: { status: "False", reason: "ClusterUnhealthy", message: slow.message },
      rest: { consecutiveFailures: 3 },
    },
    "a good probe takes back what was counted": {
      before: aStatus({}, { consecutiveFailures: 2, nextProbeTime: "2026-01-01T00:10:00Z" }),
      look: healthy,
      ready: { status: "True", reason: "ClusterReady" },
      rest: { consecutiveFailures: undefined, nextProbeTime: undefined },
    },
    "one good probe is not enough for one that was lost": {
      before: aStatus({ status: "False" }, { consecutiveFailures: 3 }),
      look: healthy,
      ready: { status: "False", reason: "ClusterUnhealthy" },
      rest: { consecutiveSuccesses: 1, consecutiveFailures: undefined, lastHeartbeat: "2026-01-01T00:10:00Z" },
    },
    "the second good probe in a row makes it Ready again": {
      before: aStatus({ status: "False" }, { consecutiveSuccesses: 1 }),
      look: healthy,
      ready: { status: "True", reason: "ClusterReady" },
      rest: { consecutiveSuccesses: undefined, nextProbeTime: undefined },
    },
    "a cluster that was never reached is Ready at its first good probe, however often it failed": {
      before: {
        conditions: aStatus({ status: "False" }).conditions ?? [],
        observedGeneration: 1,
        consecutiveFailures: 3,
      },
      look: healthy,
      ready: { status: "True" },
    },
    "the end of the credentials is shown": {
      before: aStatus(),
      look: { kind: "healthy", credentialsExpireMs: startMs + 3_600_000 },
      ready: { status: "True" },
      rest: { credentialsExpire: "2026-01-01T01:00:00Z" },
    },
    "what was detected is shown with its time": {
      look: { kind: "healthy", detected },
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
    "nothing is said of nodes that may not be seen": {
      before: aStatus({}, { nodes: { ready: 1, total: 1 }, capacity: { cpu: "1" }, capabilities: [{ type: "gpu" }] }),
      look: { kind: "healthy", detected: { ...detected, nodes: "refused", storage: false } },
      ready: { status: "True" },
      rest: {
        nodes: undefined,
        capacity: undefined,
        allocatable: undefined,
        capabilities: [{ type: "compute", version: "v1.36.3" }, { type: "networking" }],
      },
    },
    "a part that could not be looked at stays as it was": {
      before: aStatus(
        {},
        {
          kubernetesVersion: "v1.35.0",
          nodes: { ready: 1, total: 1 },
          capabilities: [{ type: "gpu" }, { type: "storage" }],
        },
      ),
      look: {
        kind: "healthy",
        detected: { version: undefined, apis: undefined, nodes: undefined, storage: undefined },
      },
      ready: { status: "True" },
      rest: {
        kubernetesVersion: "v1.35.0",
        nodes: { ready: 1, total: 1 },
        apis: undefined,
        capabilities: [{ type: "compute", version: "v1.35.0" }, { type: "gpu" }, { type: "storage" }],
      },
    },
    "a failure takes back nothing of what was seen before": {
      before: aStatus({}, { kubernetesVersion: "v1.36.3", consecutiveFailures: 2, notifiedHash: "abc" }),
      look: refused,
      ready: { status: "False" },
      rest: { kubernetesVersion: "v1.36.3", notifiedHash: "abc", lastHeartbeat: "2026-01-01T00:00:00Z" },
    },
  };
  for (const [rule, { before, look, ready, rest = {} }] of Object.entries(cases)) {
    it(rule, () => {
      const registration = aRegistration(before === undefined ? {} : { status: before });
      const frozen = structuredClone(registration);
      const { status } = decide({ registration, look, nowMs: startMs + 600_000, settings });
      expect(status).toBeDefined();
      expect({ severity: undefined, ...readyOf(status) }).toMatchObject(ready);
      const said = new Map(Object.entries(status ?? {}));
      for (const [field, value] of Object.entries(rest))
        expect({ field, value: said.get(field) }).toEqual({ field, value });
      expect(registration).toEqual(frozen);
      expect(faultsOf(clusterRegistration, { ...registration, status })).toEqual([]);
    });
  }

  it("a new generation is observed in status and condition", () => {
    const registration = aRegistration({ metadata: { generation: 2 }, status: aStatus() });
    const { status } = decide({ registration, look: healthy, nowMs: startMs + 1000, settings });
    expect(status).toMatchObject({ observedGeneration: 2, conditions: [{ observedGeneration: 2 }] });
  });
  it("other conditions stay", () => {
    const other = {
      type: "Other",
      status: "True",
      reason: "R",
      message: "m",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const registration = aRegistration({ status: { conditions: [other] } });
    expect(decide({ registration, look: healthy, nowMs: startMs, settings }).status?.conditions?.[0]).toEqual(other);
  });
  it("no look, nothing to say", () => {
    expect(decide({ registration: aRegistration(), look: undefined, nowMs: startMs, settings }).status).toBeUndefined();
  });
});

describe("flap damping", () => {
  it("is lost after three failures and back after two good probes", () => {
    const { states } = run([healthy, refused, refused, refused, healthy, healthy]);
    expect(states).toEqual(["True", "True", "True", "False", "False", "True"]);
  });
  it("flapping at the probe rate never moves a Ready cluster", () => {
    const looks = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? healthy : refused));
    expect(new Set(run(looks).states)).toEqual(new Set(["True"]));
  });
  it("flapping at the probe rate never brings a lost cluster back", () => {
    const looks = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? healthy : refused));
    const lost = aRegistration({ status: aStatus({ status: "False" }, { consecutiveFailures: 3 }) });
    expect(new Set(run(looks, lost).states)).toEqual(new Set(["False"]));
  });
  it("holds for every order of good and failed probes", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (goods) => {
        const { states } = run([healthy, ...goods.map((good) => (good ? healthy : refused))]);
        // A model in its simplest form: the last three, the last two.
        let expected = "True";
        for (const [index, state] of states.entries()) {
          const upTo = [true, ...goods].slice(0, index + 1);
          if (upTo.length >= 3 && upTo.slice(-3).every((good) => !good)) expected = "False";
          if (expected === "False" && upTo.slice(-2).every((good) => good)) expected = "True";
          if (state !== expected) return false;
        }
        return true;
      }),
    );
  });
});

describe("writes", () => {
  it("ten minutes of an idle healthy cluster write ten heartbeats", () => {
    const start = run([{ kind: "healthy", detected }]).registration;
    const since = { ...start, status: { ...start.status, lastHeartbeat: "2026-01-01T00:00:00Z" } };
    const { writes, registration } = run(
      Array.from({ length: 20 }, () => healthy),
      since,
    );
    expect(writes).toBe(10);
    expect(registration.status?.lastHeartbeat).toBe("2026-01-01T00:10:00Z");
  });
  it("two controllers whose clocks differ do not write against each other", () => {
    let registration = aRegistration({ status: aStatus() });
    let writes = 0;
    for (let nowMs = startMs; nowMs <= startMs + 600_000; nowMs += 30_000) {
      for (const aheadMs of [0, 120_000]) {
        const { status } = decide({ registration, look: healthy, nowMs: nowMs + aheadMs, settings });
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
  it("a heartbeat from far ahead is a mistake and is put right", () => {
    const registration = aRegistration({ status: aStatus({}, { lastHeartbeat: "2027-01-01T00:00:00Z" }) });
    expect(decide({ registration, look: healthy, nowMs: startMs, settings }).status?.lastHeartbeat).toBe(
      "2026-01-01T00:00:00Z",
    );
  });
  it("a longer interval between heartbeats writes none in ten minutes", () => {
    const patient = { ...settings, heartbeatWriteSeconds: Number.POSITIVE_INFINITY };
    const registration = aRegistration({ status: aStatus() });
    const { status } = decide({ registration, look: { kind: "healthy" }, nowMs: startMs + 600_000, settings: patient });
    expect(status).toBeUndefined();
  });
  it("a dying cluster writes three times and then no more", () => {
    const { writes, registration } = run(
      Array.from({ length: 200 }, () => refused),
      aRegistration({ status: aStatus() }),
    );
    expect(writes).toBe(3);
    expect(registration.status?.consecutiveFailures).toBe(3);
  });
  it("a cause that changes with each probe is written no more often than a heartbeat", () => {
    const looks = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? refused : slow));
    const { writes } = run(
      looks,
      aRegistration({
        status: aStatus({ status: "False" }, { consecutiveFailures: 3, nextProbeTime: "2026-01-01T00:00:30Z" }),
      }),
    );
    expect(writes).toBeLessThanOrEqual(20);
  });
  it("a cause that has changed for good is told", () => {
    const dead = aRegistration({
      status: aStatus({ status: "False" }, { consecutiveFailures: 3, nextProbeTime: "2026-01-01T00:00:30Z" }),
    });
    const { registration } = run(
      Array.from({ length: 5 }, () => slow),
      dead,
    );
    expect(readyOf(registration.status)?.message).toBe(slow.message);
  });
  it("a cluster that stays unconfigured is written once", () => {
    expect(run(Array.from({ length: 20 }, () => unknown)).writes).toBe(1);
  });
  it("messages hold no clock and no counter: the same look later says the same", () => {
    for (const look of [healthy, refused, unknown]) {
      const later = run(Array.from({ length: 30 }, () => look)).registration;
      const soon = run([look, look, look]).registration;
      expect(readyOf(later.status)?.message).toBe(readyOf(soon.status)?.message);
    }
  });
  it("a flip is a change and is told, staying is neither", () => {
    const registration = aRegistration({ status: aStatus({}, { consecutiveFailures: 2 }) });
    expect(decide({ registration, look: refused, nowMs: startMs + 1000, settings })).toMatchObject({
      changes: [{ type: "Warning", reason: "ClusterUnhealthy", message: refused.message }],
      events: [{ type: "Warning", reason: "HeartbeatFailed", message: `ClusterUnhealthy: ${refused.message}` }],
    });
    expect(decide({ registration, look: healthy, nowMs: startMs + 1000, settings })).toMatchObject({
      changes: [],
      events: [],
    });
  });
});

describe("departure", () => {
  const deleted = aRegistration({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  const cases: Record<string, { isUsed: boolean; passedSeconds: number; decided: object }> = {
    "goes at once when nobody uses it": { isUsed: false, passedSeconds: 0, decided: { kind: "release" } },
    "waits while a placement names it": { isUsed: true, passedSeconds: 0, decided: { kind: "wait", afterSeconds: 1 } },
    "waits longer as time passes": { isUsed: true, passedSeconds: 8, decided: { kind: "wait", afterSeconds: 8 } },
    "waits no longer than half a minute": {
      isUsed: true,
      passedSeconds: 200,
      decided: { kind: "wait", afterSeconds: 30 },
    },
    "does not wait past the bound": { isUsed: true, passedSeconds: 595, decided: { kind: "wait", afterSeconds: 5 } },
    "goes after ten minutes in any case": { isUsed: true, passedSeconds: 600, decided: { kind: "release" } },
    "bears a clock that is behind": { isUsed: true, passedSeconds: -50, decided: { kind: "wait", afterSeconds: 1 } },
  };
  for (const [rule, { isUsed, passedSeconds, decided }] of Object.entries(cases)) {
    it(rule, () => {
      const nowMs = startMs + passedSeconds * 1000;
      expect(decideDeparture({ registration: deleted, isUsed, nowMs, settings })).toEqual(decided);
    });
  }
});
