import { physicalNames } from "../servers.ts";
import type { Feature } from "./feature.ts";
import { backUpAndRestore } from "./restored-hub.ts";

/** Clusters are restored from backups. */
export const restoredCluster: Feature = {
  name: "restored-cluster",
  share: 0.1,
  isDirectOnly: true,
  // Originals, and what only these types have, are not compared with what a backup had.
  excludes: ["more-types", "upsync"],
  steps: (seeded, facts) =>
    seeded.some(physicalNames, 0.4).flatMap((server) => backUpAndRestore(seeded, { server, ...facts })),
};
