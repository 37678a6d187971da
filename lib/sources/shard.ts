import { createHash } from "node:crypto";
import { formatKey, type WorkKey } from "../model/key.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import type { Cluster } from "./cluster.ts";

/** The label with which an operator puts a cluster into a shard by hand. */
export const shardLabel = "tmc.kcp.io/shard";

/** Which shard a process is, and all that there are. */
export type ShardConfig = Readonly<{ id: string; shards: readonly string[] }>;

/**
 * The shard that a cluster belongs to: the one it is labelled with while that is among them, else the one that hashes
 * highest with its name. Everybody who knows the same shards gets the same answer, in whatever order he knows them, and a
 * shard that joins takes clusters from others but moves none between them. Undefined only where there is no shard.
 */
export function shardOf(name: string, shards: readonly string[], label?: string): string | undefined {
  if (label !== undefined && shards.includes(label)) return label;
  let best: Readonly<{ shard: string; weight: string }> | undefined;
  for (const shard of shards) {
    const weight = createHash("sha256")
      .update(JSON.stringify([shard, name]))
      .digest("hex");
    if (best === undefined || weight > best.weight) best = { shard, weight };
  }
  return best?.shard;
}

/** Tells whether a cluster is this process's; all are where nothing is said of shards. */
export function createShardFilter(config: ShardConfig | undefined): (cluster: Cluster) => boolean {
  if (config === undefined) return () => true;
  const { id, shards } = config;
  // By its name and not by its object: one that takes its name over stays in its shard.
  return ({ key, registration }) => shardOf(formatKey(key), shards, registration.metadata.labels?.[shardLabel]) === id;
}

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
