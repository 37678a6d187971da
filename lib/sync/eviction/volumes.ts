import { objectsAt, textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { Hub } from "../../model/hub.ts";
import type { WorkloadKey } from "../../model/key.ts";
import { referencesOf } from "../dependencies/references.ts";
import type { CopyRecord, TargetCluster, Workload } from "../sync-objects.ts";
import type { WorkloadHub } from "../workload-hub.ts";

/** A PersistentVolumeClaim that a workload uses. */
export type VolumeClaim = Readonly<{
  name: string;
  /** The storage class; undefined when the claim must be read to know it. Empty for the default class of a cluster. */
  storageClass: string | undefined;
}>;

/** The claims of a workload: those that its pods mount, those that it creates from templates, and a claim itself. */
export function claimsOf(workload: Workload): readonly VolumeClaim[] {
  if (workload.kind === "PersistentVolumeClaim" && workload.apiVersion === "v1") {
    return [{ name: workload.metadata.name ?? "", storageClass: textAt(workload, "spec", "storageClassName") }];
  }
  return [
    ...referencesOf(workload)
      .filter(({ kind }) => kind === "PersistentVolumeClaim")
      .map(({ name }) => ({ name, storageClass: undefined })),
    ...objectsAt(workload, "spec", "volumeClaimTemplates").map((template) => ({
      name: textAt(template, "metadata", "name"),
      storageClass: textAt(template, "spec", "storageClassName"),
    })),
  ];
}

export type RetainFacts = Readonly<{
  claims: readonly VolumeClaim[];
  policy: Pick<WorkloadPlacement["spec"], "volumes" | "sharedStorageClasses">;
}>;

/** The claims whose data a move would leave behind. */
export function decideRetainedClaims({ claims, policy }: RetainFacts): readonly VolumeClaim[] {
  if (policy.volumes === "Recreate") return [];
  const shared = new Set(policy.sharedStorageClasses ?? []);
  return claims.filter(({ storageClass }) => storageClass === undefined || !shared.has(storageClass));
}

/** The claims that keep a workload on its clusters, and the clusters that have their data. */
export type RetainedVolumes = Readonly<{ claims: readonly string[]; clusters: readonly string[] }>;

export const noRetainedVolumes: RetainedVolumes = { claims: [], clusters: [] };

type VolumeFacts = Readonly<{
  key: WorkloadKey;
  namespace: string;
  workload: Workload | undefined;
  /** The governing placement. */
  placement: WorkloadPlacement | undefined;
  previousCopies: readonly CopyRecord[];
  targetClusters: ReadonlyMap<string, TargetCluster>;
}>;

/**
 * Reads which clusters have the volumes of a workload that must not move without its data. Storage classes and registrations
 * are read only if a copy is about to leave its cluster.
 */
export async function readRetainedVolumes(
  { hub, workloads }: Readonly<{ hub: Hub; workloads: WorkloadHub }>,
  { key, namespace, workload, placement, previousCopies, targetClusters }: VolumeFacts,
  signal: AbortSignal,
): Promise<RetainedVolumes> {
  const policy = placement?.spec;
  const claims = workload === undefined || policy === undefined ? [] : claimsOf(workload);
  if (policy === undefined || decideRetainedClaims({ claims, policy }).length === 0) return noRetainedVolumes;
  const { logicalCluster } = key;
  const hasShared = (policy.sharedStorageClasses ?? []).length > 0;
  const read = async (claim: VolumeClaim): Promise<VolumeClaim> => {
    if (!hasShared || claim.storageClass !== undefined) return claim;
    const address = { logicalCluster, namespace, kind: "PersistentVolumeClaim", name: claim.name } as const;
    const object = await workloads.readReference(address, signal);
    return { ...claim, storageClass: object === undefined ? undefined : textAt(object, "spec", "storageClassName") };
  };
  const selected = new Set(placement?.status?.selectedClusters ?? []);
  const written = previousCopies.filter(hasVolumes).map(({ name }) => name);
  const isLeaving = written.some((name) => !selected.has(name));
  const known = isLeaving ? await Promise.all(claims.map(read)) : claims;
  const retained = decideRetainedClaims({ claims: known, policy });
  if (retained.length === 0) return noRetainedVolumes;
  // A list of registrations may lack one for a moment.
  const isRegistered = async (name: string): Promise<boolean> =>
    targetClusters.has(name) ||
    (await hub.confirm<ClusterRegistration & KubeObject>(
      { logicalCluster, kind: "ClusterRegistration", name },
      signal,
    )) !== undefined;
  const registered = await Promise.all(written.map(isRegistered));
  return {
    claims: retained.map(({ name }) => name),
    clusters: written.filter((_, index) => registered[index] === true),
  };
}

/** Whether TMC has written the copy, so that its pods may have written to volumes. */
function hasVolumes({ appliedHash, reason }: CopyRecord): boolean {
  return appliedHash !== undefined || reason === "VolumeNotMovable";
}

/** Why a copy with these claims stays where it is. */
export function volumeMessage(claims: readonly string[]): string {
  const names =
    claims.length === 1 ? `PersistentVolumeClaim ${claims[0]}` : `PersistentVolumeClaims ${claims.join(", ")}`;
  return `the placement selects other clusters, but the data of ${names} is here; "volumes: Recreate" in the placement moves the workload without its data`;
}
