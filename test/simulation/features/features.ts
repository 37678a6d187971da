import type { Seeded } from "../seeded.ts";
import type { Feature } from "./feature.ts";
import { listOutage } from "./list-outage.ts";
import { vanish } from "./vanish.ts";

/** Every feature of the simulation; `npm run simulate -- --features a,b` adds some of them to every seed. */
export const features: readonly Feature[] = [listOutage, vanish];

/** Chooses the features of a seed. */
export function chooseFeatures(seeded: Seeded, forced: readonly string[] = []): readonly Feature[] {
  return features.filter(({ name, share }) => seeded.fork(name).chance(share) || forced.includes(name));
}
