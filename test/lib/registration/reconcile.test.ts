import { ControllerError } from "@tmc/kube/fault.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import type { ObjectEvent } from "../../../lib/model/event.ts";
import type { ObjectKey, WorkKey } from "../../../lib/model/key.ts";
import type { Next, WorkReason } from "../../../lib/model/work-item.ts";
import type { ObservedWatches } from "../../../lib/registration/conditions.ts";
import type { ProbeOutcome } from "../../../lib/registration/probe-outcome.ts";
import {
  clusterFinalizer,
  type LastProbe,
  type RegistrationWorld,
  registrationReconciler,
} from "../../../lib/registration/reconcile.ts";
import { aHealthyOutcome, aRegistration } from "./registrations.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const web: ObjectKey = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" };
const startMs = Date.parse("2026-01-01T00:00:00Z");
const healthy = aHealthyOutcome();
const failed: ProbeOutcome = {
  kind: "failed",
  reason: "ClusterUnhealthy",
  message: "cluster east: connection refused",
};
const signal = new AbortController().signal;

/** A world with one registration and a placement that may use it. The process can be killed at every write and enqueue. */
function aWorld(start: ClusterRegistration | undefined = aRegistration({ metadata: { finalizers: [] } })) {
  let stored: ClusterRegistration | undefined = start;
  let version = 1;
  let killAt: number | undefined;
  let steps = 0;
  const lastProbes = new Map<string, LastProbe>();
  const state = {
    nowMs: startMs,
    outcome: healthy as ProbeOutcome,
    /** The other registrations of the workspace. */
    others: [] as readonly ClusterRegistration[],
    dependents: [] as ObjectKey[],
    enqueued: [] as WorkKey[],
    writes: 0,
    reads: 0,
    /** `detect` of each probe. */
    probes: [] as boolean[],
    forgotten: 0,
    bound: [] as string[],
    watches: undefined as ObservedWatches | undefined,
    readyChanges: [] as ObjectEvent[],
    events: [] as string[],
    /** The stored status of Ready at each enqueue. */
    readyAtEnqueue: [] as (string | undefined)[],
    onRead: () => {},
  };
  const step = (): void => {
    steps += 1;
    if (steps === killAt) throw new Error("killed");
  };
  const write = (observed: ClusterRegistration, change: (current: ClusterRegistration) => ClusterRegistration) => {
    step();
    if (stored === undefined || observed.metadata.resourceVersion !== stored.metadata.resourceVersion) {
      throw new ControllerError("conflict", "the registration has changed");
    }
    version += 1;
    state.writes += 1;
    const next = change(stored);
    const isGone = next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0;
    const written = { ...next, metadata: { ...next.metadata, resourceVersion: String(version) } };
    stored = isGone ? undefined : written;
    return Promise.resolve(written);
  };
  const hashOf = (registration: ClusterRegistration): string =>
    JSON.stringify([
      findCondition(registration.status?.conditions, "Ready")?.status,
      registration.spec.location,
      registration.metadata.labels,
    ]);
  const world: RegistrationWorld = {
    nowMs: () => state.nowMs,
    read: async () => {
      state.reads += 1;
      const observed = stored;
      state.onRead();
      return observed;
    },
    writeStatus: (_, observed, status) => write(observed, (current) => ({ ...current, status })),
    writeFinalizers: (_, observed, finalizers) =>
      write(observed, (current) => ({ ...current, metadata: { ...current.metadata, finalizers: [...finalizers] } })),
    readBindings: async (_, names) => names.map((name) => ({ name, isBound: state.bound.includes(name) })),
    probe: async (_, __, { detect }) => {
      state.probes.push(detect);
      return state.outcome;
    },
    listRegistrations: async () => (stored === undefined ? state.others : [stored, ...state.others]),
    lastProbe: () => lastProbes.get("east") ?? {},
    recordProbe: (_, memory) => {
      lastProbes.set("east", memory);
    },
    watches: () => state.watches,
    forget: async () => {
      lastProbes.clear();
      state.forgotten += 1;
    },
    factsHash: hashOf,
    affected: async () => [web],
    dependents: async () => state.dependents,
    enqueue: async (keys) => {
      step();
      state.enqueued.push(...keys);
      state.readyAtEnqueue.push(findCondition(stored?.status?.conditions, "Ready")?.status);
    },
    logReadyChange: (_, change) => {
      state.readyChanges.push(change);
    },
    recordEvent: (_, { metadata }, event) => {
      state.events.push(`${metadata.name} ${event.reason} ${event.message}`);
    },
  };
  return {
    state,
    world,
    get stored() {
      return stored;
    },
    change: (change: (current: ClusterRegistration) => ClusterRegistration) => {
      if (stored === undefined) return;
      version += 1;
      const next = change(stored);
      stored = { ...next, metadata: { ...next.metadata, resourceVersion: String(version) } };
    },
    killAtStep: (number: number | undefined) => {
      killAt = number;
      steps = 0;
    },
    restart: () => lastProbes.clear(),
    run: (reason: WorkReason = "changed"): Promise<Next> => registrationReconciler(world)({ key, reason }, signal),
    ready: () => findCondition(stored?.status?.conditions, "Ready")?.status,
  };
}

describe("the registration reconciler", () => {
  it("adds the finalizer and makes a healthy cluster Ready with the first probe", async () => {
    const system = aWorld();
    expect(await system.run()).toEqual({ kind: "done" });
    expect(system.stored?.metadata.finalizers).toEqual([clusterFinalizer]);
    expect(system.ready()).toBe("True");
    expect(system.state.readyChanges).toMatchObject([{ reason: "ClusterReady" }]);
  });

  it("reads the registration, but neither probes nor writes, if no probe is due", async () => {
    const system = aWorld();
    await system.run();
    const { writes, reads } = system.state;
    for (const reason of ["changed", "resync", "requeue", "fan-out", "retry"] as const) await system.run(reason);
    expect(system.state).toMatchObject({ writes, reads: reads + 5, probes: [true] });
  });

  it("probes the cluster for every heartbeat and on demand", async () => {
    const system = aWorld();
    await system.run();
    for (const reason of ["heartbeat", "heartbeat"] as const) {
      system.state.nowMs += 30_000;
      await system.run(reason);
    }
    await system.run("on-demand");
    expect(system.state.probes).toHaveLength(4);
  });

  it("does not probe for a heartbeat right after another probe", async () => {
    const system = aWorld();
    await system.run();
    await system.run("heartbeat");
    expect(system.state.probes).toHaveLength(1);
  });

  it("writes the status ten times in ten minutes of heartbeats of an idle cluster", async () => {
    const system = aWorld();
    await system.run();
    const { writes } = system.state;
    for (let beat = 0; beat < 20; beat++) {
      system.state.nowMs += 30_000;
      await system.run("heartbeat");
    }
    expect(system.state.writes - writes).toBe(10);
  });

  it("writes in one reconcile that an APIBinding has become bound", async () => {
    const system = aWorld(aRegistration({ spec: { apiBindings: [{ name: "db" }] } }));
    await system.run();
    expect(system.stored?.status?.connectedAPIs).toMatchObject([{ apiBinding: "db", connected: false }]);
    system.state.bound = ["db"];
    await system.run("on-demand");
    expect(system.stored?.status?.connectedAPIs).toEqual([{ apiBinding: "db", connected: true }]);
  });

  it("shows and records that the cluster exceeds a limit of watches, and that it no longer does", async () => {
    const system = aWorld();
    const watched = () => findCondition(system.stored?.status?.conditions, "ObjectsWatched")?.status;
    system.state.watches = { excess: undefined };
    await system.run("heartbeat");
    expect(watched()).toBeUndefined();
    system.state.watches = { excess: "too many objects" };
    await system.run("on-demand");
    expect(watched()).toBe("False");
    expect(system.state.events.filter((event) => event.includes("WatchLimitExceeded"))).toHaveLength(1);
    system.state.watches = { excess: undefined };
    await system.run("on-demand");
    expect(watched()).toBe("True");
  });

  it("shows other registrations of the cluster that answers, after a detection", async () => {
    const system = aWorld();
    const detected = { version: undefined, apis: undefined, nodes: undefined, storage: undefined };
    system.state.outcome = aHealthyOutcome({ uid: "uid-a", detected });
    system.state.others = [
      aRegistration({ name: "west", status: { clusterUID: "uid-a" } }),
      aRegistration({ name: "north", status: { clusterUID: "uid-b" } }),
    ];
    await system.run();
    expect(findCondition(system.stored?.status?.conditions, "ClusterIdentityUnique")).toMatchObject({
      status: "False",
      message: "the same cluster is also registered as west",
    });
  });

  it("requeues a heartbeat of a second controller until nextProbeTime and counts one failure", async () => {
    const system = aWorld();
    await system.run();
    system.state.outcome = failed;
    system.state.nowMs += 30_000;
    await system.run("heartbeat");
    system.state.nowMs += 10_000;
    // heartbeat of the second controller
    expect(await system.run("heartbeat")).toEqual({ kind: "requeue", afterSeconds: 20 });
    expect(system.stored?.status?.consecutiveFailures).toBe(1);
  });

  it("probes again with the retry if the status could not be written", async () => {
    const system = aWorld();
    await system.run();
    system.state.outcome = failed;
    system.state.nowMs += 30_000;
    system.state.onRead = () =>
      system.change((current) => ({ ...current, metadata: { ...current.metadata, labels: { a: "b" } } }));
    await expect(system.run("heartbeat")).rejects.toMatchObject({ fault: "conflict" });
    system.state.onRead = () => {};
    await system.run("retry");
    expect(system.stored?.status?.consecutiveFailures).toBe(1);
  });
});

describe("Events of the registration reconciler", () => {
  const beats = async (system: ReturnType<typeof aWorld>, outcome: ProbeOutcome, times: number): Promise<void> => {
    system.state.outcome = outcome;
    for (let beat = 0; beat < times; beat++) {
      system.state.nowMs += 30_000;
      await system.run("heartbeat");
    }
  };
  const failure = "east HeartbeatFailed ClusterUnhealthy: cluster east: connection refused";

  it("records one Event each time a cluster loses Ready", async () => {
    const system = aWorld();
    await beats(system, healthy, 3);
    expect(system.state.events).toEqual([]);
    await beats(system, failed, 200);
    expect(system.state.events).toEqual([failure]);
    await beats(system, healthy, 3);
    await beats(system, failed, 3);
    expect(system.state.events).toEqual([failure, failure]);
  });

  it("records no Event for a status that could not be written", async () => {
    const system = aWorld();
    await beats(system, healthy, 1);
    await beats(system, failed, 2);
    system.state.onRead = () =>
      system.change((current) => ({ ...current, metadata: { ...current.metadata, labels: { a: "b" } } }));
    await expect(beats(system, failed, 1)).rejects.toMatchObject({ fault: "conflict" });
    expect(system.state.events).toEqual([]);
    system.state.onRead = () => {};
    await system.run("retry");
    expect(system.state.events).toEqual([failure]);
  });
});

describe("placements affected by a registration", () => {
  it("are enqueued once, after the changed status is written", async () => {
    const system = aWorld();
    await system.run();
    expect(system.state.readyAtEnqueue).toEqual(["True"]);
    await system.run("heartbeat");
    expect(system.state.enqueued).toEqual([web]);
  });

  it("are enqueued for a new label with one status write", async () => {
    const system = aWorld();
    await system.run();
    const { writes } = system.state;
    system.change((current) => ({ ...current, metadata: { ...current.metadata, labels: { region: "east" } } }));
    await system.run("changed");
    expect(system.state.enqueued).toEqual([web, web]);
    expect(system.state.writes).toBe(writes + 1);
    await system.run("changed");
    expect(system.state.writes).toBe(writes + 1);
  });

  it("are not enqueued for heartbeats and for failed probes that leave the cluster Ready", async () => {
    const system = aWorld();
    await system.run();
    for (const outcome of [healthy, failed, healthy, failed, failed, healthy]) {
      system.state.outcome = outcome;
      system.state.nowMs += 60_000;
      await system.run("heartbeat");
    }
    expect(system.state.enqueued).toEqual([web]);
  });

  it("are enqueued for every change even if the process is killed at any step", async () => {
    for (let step = 1; step <= 6; step++) {
      const system = aWorld();
      system.killAtStep(step);
      await system.run().catch(() => {});
      system.restart();
      system.killAtStep(undefined);
      await system.run("retry");
      expect(system.ready()).toBe("True");
      expect(system.state.readyAtEnqueue.at(-1)).toBe("True");
      expect(system.stored?.status?.notifiedHash).toBe(system.stored && system.world.factsHash(system.stored));
      // A further reconcile writes nothing.
      const { writes } = system.state;
      await system.run("resync");
      expect(system.state.writes).toBe(writes);
    }
  });
});

describe("a deleted registration", () => {
  const deleted = () =>
    aWorld(
      aRegistration({
        metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [clusterFinalizer, "example.com/other"] },
      }),
    );

  it("enqueues its placements and keeps the finalizer until none of them uses the cluster", async () => {
    const system = deleted();
    system.state.dependents = [web];
    expect(await system.run()).toEqual({ kind: "requeue", afterSeconds: 1 });
    expect(system.state.enqueued).toEqual([web]);
    system.state.dependents = [];
    expect(await system.run("requeue")).toEqual({ kind: "done" });
    expect(system.stored?.metadata.finalizers).toEqual(["example.com/other"]);
  });

  it("is released after ten minutes even if the cluster is unreachable and placements still use it", async () => {
    const system = deleted();
    system.state.dependents = [web];
    system.state.outcome = failed;
    for (let rounds = 0; rounds < 100; rounds++) {
      const next = await system.run("requeue");
      if (next.kind === "done") break;
      system.state.nowMs += next.afterSeconds * 1000;
    }
    expect(system.stored?.metadata.finalizers).toEqual(["example.com/other"]);
    expect(system.state.nowMs - startMs).toBe(600_000);
    expect(system.state.probes).toEqual([]); // a cluster whose registration is deleted is not probed
  });

  it("closes its connections", async () => {
    const system = deleted();
    await system.run();
    expect(system.state.forgotten).toBe(1);
  });

  it("is not written after its finalizer is removed", async () => {
    const system = aWorld(
      aRegistration({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/other"] } }),
    );
    expect(await system.run()).toEqual({ kind: "done" });
    expect(system.state.writes).toBe(0);
  });

  it("enqueues its placements and drops its state after it is gone", async () => {
    const system = aWorld();
    system.change((current) => ({
      ...current,
      metadata: { ...current.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [clusterFinalizer] },
    }));
    await system.run();
    expect(system.stored).toBeUndefined();
    expect(await system.run()).toEqual({ kind: "done" });
    expect(system.state.enqueued).toEqual([web, web]);
    expect(system.state.forgotten).toBe(2);
  });
});
