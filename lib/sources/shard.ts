import { createHash } from "node:crypto";
import { formatKey, type WorkKey } from "../model/key.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import type { SourceCluster } from "./cluster.ts";

/** Label with which an operator assigns a cluster to a shard. */
export const shardLabel = "tmc.kcp.io/shard";

/** The shard of this process, and all shards. */
export type ShardConfig = Readonly<{ id: string; shards: readonly string[] }>;

/**
 * Returns the shard of a cluster: the one in its label if it exists, else the one chosen by rendezvous hashing. The result
 * does not depend on the order of the shards, and a new shard takes clusters from the others without moving any between
 * them. Undefined only if there are no shards.
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

/** Creates a filter for the clusters of this process; without sharding it accepts all. */
export function createClusterShardFilter(config: ShardConfig | undefined): (cluster: SourceCluster) => boolean {
  if (config === undefined) return () => true;
  const { id, shards } = config;
  // Hashed by name, not by object: an object that takes over the name stays in the shard.
  return ({ key, registration }) => shardOf(formatKey(key), shards, registration.metadata.labels?.[shardLabel]) === id;
}

/** Returns whether this process is responsible for a key. */
export type ShardFilter = (key: WorkKey) => boolean;

/**
 * Creates a filter that divides keys among the processes of one installation; without sharding it accepts all.
 *
 * It applies to watch events, heartbeats and resyncs. Placements that are affected by a cluster change are reconciled by the
 * process that observed the change, because no other process is notified. A deleted object belongs to all shards: its label
 * is gone, and each process must release what it holds for it. So does an object that a list lacked: each process has it in its
 * cache, and decides placements with it, until its own read shows that the object is gone.
 */
export function createKeyShardFilter(
  shard: ShardConfig | undefined,
  cache: Pick<ObjectCache, "get" | "isStale">,
): ShardFilter {
  if (shard === undefined) return () => true;
  const { id, shards } = shard;
  return (key) => {
    if (key.kind !== "Workload" && cache.isStale(key)) return true;
    if (key.kind !== "ClusterRegistration") return shardOf(formatKey(key), shards) === id;
    const object = cache.get(key);
    return object === undefined || shardOf(formatKey(key), shards, object.metadata.labels?.[shardLabel]) === id;
  };
}
