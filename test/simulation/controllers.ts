import type { Injection } from "@tmc/embedded/server/faults.ts";
import type { ShardConfig } from "../../lib/sources/shard.ts";
import { syncFinalizer } from "../../lib/sync/ownership/record.ts";
import { copyStorages } from "./copies.ts";
import { calm, type SimulationEnvironment } from "./environment.ts";
import { createDeployment } from "./functions/deployment.ts";
import { changeMirror } from "./originals.ts";
import { startProcess } from "./process.ts";
import type { SimProcess } from "./process-life.ts";
import type { Sabotage } from "./sabotage.ts";
import type { ClusterState, Fault } from "./scenario.ts";
import type { ServerFault } from "./server-faults.ts";
import { controllerUser, type Physical } from "./servers.ts";

/** The controllers of a run, and everything that goes wrong with them and between them. */
export interface Controllers {
  /** Starts the controllers that always run: one, or one per shard. */
  begin(): void;
  happen(fault: Exclude<Fault, ServerFault>): void;
  setCluster(cluster: Physical, state: ClusterState): void;
  /** Ends every fault; the controllers that always run, with clocks that are right, are left or begin. */
  cease(): void;
  /** Ends all controllers. */
  end(): void;
  /** How many writes all controllers have sent, to kcp and to clusters. */
  readonly writes: number;
}

/** How long a process that is asked to end is given before it is killed. */
const terminationMs = 15_000;
/** How soon a controller that ended by itself is started again. */
const crashRestartMs = 5_000;

/** A controller that always runs, and is started again when it ends. */
type Slot = {
  readonly shard: ShardConfig | undefined;
  process: SimProcess | undefined;
  restartPlan: Readonly<{ afterMs: number; skewMs: number }> | undefined;
};
const shards = ["0", "1"] as const;

/** Creates the controllers of a run and their faults. */
export function createControllers(world: SimulationEnvironment, sabotage: Sabotage | undefined): Controllers {
  const { servers, weather, log } = world;
  const { clock, kcp } = servers;
  const running = new Set<SimProcess>();
  /** What takes a fault back before its time. */
  const endings = new Set<() => void>();
  const states = new Map<Physical, Injection>();
  const ids = world.mode === "shards" ? shards : [undefined];
  const slots = ids.map((id): Slot => {
    return { shard: id && (sabotage?.shard ?? { id, shards }), process: undefined, restartPlan: undefined };
  });
  const deployment = world.mode === "functions" ? createDeployment(world, sabotage) : undefined;
  const dice = world.seeded.fork("slots");
  /** The controller that a fault is about. */
  const pickSlot = (): Slot => dice.pick(slots);
  /** Clusters that stay as they are until the run ends. */
  const lost = new Set<Physical>();
  let started = 0;
  let deadWrites = 0;
  let hasCeased = false;
  let isEnding = false;

  const start = (slot: Slot, skewMs: number): SimProcess => {
    started += 1;
    const options = {
      skewMs,
      onExit: (ended: SimProcess) => {
        running.delete(ended);
        deadWrites += ended.writes;
        if (ended !== slot.process || isEnding) return;
        slot.process = undefined;
        const { afterMs, skewMs: nextSkewMs } = slot.restartPlan ?? { afterMs: crashRestartMs, skewMs: 0 };
        slot.restartPlan = undefined;
        within(afterMs, () => {
          slot.process ??= start(slot, hasCeased ? 0 : nextSkewMs);
        });
      },
    };
    const process =
      deployment?.startRelay({ ...options, name: `relay-${started}` }) ??
      startProcess({ ...options, world, name: `controller-${started}`, shard: slot.shard, sabotage });
    running.add(process);
    return process;
  };

  /** Calls back after a time, or when all faults end. */
  const within = (ms: number, end: () => void): void => {
    const finish = (): void => {
      cancel();
      if (endings.delete(finish)) end();
    };
    const cancel = clock.after(ms, finish);
    endings.add(finish);
  };
  const inject = (injection: Injection, forMs: number): void => within(forMs, () => injection.remove());

  const setCluster = (name: Physical, state: ClusterState): void => {
    if (lost.has(name)) return;
    log(`${name} is ${state}`);
    const cluster = servers.clusters.get(name);
    if (cluster === undefined) return;
    states.get(name)?.remove();
    states.delete(name);
    cluster.recover();
    const { faults } = cluster;
    switch (state) {
      case "up":
        return;
      case "broken":
        cluster.makeBroken();
        return;
      case "slow":
        states.set(name, faults.inject({ effect: { kind: "delay", ms: 300 } }));
        return;
      case "stuck":
        states.set(name, faults.inject({ effect: { kind: "delay", ms: 20_000 } }));
        return;
      default:
        states.set(name, faults.inject({ effect: { kind: "partition", requests: state } }));
    }
  };

  return {
    begin: () => {
      for (const slot of slots) slot.process = start(slot, 0);
    },
    happen: (fault) => {
      log(`fault ${JSON.stringify(fault)}`);
      const slot = pickSlot();
      deployment?.happen(fault);
      switch (fault.kind) {
        case "kill":
          slot.restartPlan = { afterMs: fault.restartAfterMs, skewMs: fault.skewMs };
          slot.process?.kill();
          return;
        case "kill-at-write":
          slot.restartPlan = { afterMs: fault.restartAfterMs, skewMs: 0 };
          slot.process?.dieAtWrite(fault.nth, fault.when);
          return;
        case "terminate": {
          slot.restartPlan = { afterMs: fault.restartAfterMs, skewMs: 0 };
          const ending = slot.process;
          ending?.terminate();
          within(terminationMs, () => ending?.kill());
          return;
        }
        case "second-controller": {
          const second = start(slot, fault.skewMs);
          within(fault.forMs, () => second.kill());
          return;
        }
        case "kcp-fault":
          inject(
            kcp.faults.inject({ ...fault.rule, match: { ...fault.rule.match, user: controllerUser } }),
            fault.forMs,
          );
          return;
        case "kcp-partition": {
          const tenant = fault.tenant === undefined ? {} : { logicalCluster: servers.tenants[fault.tenant] ?? "" };
          const effect = { kind: "partition", requests: fault.requests } as const;
          inject(kcp.faults.inject({ match: { user: controllerUser, ...tenant }, effect }), fault.forMs);
          return;
        }
        case "cluster-fault": {
          const injection = servers.clusters.get(fault.cluster)?.faults.inject(fault.rule);
          if (injection !== undefined) inject(injection, fault.forMs);
          return;
        }
        case "vanish":
          removeUnobserved(world, fault);
          return;
        case "unreadable": {
          const { tenant, resources, code, forMs } = fault;
          const match = { user: controllerUser, logicalCluster: servers.tenants[tenant] ?? "" };
          const matches = resources.length === 0 ? [match] : resources.map((resource) => ({ ...match, resource }));
          const message = code === 404 ? "the server could not find the requested resource" : "no access";
          for (const each of matches) {
            inject(kcp.faults.inject({ match: each, effect: { kind: "status", code, message } }), forMs);
            kcp.faults.cutWatches(each);
          }
          return;
        }
        case "change-mirror":
          void changeMirror(world, fault);
          return;
        case "clock-jump": {
          const { process } = pickSlot();
          process?.jump(fault.byMs);
          within(fault.forMs, () => process?.jump(-fault.byMs));
          return;
        }
        case "lasting-tenant": {
          const logicalCluster = servers.tenants[fault.tenant] ?? "";
          const effect = { kind: "partition", requests: fault.requests } as const;
          kcp.faults.inject({ match: { user: controllerUser, logicalCluster }, effect });
          return;
        }
        case "lasting-cluster":
          setCluster(fault.cluster, fault.requests);
          lost.add(fault.cluster);
          return;
        case "cut-watches":
          kcp.faults.cutWatches({ user: controllerUser });
          for (const { faults } of servers.clusters.values()) faults.cutWatches();
          return;
        case "forget-history":
          // A watch that resumes from an older resourceVersion gets 410.
          for (const { store, faults } of [kcp, ...servers.clusters.values()]) {
            store.compact();
            faults.cutWatches(store === kcp.store ? { user: controllerUser } : {});
          }
          return;
        case "queue-weather":
          weather.queue = fault.weather;
          within(fault.forMs, () => {
            weather.queue = calm.queue;
          });
          return;
        case "wire-weather":
          weather.wire = fault.weather;
          within(fault.forMs, () => {
            weather.wire = calm.wire;
          });
      }
    },
    setCluster,
    cease: () => {
      log("all faults end");
      hasCeased = true;
      for (const end of [...endings]) end();
      endings.clear();
      weather.queue = calm.queue;
      weather.wire = calm.wire;
      // Whoever is asked to end is on its way out; whoever has a wrong clock cannot be mended.
      for (const process of [...running]) {
        if (!slots.some((slot) => slot.process === process) || process.skewMs !== 0) process.kill();
      }
      for (const slot of slots) slot.process?.spare();
      deployment?.cease();
      for (const end of [...endings]) end();
      for (const slot of slots) slot.process ??= start(slot, 0);
    },
    end: () => {
      isEnding = true;
      for (const end of [...endings]) end();
      for (const process of [...running]) process.kill();
      deployment?.end();
      for (const injection of states.values()) injection.remove();
    },
    get writes() {
      return (deployment?.writes ?? 0) + deadWrites + [...running].reduce((sum, process) => sum + process.writes, 0);
    },
  };
}

/** Takes a Deployment in `wild` that TMC holds back from kcp's storage, with no regard to its finalizers. */
function removeUnobserved(
  { servers, monitor, log }: SimulationEnvironment,
  { tenant }: Extract<Fault, { kind: "vanish" }>,
): void {
  const { store } = servers.kcp;
  const storage = copyStorages.get("Deployment") ?? "";
  const place = { logicalCluster: servers.tenants[tenant] ?? "", namespace: "wild" };
  const [found] = store.list(storage, place).filter(({ metadata }) => metadata.finalizers?.includes(syncFinalizer));
  if (found === undefined) return;
  const { name = "", uid = "" } = found.metadata;
  log(`Deployment wild/${name} of tenant ${tenant} vanishes`);
  monitor.mayGo(uid);
  store.delete({ storage, ...place, name });
}
