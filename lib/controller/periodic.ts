import type { ObjectCache } from "../kcp/object-cache.ts";
import type { Clock } from "../model/clock.ts";
import type { ObjectKey } from "../model/key.ts";
import type { Reason, WorkQueue } from "../queue/work-queue.ts";
import { createRota, type Rota } from "./rota.ts";

export type PeriodicOptions = Readonly<{
  periodSeconds: number;
  cache: ObjectCache;
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  /** Hears of keys that the queue did not take; they come round again. */
  onTrouble?: ((error: unknown, keys: number) => void) | undefined;
}>;

/** Creates what sends each of the keys once in a period. */
export function createPeriodic(
  { periodSeconds, clock, queue, onTrouble = () => {} }: PeriodicOptions,
  { reason, keys }: Readonly<{ reason: Reason; keys: () => Iterable<ObjectKey> }>,
): Rota {
  const onTurn = (due: readonly ObjectKey[]): void => {
    queue.send(due.map((key) => ({ key, reason }))).catch((error: unknown) => onTrouble(error, due.length));
  };
  return createRota({ periodSeconds, clock, keys, onTurn });
}

/** The logical clusters of which everything has been seen: nothing is decided about any other. */
export function listedClusters(cache: ObjectCache): readonly string[] {
  return cache.clusters().filter((cluster) => cache.isListed(cluster));
}
