import { formatKey, type WorkKey } from "../model/key.ts";
import { type ShardConfig, shardLabel, shardOf } from "../sources/shard.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

/** Tells whether a key is this process's to look after. */
export type IsMine = (key: WorkKey) => boolean;

/**
 * Divides keys among the processes of one installation; all are this one's where nothing is said of shards.
 *
 * It counts for what a process learns by itself: what its watches tell, heartbeats and resyncs. Whom a change of a cluster
 * concerns is told by the process that has found the change, and that one decides about them: nobody else would hear of it.
 * An object that has gone is everybody's, for who it belonged to went with its label, and each lets go of what it held.
 */
export function createDuty(shard: ShardConfig | undefined, cache: Pick<ObjectCache, "get">): IsMine {
  if (shard === undefined) return () => true;
  const { id, shards } = shard;
  return (key) => {
    if (key.kind !== "ClusterRegistration") return shardOf(formatKey(key), shards) === id;
    const object = cache.get(key);
    return object === undefined || shardOf(formatKey(key), shards, object.metadata.labels?.[shardLabel]) === id;
  };
}
