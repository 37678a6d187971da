import type { Clock } from "@tmc/kube/clock.ts";
import type { Transport, TransportRequest } from "@tmc/kube/transport/transport.ts";
import { formatKey, type ObjectKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { type Cause, causes } from "./cause.ts";
import type { SimulationEnvironment } from "./environment.ts";
import { createProcessView, kcpServer, type ProcessView } from "./process-view.ts";
import type { Seeded } from "./seeded.ts";
import { controllerToken } from "./servers.ts";
import { createWire, type WireEvents } from "./wire.ts";

/** A process with its own clock and its own connections. It can end between any two actions. */
export interface SimProcess {
  readonly name: string;
  /** How far its wall clock is ahead now. */
  readonly skewMs: number;
  /** Every value that `skewMs` has had. */
  readonly skewsMs: ReadonlySet<number>;
  readonly alive: boolean;
  /** What the wire has delivered to it. */
  readonly view: ProcessView;
  /** Ends it at once: nothing that it was about to do happens any more. */
  kill(): void;
  /** Asks it to end, as SIGTERM does; it is gone when it has drained. */
  terminate(): void;
  /** Has it die at one of its next writes, to kcp or to a cluster: before the request leaves, or once the server has acted on it. */
  dieAtWrite(nth: number, when: "before" | "after"): void;
  /** Sets its wall clock ahead, or back if negative; its monotonic clock and its timers do not change. */
  jump(byMs: number): void;
  /** Takes back `dieAtWrite`. */
  spare(): void;
  /** How many writes it has sent, to kcp and to clusters. */
  readonly writes: number;
  /** Timers that it still holds. */
  readonly timers: number;
}

/** What every simulated process has, whatever runs in it. */
export interface ProcessLife extends Omit<SimProcess, "terminate"> {
  readonly clock: Clock;
  readonly dice: Seeded;
  /** Transport to kcp, as the controller's user. */
  readonly kcpWire: Transport;
  clusterWire(key: ObjectKey, physical: string): Transport;
  /** Counts a write, and returns whether the process dies at it. */
  deathAtWrite(): "before" | "after" | undefined;
}

export type LifeOptions = Readonly<{
  world: SimulationEnvironment;
  name: string;
  skewMs: number;
  /** Called once, when it has ended for any reason. */
  onExit(): void;
  /** Called at each write; decides in addition to `dieAtWrite` whether the process dies at it. */
  deathAt?: (() => "before" | "after" | undefined) | undefined;
}>;

/** Creates a process in which nothing runs yet. */
export function createLife({ world, name, skewMs: firstSkewMs, onExit, deathAt: chosen }: LifeOptions): ProcessLife {
  const { servers, weather, seeded, monitor } = world;
  const dice = seeded.fork(name);
  const timers = new Set<() => void>();
  const deaths = new Set<() => void>();
  let alive = true;
  let skewMs = firstSkewMs;
  const skewsMs = new Set([skewMs]);
  let writes = 0;
  let death: Readonly<{ atWrite: number; when: "before" | "after" }> | undefined;

  const kill = (): void => {
    if (!alive) return;
    alive = false;
    world.log(`${name} dies`);
    for (const cancel of [...timers]) cancel();
    timers.clear();
    for (const end of [...deaths]) end();
    world.views.delete(view);
    onExit();
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
      const cause = causes.getStore() ?? { process: life };
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

  const view = createProcessView(() => servers.clock.now());
  world.views.add(view);
  const wireTo = (
    server: Transport,
    serverName: string,
    events: Omit<WireEvents, "delivered" | "watching">,
  ): Transport =>
    createWire({
      server,
      owner,
      kill,
      clock: servers.clock,
      events: {
        ...events,
        delivered: (request, answer) => view.answered(serverName, request, answer),
        watching: (request) => view.watching(serverName, request),
      },
      latencyMs: () => (weather.wire.latencyMs > 0 ? dice.next() * weather.wire.latencyMs : 0),
      watchLagMs: () => (weather.wire.watchLagMs > 0 ? dice.next() * weather.wire.watchLagMs : 0),
      arrivesAnyway: () => dice.chance(0.5),
    });
  const deathAtWrite = (): "before" | "after" | undefined => {
    writes += 1;
    return chosen?.() ?? (death?.atWrite === writes ? death.when : undefined);
  };
  const deathAt = ({ method }: TransportRequest): "before" | "after" | undefined =>
    method === "GET" ? undefined : deathAtWrite();
  const kcpWire = wireTo(servers.kcp.transport(controllerToken), kcpServer, {
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
    return wireTo(world.transportTo(key, physical), formatKey(key), {
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
  };

  const life: ProcessLife = {
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
    view,
    kill,
    clock,
    dice,
    kcpWire,
    clusterWire,
    deathAtWrite,
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
  return life;
}

/** Runs the work on a key as one run in the history of its process. */
export function runWork<T>(process: Cause["process"], item: WorkItem, work: () => Promise<T>): Promise<T> {
  const began = process.view.begin();
  return causes.run({ process, work: { item, began, deletions: new Set() } }, async () => {
    try {
      return await work();
    } finally {
      process.view.end(began);
    }
  });
}

/** Requests as they are noted: the servers go on counting from run to run, so versions differ where nothing else does. */
function withoutVersion(path: TransportRequest["path"]): string {
  return path.replace(/resourceVersion=[^&]*/, "resourceVersion=…").replace(/continue=[^&]*/, "continue=…");
}
