import { formatMebibytes } from "../transport/exchange.ts";
import type { ResponseLimits } from "../transport/transport-limits.ts";

/** Objects that informers keep, and the length of what they keep of them. */
export type CacheSize = Readonly<{ objects: number; bytes: number }>;

/** Says why informers may not keep this much of one server; undefined if they may. */
export function cacheExcess(
  { objects, bytes }: CacheSize,
  { cachedObjects, cachedBytes }: Pick<ResponseLimits, "cachedObjects" | "cachedBytes">,
): string | undefined {
  if (objects > cachedObjects) return `the cluster has more than ${cachedObjects} objects to watch`;
  if (bytes > cachedBytes) return `the objects to watch take more than ${formatMebibytes(cachedBytes)}`;
  return undefined;
}

/** Counts what the informers of one server keep. */
export interface CacheAccount {
  readonly size: CacheSize;
  /** Adds to what is kept; negative numbers take from it. */
  add(change: CacheSize): void;
}

/** Creates an account of nothing. */
export function createCacheAccount(): CacheAccount {
  let [objects, bytes] = [0, 0];
  return {
    get size() {
      return { objects, bytes };
    },
    add: (change) => {
      objects += change.objects;
      bytes += change.bytes;
    },
  };
}
