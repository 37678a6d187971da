import { createHash } from "node:crypto";
import { formatKey } from "../model/key.ts";
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
