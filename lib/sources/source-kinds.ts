import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../api/cluster-registration.ts";

/** Where clusters can come from; the words of `--cluster-source`. */
export const sourceKinds = [
  "clusterregistration",
  "synctarget",
  "controlplaneendpoint",
  "controlplaneregistration",
] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Whether clusters are made known by anything but our own registrations. */
export function hasForeign(sources: readonly SourceKind[]): boolean {
  return sources.some((source) => source !== "clusterregistration");
}

/** A type that a source reads. */
export type ReadType = ResourceType &
  Readonly<{
    /** Whether there are servers that keep it in namespaces; some keep the very same type outside of them. */
    maybeNamespaced: boolean;
  }>;

const kplane = { group: "controlplane.kplane.dev", version: "v1alpha1" } as const;

export const clusterRegistrations: ReadType = {
  group: clusterRegistration.group,
  version: clusterRegistration.version,
  plural: clusterRegistration.plural,
  maybeNamespaced: false,
};
export const syncTargets: ReadType = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  plural: "synctargets",
  maybeNamespaced: false,
};
export const controlPlanes: ReadType = { ...kplane, plural: "controlplanes", maybeNamespaced: false };
export const controlPlaneEndpoints: ReadType = { ...kplane, plural: "controlplaneendpoints", maybeNamespaced: true };
export const controlPlaneRegistrations: ReadType = {
  ...kplane,
  plural: "controlplaneregistrations",
  maybeNamespaced: true,
};

/** What each source reads besides Secrets: its own objects first, then those they refer to. */
export const typesOf: Readonly<Record<SourceKind, readonly [own: ReadType, ...referred: ReadType[]]>> = {
  clusterregistration: [clusterRegistrations],
  synctarget: [syncTargets],
  controlplaneendpoint: [controlPlaneEndpoints],
  controlplaneregistration: [controlPlaneRegistrations, controlPlanes, controlPlaneEndpoints],
};

/** A rule of a role, as RBAC writes it. */
export type Rule = Readonly<{ apiGroups: readonly string[]; resources: readonly string[]; verbs: readonly string[] }>;

/** All that the process that reads the sources needs to be allowed: it reads, and it writes nothing. */
export function rulesOfSources(kinds: readonly SourceKind[]): readonly Rule[] {
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
