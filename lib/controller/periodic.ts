import type { Clock } from "@tmc/kube/clock.ts";
import { createSpreadSchedule, type SpreadSchedule } from "../engine/spread-schedule.ts";
import type { WorkKey } from "../model/key.ts";
import type { WorkQueue, WorkReason } from "../model/work-item.ts";
import { isHeartbeatDue } from "../registration/due.ts";
import type { ShardFilter } from "../sources/shard.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

export type PeriodicOptions = Readonly<{
  periodSeconds: number;
  cache: ObjectCache;
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  /** @default all keys */
  isInShard?: ShardFilter | undefined;
  /** Called with keys that the queue rejected; the next period sends them again. */
  onFailure?: ((error: unknown, keys: number) => void) | undefined;
}>;

/** Creates a schedule that sends each key once per period, spread over the period. */
export function createPeriodic(
  { periodSeconds, clock, queue, isInShard = () => true, onFailure = () => {} }: PeriodicOptions,
  { reason, keys }: Readonly<{ reason: WorkReason; keys: () => Iterable<WorkKey> }>,
): SpreadSchedule {
  const onDue = (scheduled: readonly WorkKey[]): void => {
    const due = scheduled.filter(isInShard);
    if (due.length === 0) return;
    queue.send(due.map((key) => ({ key, reason }))).catch((error: unknown) => onFailure(error, due.length));
  };
  return createSpreadSchedule({ periodSeconds, clock, keys, onDue });
}

/** The logical clusters that have been listed completely. Nothing is decided about the others. */
export function listedLogicalClusters(cache: ObjectCache): readonly string[] {
  return cache.logicalClusters().filter((logicalCluster) => cache.isListed(logicalCluster));
}

/** Creates the schedule that enqueues every registration once per period, except while its circuit breaker is open. */
export function createHeartbeat(options: PeriodicOptions): SpreadSchedule {
  const { cache, clock, periodSeconds } = options;
  const keys = function* () {
    for (const logicalCluster of listedLogicalClusters(cache)) {
      for (const object of cache.list("ClusterRegistration", logicalCluster)) {
        if (!isHeartbeatDue(object, { nowMs: clock.now(), periodSeconds })) continue;
        yield { logicalCluster, kind: "ClusterRegistration", name: object.metadata.name ?? "" } as const;
      }
    }
  };
  return createPeriodic(options, { reason: "heartbeat", keys });
}
