import type { Clock } from "@tmc/kube/clock.ts";
import { createRota, type Rota } from "../engine/spread-schedule.ts";
import type { WorkKey } from "../model/key.ts";
import type { Reason, WorkQueue } from "../model/work-item.ts";
import type { IsMine } from "../sources/shard.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

export type PeriodicOptions = Readonly<{
  periodSeconds: number;
  cache: ObjectCache;
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  /** Whose turn is taken here. @default everybody's */
  isMine?: IsMine | undefined;
  /** Hears of keys that the queue did not take; they come round again. */
  onTrouble?: ((error: unknown, keys: number) => void) | undefined;
}>;

/** Creates what sends each of the keys once in a period. */
export function createPeriodic(
  { periodSeconds, clock, queue, isMine = () => true, onTrouble = () => {} }: PeriodicOptions,
  { reason, keys }: Readonly<{ reason: Reason; keys: () => Iterable<WorkKey> }>,
): Rota {
  const onTurn = (turn: readonly WorkKey[]): void => {
    const due = turn.filter(isMine);
    if (due.length === 0) return;
    queue.send(due.map((key) => ({ key, reason }))).catch((error: unknown) => onTrouble(error, due.length));
  };
  return createRota({ periodSeconds, clock, keys, onTurn });
}

/** The logical clusters of which everything has been seen: nothing is decided about any other. */
export function listedClusters(cache: ObjectCache): readonly string[] {
  return cache.clusters().filter((logicalCluster) => cache.isListed(logicalCluster));
}
