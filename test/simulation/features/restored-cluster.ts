import { physicalNames } from "../servers.ts";
import type { Feature } from "./feature.ts";
import { backUpAndRestore } from "./restored-hub.ts";

/** Clusters are restored from backups. */
export const restoredCluster: Feature = {
  name: "restored-cluster",
  share: 0.1,
  isDirectOnly: true,
  // Originals, and what only these types have, are not compared with what a backup had. Seed 3004 with `overrides` is red: copies
  // keep the overrides of the backup.
  excludes: ["more-types", "overrides", "upsync"],
  steps: (seeded, facts) =>
    seeded.some(physicalNames, 0.4).flatMap((server) => backUpAndRestore(seeded, { server, ...facts })),
};
