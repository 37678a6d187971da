import { ControllerError } from "@tmc/kube/fault.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import type { ObjectEvent } from "../../../lib/model/event.ts";
import type { ObjectKey, WorkKey } from "../../../lib/model/key.ts";
import type { Next } from "../../../lib/model/next.ts";
import type { Reason } from "../../../lib/model/work-item.ts";
import type { Look } from "../../../lib/registration/probe-outcome.ts";
import {
  clusterFinalizer,
  type Memory,
  type RegistrationWorld,
  registrationReconciler,
} from "../../../lib/registration/reconcile.ts";
import { aRegistration } from "./registrations.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const web: ObjectKey = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" };
const startMs = Date.parse("2026-01-01T00:00:00Z");
const healthy: Look = { kind: "healthy" };
const failed: Look = { kind: "failed", reason: "ClusterUnhealthy", message: "cluster east: connection refused" };
const signal = new AbortController().signal;

/** A hub with one registration and a placement that may use it; every call is a step at which it can be cut off. */
function aWorld(start: ClusterRegistration | undefined = aRegistration({ metadata: { finalizers: [] } })) {
  let stored: ClusterRegistration | undefined = start;
  let version = 1;
  let cutAt: number | undefined;
  let steps = 0;
  const memories = new Map<string, Memory>();
  const state = {
    nowMs: startMs,
    look: healthy as Look,
    users: [] as ObjectKey[],
    woken: [] as WorkKey[],
    writes: 0,
    reads: 0,
    looks: [] as boolean[],
    forgotten: 0,
    bound: [] as string[],
    changes: [] as ObjectEvent[],
    told: [] as string[],
    /** What the placements could see when they were woken. */
    seenByWoken: [] as (string | undefined)[],
    onRead: () => {},
  };
  const step = (): void => {
    steps += 1;
    if (steps === cutAt) throw new Error("killed");
  };
  const write = (seen: ClusterRegistration, change: (now: ClusterRegistration) => ClusterRegistration) => {
    step();
    if (stored === undefined || seen.metadata.resourceVersion !== stored.metadata.resourceVersion) {
      throw new ControllerError("conflict", "changed since");
    }
    version += 1;
    state.writes += 1;
    const next = change(stored);
    const isGone = next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0;
    const written = { ...next, metadata: { ...next.metadata, resourceVersion: String(version) } };
    stored = isGone ? undefined : written;
    return Promise.resolve(written);
  };
  const factsOf = (registration: ClusterRegistration): string =>
    JSON.stringify([
      findCondition(registration.status?.conditions, "Ready")?.status,
      registration.spec.location,
      registration.metadata.labels,
    ]);
  const world: RegistrationWorld = {
    nowMs: () => state.nowMs,
    read: async () => {
      state.reads += 1;
      const seen = stored;
      state.onRead();
      return seen;
    },
    writeStatus: (_, seen, status) => write(seen, (now) => ({ ...now, status })),
    writeFinalizers: (_, seen, finalizers) =>
      write(seen, (now) => ({ ...now, metadata: { ...now.metadata, finalizers: [...finalizers] } })),
    readBindings: async (_, names) => names.map((name) => ({ name, isBound: state.bound.includes(name) })),
    look: async (_, __, { detect }) => {
      state.looks.push(detect);
      return state.look;
    },
    memory: () => memories.get("east") ?? {},
    remember: (_, memory) => {
      memories.set("east", memory);
    },
    forget: async () => {
      memories.clear();
      state.forgotten += 1;
    },
    fingerprint: factsOf,
    concerned: async () => [web],
    users: async () => state.users,
    wake: async (keys) => {
      step();
      state.woken.push(...keys);
      state.seenByWoken.push(findCondition(stored?.status?.conditions, "Ready")?.status);
    },
    note: (_, change) => {
      state.changes.push(change);
    },
    tell: (_, { metadata }, event) => {
      state.told.push(`${metadata.name} ${event.reason} ${event.message}`);
    },
  };
  return {
    state,
    world,
    get stored() {
      return stored;
    },
    change: (change: (now: ClusterRegistration) => ClusterRegistration) => {
      if (stored === undefined) return;
      version += 1;
      const next = change(stored);
      stored = { ...next, metadata: { ...next.metadata, resourceVersion: String(version) } };
    },
    cutAtStep: (at: number | undefined) => {
      cutAt = at;
      steps = 0;
    },
    restart: () => memories.clear(),
    run: (reason: Reason = "changed"): Promise<Next> => registrationReconciler(world)({ key, reason }, signal),
    ready: () => findCondition(stored?.status?.conditions, "Ready")?.status,
  };
}

describe("a registration", () => {
  it("gets its finalizer and becomes Ready at the first look", async () => {
    const system = aWorld();
    expect(await system.run()).toEqual({ kind: "done" });
    expect(system.stored?.metadata.finalizers).toEqual([clusterFinalizer]);
    expect(system.ready()).toBe("True");
    expect(system.state.changes).toMatchObject([{ reason: "ClusterReady" }]);
  });

  it("costs no write, no look and no more than the read when nothing is due", async () => {
    const system = aWorld();
    await system.run();
    const { writes, reads } = system.state;
    for (const reason of ["changed", "resync", "requeue", "fan-out", "retry"] as const) await system.run(reason);
    expect(system.state).toMatchObject({ writes, reads: reads + 5, looks: [true] });
  });

  it("is looked at with every heartbeat and whenever somebody asks", async () => {
    const system = aWorld();
    await system.run();
    for (const reason of ["heartbeat", "heartbeat"] as const) {
      system.state.nowMs += 30_000;
      await system.run(reason);
    }
    await system.run("on-demand");
    expect(system.state.looks).toHaveLength(4);
  });

  it("is not looked at by a heartbeat that comes right after another look", async () => {
    const system = aWorld();
    await system.run();
    await system.run("heartbeat");
    expect(system.state.looks).toHaveLength(1);
  });

  it("writes ten times in ten idle minutes of heartbeats", async () => {
    const system = aWorld();
    await system.run();
    const { writes } = system.state;
    for (let beat = 0; beat < 20; beat++) {
      system.state.nowMs += 30_000;
      await system.run("heartbeat");
    }
    expect(system.state.writes - writes).toBe(10);
  });

  it("shows within one reconcile that a binding it asks for is bound now", async () => {
    const system = aWorld(aRegistration({ spec: { apiBindings: [{ name: "db" }] } }));
    await system.run();
    expect(system.stored?.status?.connectedAPIs).toMatchObject([{ apiBinding: "db", connected: false }]);
    system.state.bound = ["db"];
    await system.run("on-demand");
    expect(system.stored?.status?.connectedAPIs).toEqual([{ apiBinding: "db", connected: true }]);
  });

  it("is tried again when the shared time has come, with two controllers as with one", async () => {
    const system = aWorld();
    await system.run();
    system.state.look = failed;
    system.state.nowMs += 30_000;
    await system.run("heartbeat");
    system.state.nowMs += 10_000;
    // the other controller's heartbeat
    expect(await system.run("heartbeat")).toEqual({ kind: "requeue", afterSeconds: 20 });
    expect(system.stored?.status?.consecutiveFailures).toBe(1);
  });

  it("is looked at again with the retry when its status could not be written", async () => {
    const system = aWorld();
    await system.run();
    system.state.look = failed;
    system.state.nowMs += 30_000;
    system.state.onRead = () => system.change((now) => ({ ...now, metadata: { ...now.metadata, labels: { a: "b" } } }));
    await expect(system.run("heartbeat")).rejects.toMatchObject({ fault: "conflict" });
    system.state.onRead = () => {};
    await system.run("retry");
    expect(system.stored?.status?.consecutiveFailures).toBe(1);
  });
});

describe("people", () => {
  const beats = async (system: ReturnType<typeof aWorld>, look: Look, times: number): Promise<void> => {
    system.state.look = look;
    for (let beat = 0; beat < times; beat++) {
      system.state.nowMs += 30_000;
      await system.run("heartbeat");
    }
  };
  const death = "east HeartbeatFailed ClusterUnhealthy: cluster east: connection refused";

  it("hear once that a cluster has died, and each time that it dies again", async () => {
    const system = aWorld();
    await beats(system, healthy, 3);
    expect(system.state.told).toEqual([]);
    await beats(system, failed, 200);
    expect(system.state.told).toEqual([death]);
    await beats(system, healthy, 3);
    await beats(system, failed, 3);
    expect(system.state.told).toEqual([death, death]);
  });

  it("hear nothing that was not written", async () => {
    const system = aWorld();
    await beats(system, healthy, 1);
    await beats(system, failed, 2);
    system.state.onRead = () => system.change((now) => ({ ...now, metadata: { ...now.metadata, labels: { a: "b" } } }));
    await expect(beats(system, failed, 1)).rejects.toMatchObject({ fault: "conflict" });
    expect(system.state.told).toEqual([]);
    system.state.onRead = () => {};
    await system.run("retry");
    expect(system.state.told).toEqual([death]);
  });
});

describe("placements", () => {
  it("hear of a change after they can see it, and once", async () => {
    const system = aWorld();
    await system.run();
    expect(system.state.seenByWoken).toEqual(["True"]);
    await system.run("heartbeat");
    expect(system.state.woken).toEqual([web]);
  });

  it("hear of a new label in one write with what was told", async () => {
    const system = aWorld();
    await system.run();
    const { writes } = system.state;
    system.change((now) => ({ ...now, metadata: { ...now.metadata, labels: { region: "east" } } }));
    await system.run("changed");
    expect(system.state.woken).toEqual([web, web]);
    expect(system.state.writes).toBe(writes + 1);
    await system.run("changed");
    expect(system.state.writes).toBe(writes + 1);
  });

  it("hear nothing of heartbeats and of failures that are not counted enough", async () => {
    const system = aWorld();
    await system.run();
    for (const look of [healthy, failed, healthy, failed, failed, healthy]) {
      system.state.look = look;
      system.state.nowMs += 60_000;
      await system.run("heartbeat");
    }
    expect(system.state.woken).toEqual([web]);
  });

  it("hear of every change even when the process dies at any step", async () => {
    for (let at = 1; at <= 6; at++) {
      const system = aWorld();
      system.cutAtStep(at);
      await system.run().catch(() => {});
      system.restart();
      system.cutAtStep(undefined);
      await system.run("retry");
      expect(system.ready()).toBe("True");
      expect(system.state.seenByWoken.at(-1)).toBe("True");
      expect(system.stored?.status?.notifiedHash).toBe(system.stored && system.world.fingerprint(system.stored));
      // and then there is peace
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

  it("wakes the placements and stays until none of them names it", async () => {
    const system = deleted();
    system.state.users = [web];
    expect(await system.run()).toEqual({ kind: "requeue", afterSeconds: 1 });
    expect(system.state.woken).toEqual([web]);
    system.state.users = [];
    expect(await system.run("requeue")).toEqual({ kind: "done" });
    expect(system.stored?.metadata.finalizers).toEqual(["example.com/other"]);
  });

  it("goes after ten minutes even when the cluster is dead and placements hold on", async () => {
    const system = deleted();
    system.state.users = [web];
    system.state.look = failed;
    for (let rounds = 0; rounds < 100; rounds++) {
      const next = await system.run("requeue");
      if (next.kind === "done") break;
      system.state.nowMs += next.afterSeconds * 1000;
    }
    expect(system.stored?.metadata.finalizers).toEqual(["example.com/other"]);
    expect(system.state.nowMs - startMs).toBe(600_000);
    expect(system.state.looks).toEqual([]); // nobody asks a cluster that is leaving
  });

  it("lets go of its connections", async () => {
    const system = deleted();
    await system.run();
    expect(system.state.forgotten).toBe(1);
  });

  it("is left alone once its finalizer is gone", async () => {
    const system = aWorld(
      aRegistration({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/other"] } }),
    );
    expect(await system.run()).toEqual({ kind: "done" });
    expect(system.state.writes).toBe(0);
  });

  it("that is gone without us is told to the placements, and forgotten", async () => {
    const system = aWorld();
    system.change((now) => ({
      ...now,
      metadata: { ...now.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [clusterFinalizer] },
    }));
    await system.run();
    expect(system.stored).toBeUndefined();
    expect(await system.run()).toEqual({ kind: "done" });
    expect(system.state.woken).toEqual([web, web]);
    expect(system.state.forgotten).toBe(2);
  });
});
