import type { Mode } from "../mode.ts";
import type { Seeded } from "../seeded.ts";
import { bindings } from "./bindings.ts";
import { clockJumps } from "./clock-jumps.ts";
import { confirmations } from "./confirmations.ts";
import { failback } from "./failback.ts";
import type { Feature } from "./feature.ts";
import { foreignObjects } from "./foreign-objects.ts";
import { lastingFaults } from "./lasting-faults.ts";
import { listOutage } from "./list-outage.ts";
import { moreTypes } from "./more-types.ts";
import { namespacesFeature } from "./namespaces.ts";
import { overrides } from "./overrides.ts";
import { rebuiltCluster } from "./rebuilt-cluster.ts";
import { restoredCluster } from "./restored-cluster.ts";
import { restoredHub } from "./restored-hub.ts";
import { upsync } from "./upsync.ts";
import { vanish } from "./vanish.ts";

/** Every feature of the simulation; `npm run simulate -- --features a,b` adds some of them to every seed. */
export const features: readonly Feature[] = [
  bindings,
  clockJumps,
  confirmations,
  failback,
  foreignObjects,
  lastingFaults,
  listOutage,
  moreTypes,
  namespacesFeature,
  overrides,
  rebuiltCluster,
  restoredCluster,
  restoredHub,
  upsync,
  vanish,
];

/** Whether any of these features needs servers that export all types. */
export function needAllTypes(names: readonly string[]): boolean {
  return features.some(({ name, exportsAllTypes }) => exportsAllTypes === true && names.includes(name));
}

/** Chooses the features of a seed that runs in a mode. */
export function chooseFeatures(seeded: Seeded, mode: Mode, forced: readonly string[] = []): readonly Feature[] {
  const isForced = ({ name }: Feature): boolean => forced.includes(name);
  const chosen = features.filter((feature) => {
    const fits = mode === "direct" || feature.isDirectOnly !== true;
    return (seeded.fork(feature.name).chance(feature.share) && fits) || isForced(feature);
  });
  // A forced feature stays; otherwise the feature that excludes another one goes.
  const excludes = (one: Feature, other: Feature): boolean => one.excludes?.includes(other.name) === true;
  return chosen.filter(
    (feature) =>
      isForced(feature) ||
      !chosen.some((other) => excludes(feature, other) || (isForced(other) && excludes(other, feature))),
  );
}

/** Whether any of these features is in the mode `direct` only. */
export function areDirectOnly(names: readonly string[]): boolean {
  return features.some(({ name, isDirectOnly }) => isDirectOnly === true && names.includes(name));
}
