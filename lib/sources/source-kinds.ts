import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../api/cluster-registration.ts";
import type { PolicyRule } from "../api/rbac.ts";

/** The cluster sources, as `--cluster-source` names them. */
export const sourceKinds = [
  "clusterregistration",
  "synctarget",
  "controlplaneendpoint",
  "controlplaneregistration",
] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Returns whether any source is not ClusterRegistration. */
export function hasExternalSources(sources: readonly SourceKind[]): boolean {
  return sources.some((source) => source !== "clusterregistration");
}

export type SourceType = ResourceType &
  Readonly<{
    /** Whether the type can be namespaced. Some servers serve the same type as cluster-scoped. */
    maybeNamespaced: boolean;
  }>;

const kplane = { group: "controlplane.kplane.dev", version: "v1alpha1" } as const;

export const clusterRegistrations: SourceType = {
  group: clusterRegistration.group,
  version: clusterRegistration.version,
  plural: clusterRegistration.plural,
  maybeNamespaced: false,
};
export const syncTargets: SourceType = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  plural: "synctargets",
  maybeNamespaced: false,
};
export const controlPlanes: SourceType = { ...kplane, plural: "controlplanes", maybeNamespaced: false };
export const controlPlaneEndpoints: SourceType = { ...kplane, plural: "controlplaneendpoints", maybeNamespaced: true };
export const controlPlaneRegistrations: SourceType = {
  ...kplane,
  plural: "controlplaneregistrations",
  maybeNamespaced: true,
};

/** The types that each source reads besides Secrets: its own type, then the referenced types. */
export const typesOf: Readonly<Record<SourceKind, readonly [own: SourceType, ...referred: SourceType[]]>> = {
  clusterregistration: [clusterRegistrations],
  synctarget: [syncTargets],
  controlplaneendpoint: [controlPlaneEndpoints],
  controlplaneregistration: [controlPlaneRegistrations, controlPlanes, controlPlaneEndpoints],
};

/** Returns the RBAC rules that reading the sources needs. It writes nothing. */
export function sourcePolicyRules(kinds: readonly SourceKind[]): readonly PolicyRule[] {
  const types = kinds.flatMap((kind) => typesOf[kind]);
  const groups = [...new Set(types.map(({ group }) => group))];
  return [
    ...groups.map((group) => ({
      apiGroups: [group],
      resources: [...new Set(types.filter((type) => type.group === group).map(({ plural }) => plural))],
      verbs: ["list", "watch"],
    })),
    { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
  ];
}
