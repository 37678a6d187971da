import type { Seeded } from "../seeded.ts";
import { clockJumps } from "./clock-jumps.ts";
import { confirmations } from "./confirmations.ts";
import type { Feature } from "./feature.ts";
import { foreignObjects } from "./foreign-objects.ts";
import { lastingFaults } from "./lasting-faults.ts";
import { rebuiltCluster } from "./rebuilt-cluster.ts";
import { restoredCluster } from "./restored-cluster.ts";
import { restoredHub } from "./restored-hub.ts";

/** Every feature of the simulation; `npm run simulate -- --features a,b` adds some of them to every seed. */
export const features: readonly Feature[] = [
  clockJumps,
  confirmations,
  foreignObjects,
  lastingFaults,
  rebuiltCluster,
  restoredCluster,
  restoredHub,
];

/** Chooses the features of a seed. */
export function chooseFeatures(seeded: Seeded, forced: readonly string[] = []): readonly Feature[] {
  return features.filter(({ name, share }) => seeded.fork(name).chance(share) || forced.includes(name));
}
