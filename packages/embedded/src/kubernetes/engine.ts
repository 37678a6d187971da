import type { Clock } from "@tmc/kube/clock.ts";
import type { StorageChange, Store } from "../storage/store.ts";
import type { Kinds, Resource } from "./kinds.ts";
import { type ClusterController, parseObjectName, type World } from "./world.ts";

export interface Engine {
  /** Enqueues every object, for example after the behavior of the cluster changed. */
  resync(): void;
  /** Runs until nothing is left to do now; for bootstrapping, when no time passes. */
  settle(): void;
  stop(): void;
}

export type EngineOptions = Readonly<{
  world: World;
  store: Store;
  clock: Clock;
  /** Resources by storage name. */
  storages: ReadonlyMap<string, Resource>;
  controllers: readonly ClusterController[];
  onError?: ((controller: string, key: string, error: unknown) => void) | undefined;
}>;

// Retry backoff of a failing key.
const firstRetryMs = 250;
const maxRetryMs = 60_000;
// More rounds than any chain of reconciles needs. Beyond that, a controller triggers itself forever, which is a bug.
const maxRounds = 10_000;

/**
 * Runs the cluster's controllers on the store. Changes enqueue keys, and a task of the clock reconciles them, never the
 * store's callback. With a manual clock every run has the same order.
 */
export function createEngine({ world, store, clock, storages, controllers, onError }: EngineOptions): Engine {
  let queued = new Map<string, Task>();
  let cancelDrain: (() => void) | undefined;
  const timers = new Map<string, () => void>();
  const failures = new Map<string, number>();
  let stopped = false;

  const enqueue = (task: Task): void => {
    queued.set(task.id, task);
    if (cancelDrain === undefined && !stopped) cancelDrain = clock.after(0, drain);
  };
  const enqueueFor = (resource: Resource, object: Kinds[Resource], type: StorageChange["type"]): void => {
    for (const controller of controllers) {
      for (const key of keysFor(controller, resource, object, world, type)) {
        enqueue({ id: `${controller.name} ${key}`, controller, key });
      }
    }
  };

  function drain(): void {
    cancelDrain = undefined;
    const batch = queued;
    queued = new Map();
    for (const task of batch.values()) {
      if (stopped) return;
      reconcile(task);
    }
  }

  function reconcile(task: Task): void {
    const { id, controller, key } = task;
    timers.get(id)?.();
    timers.delete(id);
    let requeueMs: number | undefined;
    try {
      requeueMs = controller.reconcile(parseObjectName(key), world);
      failures.delete(id);
    } catch (error) {
      const count = (failures.get(id) ?? 0) + 1;
      failures.set(id, count);
      requeueMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (count - 1));
      onError?.(controller.name, key, error);
    }
    if (requeueMs === undefined || stopped) return;
    timers.set(
      id,
      clock.after(Math.max(0, requeueMs), () => {
        timers.delete(id);
        enqueue(task);
      }),
    );
  }

  const resync = (): void => {
    for (const [storage, resource] of storages) {
      // The definition has validated the stored objects.
      for (const object of store.list(storage)) enqueueFor(resource, object as Kinds[Resource], "MODIFIED");
    }
  };
  const unsubscribe = store.subscribe((change) => {
    const resource = storages.get(change.key.storage);
    if (resource === undefined || stopped) return;
    enqueueFor(resource, change.object as Kinds[Resource], change.type);
    // The previous owner must reconcile as well.
    if (
      change.previous !== undefined &&
      change.previous.metadata.ownerReferences !== change.object.metadata.ownerReferences
    ) {
      enqueueFor(resource, change.previous as Kinds[Resource], change.type);
    }
  });
  resync();

  return {
    resync,
    settle: () => {
      for (let round = 0; queued.size > 0 && !stopped; round += 1) {
        if (round > maxRounds) throw new Error("embedded cluster: the controllers did not settle");
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

type Task = Readonly<{ id: string; controller: ClusterController; key: string }>;

function keysFor<R extends Resource>(
  controller: ClusterController,
  resource: R,
  object: Kinds[R],
  world: World,
  type: StorageChange["type"],
): Iterable<string> {
  const watch: ((object: Kinds[R], world: World, type: StorageChange["type"]) => Iterable<string>) | undefined =
    controller.watches[resource];
  return watch?.(object, world, type) ?? [];
}
