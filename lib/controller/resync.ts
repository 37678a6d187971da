import { reconciledKinds } from "../model/key.ts";
import { createPeriodic, listedClusters, type PeriodicOptions } from "./periodic.ts";
import type { Rota } from "./rota.ts";

/** Creates what has every object reconciled once in a period, so that anything missed heals. */
export function createResync(options: PeriodicOptions): Rota {
  const { cache } = options;
  const keys = function* () {
    for (const cluster of listedClusters(cache)) {
      for (const kind of reconciledKinds) {
        for (const { metadata } of cache.list(kind, cluster)) {
          yield { cluster, kind, name: metadata.name ?? "" } as const;
        }
      }
    }
  };
  return createPeriodic(options, { reason: "resync", keys });
}
