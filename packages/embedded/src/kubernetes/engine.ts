import type { Clock } from "@tmc/kube/clock.ts";
import type { Change, Store } from "../store.ts";
import type { Kinds, Resource } from "./kinds.ts";
import { type Controller, parseKey, type World } from "./world.ts";

export interface Engine {
  /** Looks at everything again, as after a change in how the cluster behaves. */
  resync(): void;
  /** Works until nothing is left that could be done now; for setting up, where nobody lets time pass. */
  settle(): void;
  stop(): void;
}

export type EngineOptions = Readonly<{
  world: World;
  store: Store;
  clock: Clock;
  /** Told apart by where they are stored. */
  storages: ReadonlyMap<string, Resource>;
  controllers: readonly Controller[];
  onError?: ((controller: string, key: string, error: unknown) => void) | undefined;
}>;

// As client-go: a failing key is tried again with growing patience.
const firstRetryMs = 250;
const longestRetryMs = 60_000;
// More than any chain of reactions needs; a controller that answers itself for ever is a fault of ours.
const mostRounds = 10_000;

/**
 * Runs the cluster's own controllers on the store: every change marks keys, and a task of the clock works them off, never
 * the store's callback. With a virtual clock the order of everything is the same in every run.
 */
export function createEngine({ world, store, clock, storages, controllers, onError }: EngineOptions): Engine {
  let dirty = new Map<string, Task>();
  let cancelDrain: (() => void) | undefined;
  const timers = new Map<string, () => void>();
  const failures = new Map<string, number>();
  let stopped = false;

  const mark = (task: Task): void => {
    dirty.set(task.id, task);
    if (cancelDrain === undefined && !stopped) cancelDrain = clock.after(0, drain);
  };
  const tell = (resource: Resource, object: Kinds[Resource], type: Change["type"]): void => {
    for (const controller of controllers) {
      for (const key of keysFor(controller, resource, object, world, type)) {
        mark({ id: `${controller.name} ${key}`, controller, key });
      }
    }
  };

  function drain(): void {
    cancelDrain = undefined;
    const batch = dirty;
    dirty = new Map();
    for (const task of batch.values()) {
      if (stopped) return;
      work(task);
    }
  }

  function work(task: Task): void {
    const { id, controller, key } = task;
    timers.get(id)?.();
    timers.delete(id);
    let againMs: number | undefined;
    try {
      againMs = controller.reconcile(parseKey(key), world);
      failures.delete(id);
    } catch (error) {
      const count = (failures.get(id) ?? 0) + 1;
      failures.set(id, count);
      againMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (count - 1));
      onError?.(controller.name, key, error);
    }
    if (againMs === undefined || stopped) return;
    timers.set(
      id,
      clock.after(Math.max(0, againMs), () => {
        timers.delete(id);
        mark(task);
      }),
    );
  }

  const resync = (): void => {
    for (const [storage, resource] of storages) {
      // What is stored there is what the resource's definition has let in.
      for (const object of store.list(storage)) tell(resource, object as Kinds[Resource], "MODIFIED");
    }
  };
  const unsubscribe = store.subscribe((change) => {
    const resource = storages.get(change.key.storage);
    if (resource === undefined || stopped) return;
    tell(resource, change.object as Kinds[Resource], change.type);
    // An object that changes hands concerns the one it leaves, too.
    if (
      change.previous !== undefined &&
      change.previous.metadata.ownerReferences !== change.object.metadata.ownerReferences
    ) {
      tell(resource, change.previous as Kinds[Resource], change.type);
    }
  });
  resync();

  return {
    resync,
    settle: () => {
      for (let round = 0; dirty.size > 0 && !stopped; round += 1) {
        if (round > mostRounds) throw new Error("embedded cluster: its controllers do not come to rest");
        cancelDrain?.();
        drain();
      }
    },
    stop: () => {
      stopped = true;
      unsubscribe();
      cancelDrain?.();
      for (const cancel of timers.values()) cancel();
      timers.clear();
    },
  };
}

type Task = Readonly<{ id: string; controller: Controller; key: string }>;

function keysFor<R extends Resource>(
  controller: Controller,
  resource: R,
  object: Kinds[R],
  world: World,
  type: Change["type"],
): Iterable<string> {
  const watch: ((object: Kinds[R], world: World, type: Change["type"]) => Iterable<string>) | undefined =
    controller.watches[resource];
  return watch?.(object, world, type) ?? [];
}
