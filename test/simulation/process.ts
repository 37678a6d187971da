import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Transport, TransportRequest } from "@tmc/kube/transport/transport.ts";
import { type Controller, createController } from "../../lib/controller/controller.ts";
import { notConfigured, outcomeOf } from "../../lib/credentials/credentials.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { causes } from "./cause.ts";
import { simulatedHubId } from "./copies.ts";
import type { SimulationEnvironment } from "./environment.ts";
import type { Sabotage } from "./sabotage.ts";
import { controllerToken, tenantPaths } from "./servers.ts";
import { createWire, type WireEvents } from "./wire.ts";

/** A controller's process: its own clock, its own wires, and a life that can end between any two things it does. */
export interface SimProcess {
  readonly name: string;
  /** How far its wall clock is ahead now. */
  readonly skewMs: number;
  /** Every value that `skewMs` has had. */
  readonly skewsMs: ReadonlySet<number>;
  readonly alive: boolean;
  /** Ends it at once: nothing that it was about to do happens any more. */
  kill(): void;
  /** Asks it to end, as SIGTERM does; it is gone when it has drained. */
  terminate(): void;
  /** Has it die at one of its next writes, to kcp or to a cluster: before the request leaves, or once the server has acted on it. */
  dieAtWrite(nth: number, when: "before" | "after"): void;
  /** Sets its wall clock ahead, or back if negative; its monotonic clock and its timers do not change. */
  jump(byMs: number): void;
  /** Takes that back. */
  spare(): void;
  /** How many writes it has sent, to kcp and to clusters. */
  readonly writes: number;
  /** Timers that it still holds. */
  readonly timers: number;
}

export type ProcessOptions = Readonly<{
  world: SimulationEnvironment;
  name: string;
  skewMs: number;
  /** Called once, when it has ended for whatever reason. */
  onExit(process: SimProcess): void;
  sabotage?: Sabotage | undefined;
}>;

/** More than any chain of reactions needs. */
const mostWorksAtOnce = 3_000;

/** Starts a controller in a process of its own. */
export function startProcess({ world, name, skewMs: firstSkewMs, onExit, sabotage }: ProcessOptions): SimProcess {
  const { servers, weather, seeded, monitor } = world;
  const dice = seeded.fork(name);
  const timers = new Set<() => void>();
  const deaths = new Set<() => void>();
  let alive = true;
  let skewMs = firstSkewMs;
  const skewsMs = new Set([skewMs]);
  let writes = 0;
  let busy = { atMs: 0, works: 0 };
  let death: Readonly<{ atWrite: number; when: "before" | "after" }> | undefined;

  const kill = (): void => {
    if (!alive) return;
    alive = false;
    world.log(`${name} dies`);
    for (const cancel of [...timers]) cancel();
    timers.clear();
    for (const end of [...deaths]) end();
    onExit(process);
  };
  const owner = {
    get alive() {
      return alive;
    },
    onDeath: (end: () => void) => {
      deaths.add(end);
      return () => {
        deaths.delete(end);
      };
    },
  };
  const clock: Clock = {
    now: () => servers.clock.now() + skewMs,
    monotonicMs: servers.clock.monotonicMs,
    after: (delayMs, task) => {
      if (!alive) return () => {};
      const cause = causes.getStore() ?? { process };
      const forget = servers.clock.after(delayMs, () => {
        timers.delete(cancel);
        causes.run(cause, task);
      });
      const cancel = (): void => {
        timers.delete(cancel);
        forget();
      };
      timers.add(cancel);
      return cancel;
    },
  };

  const wireTo = (server: Transport, events: WireEvents): Transport =>
    createWire({
      server,
      owner,
      kill,
      clock: servers.clock,
      events,
      latencyMs: () => (weather.wire.latencyMs > 0 ? dice.next() * weather.wire.latencyMs : 0),
      watchLagMs: () => (weather.wire.watchLagMs > 0 ? dice.next() * weather.wire.watchLagMs : 0),
      arrivesAnyway: () => dice.chance(0.5),
    });
  /** Counts a request that writes, and says whether it is the one to die at. */
  const deathAt = ({ method }: TransportRequest): "before" | "after" | undefined => {
    if (method === "GET") return undefined;
    writes += 1;
    return death?.atWrite === writes ? death.when : undefined;
  };
  const kcpWire = wireTo(servers.kcp.transport(controllerToken), {
    sending: (request, cause) => {
      world.log(`${name} ${request.method} ${withoutVersion(request.path)}`);
      monitor.kcpRequest(request, cause);
      return deathAt(request);
    },
    answered: (request, status) => {
      world.log(`${name} ${status ?? "no answer"} ${request.method} ${withoutVersion(request.path)}`);
    },
  });
  const clusterWire = (key: ObjectKey, physical: string): Transport => {
    const cluster = servers.clusters.get(physical);
    if (cluster === undefined) throw new Error(`simulation: there is no cluster ${physical}`);
    const wire = wireTo(world.transportTo(key, physical), {
      sending: (request, cause) => {
        if (request.method !== "GET") {
          world.log(`${name} ${request.method} ${physical}${request.path} for ${key.logicalCluster}/${key.name}`);
        }
        monitor.clusterRequest(request, cause, key);
        return deathAt(request);
      },
      answered: (request, status, cause) => {
        const what = `${request.method} ${physical}${withoutVersion(request.path)}`;
        world.log(`${name} ${status ?? "no answer"} ${what} for ${key.logicalCluster}/${key.name}`);
        monitor.clusterAnswer(request, { status, cause, key });
      },
    });
    return sabotage?.clusterTransport?.(wire) ?? wire;
  };

  const client = createKubeClient({
    endpoint: { server: servers.kcp.url },
    transport: kcpWire,
    name: "kcp",
    clock,
    random: dice.next,
  });
  const process: SimProcess = {
    name,
    get skewMs() {
      return skewMs;
    },
    skewsMs,
    jump: (byMs) => {
      skewMs += byMs;
      skewsMs.add(skewMs);
      world.log(`the clock of ${name} is ${skewMs} ms ahead`);
    },
    get alive() {
      return alive;
    },
    kill,
    terminate: () => {
      world.log(`${name} is asked to end`);
      causes.run({ process }, () => {
        controller.stop().then(
          () => {
            if (alive && timers.size > 0) monitor.stoppedWithTimers(name, timers.size);
            kill();
          },
          (error: unknown) => world.fail("a controller fails to stop", error),
        );
      });
    },
    dieAtWrite: (nth, when) => {
      death = { atWrite: writes + nth, when };
    },
    spare: () => {
      death = undefined;
    },
    get writes() {
      return writes;
    },
    get timers() {
      return timers.size;
    },
  };

  const controller = causes.run({ process }, () => {
    const made = createController({
      client,
      hubId: simulatedHubId,
      workspaces: tenantPaths,
      operatorCredentials: {
        find: async ({ key, registration }) => {
          const server = world.operatorServer(key, registration);
          if (server === undefined) return notConfigured(`no kubeconfig is configured for cluster "${key.name}"`);
          const token = world.operatorToken(key.logicalCluster);
          return outcomeOf({ server, token: async () => token }, { providedBy: "operator", nowMs: clock.now() });
        },
        invalidate: () => {},
      },
      openTransport: ({ server }, { key }) => clusterWire(key, new URL(server).hostname.split(".", 1)[0] ?? ""),
      settings: world.settings,
      clock,
      random: dice.next,
    });
    bendQueue(made);
    made.start().catch((error: unknown) => {
      if (!alive) return;
      world.log(`${name} cannot start: ${error instanceof Error ? error.message : String(error)}`);
      kill();
    });
    return made;
  });
  world.log(`${name} starts, ${skewMs} ms ahead`);
  return process;

  /** Whoever works on and on while no time passes would never let any pass. */
  function isTooBusy(): boolean {
    const nowMs = servers.clock.now();
    busy = busy.atMs === nowMs ? { atMs: nowMs, works: busy.works + 1 } : { atMs: nowMs, works: 1 };
    if (busy.works <= mostWorksAtOnce) return false;
    monitor.broken(2, `${name} does not come to rest`);
    kill();
    return true;
  }

  /** A message on its way is no timer of the controller's. */
  function later(ms: number, deliver: () => void): void {
    servers.clock.after(ms, () => {
      if (alive) causes.run({ process }, deliver);
    });
  }

  /** Puts the weather between everyone who sends keys and the workers, and notes what each work is for. */
  function bendQueue({ queue }: Controller): void {
    const { send, run } = queue;
    const deliver = (items: readonly WorkItem[]): void => {
      send(items).catch((error: unknown) => world.fail("the queue refuses keys", error));
    };
    Object.assign(queue, {
      send: async (sent: readonly WorkItem[]): Promise<void> => {
        monitor.sent(sent, causes.getStore());
        const { lose, double, late, refuse, lateMs } = weather.queue;
        if (refuse > 0 && dice.chance(refuse)) throw new ControllerError("throttled", "queue: try again later");
        const items = sabotage?.keys?.(sent, servers.tenants) ?? sent;
        if (lose + double + late === 0) return send(items);
        const now: WorkItem[] = [];
        for (const item of dice.shuffled(items)) {
          if (dice.chance(lose)) continue;
          if (dice.chance(double)) later(dice.next() * lateMs, () => deliver([item]));
          if (dice.chance(late)) later(dice.next() * lateMs, () => deliver([item]));
          else now.push(item);
        }
        return send(now);
      },
      run: ((work, options) =>
        run(async (item, signal) => {
          world.log(`${name} works on ${item.key.logicalCluster}/${item.key.kind}/${item.key.name}: ${item.reason}`);
          monitor.works(item);
          if (isTooBusy()) return new Promise<never>(() => {});
          return causes.run({ process, work: { item } }, async () => {
            const next = await work(item, signal);
            await sabotage?.afterWork?.(item, client, servers.tenants);
            sabotage?.onClusters?.(item, servers.clusters, servers.tenants);
            return next;
          });
        }, options)) satisfies Controller["queue"]["run"],
    });
  }
}

/** Requests as they are noted: the servers go on counting from run to run, so versions differ where nothing else does. */
function withoutVersion(path: TransportRequest["path"]): string {
  return path.replace(/resourceVersion=[^&]*/, "resourceVersion=…").replace(/continue=[^&]*/, "continue=…");
}
