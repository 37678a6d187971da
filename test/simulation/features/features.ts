import type { Seeded } from "../seeded.ts";
import { bindings } from "./bindings.ts";
import { failback } from "./failback.ts";
import type { Feature } from "./feature.ts";
import { listOutage } from "./list-outage.ts";
import { moreTypes } from "./more-types.ts";
import { namespacesFeature } from "./namespaces.ts";
import { overrides } from "./overrides.ts";
import { upsync } from "./upsync.ts";
import { vanish } from "./vanish.ts";

/** Every feature of the simulation; `npm run simulate -- --features a,b` adds some of them to every seed. */
export const features: readonly Feature[] = [
  bindings,
  failback,
  listOutage,
  moreTypes,
  namespacesFeature,
  overrides,
  upsync,
  vanish,
];

/** Whether any of these features needs servers that export all types. */
export function needAllTypes(names: readonly string[]): boolean {
  return features.some(({ name, exportsAllTypes }) => exportsAllTypes === true && names.includes(name));
}

/** Chooses the features of a seed. */
export function chooseFeatures(seeded: Seeded, forced: readonly string[] = []): readonly Feature[] {
  return features.filter(({ name, share }) => seeded.fork(name).chance(share) || forced.includes(name));
}
