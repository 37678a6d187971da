import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { downstreamNamespace, type Locator } from "../ownership/namespace-map.ts";
import type { Owner } from "../ownership/owner.ts";
import type { CopyRecord, Manifest, TargetCluster, Workload } from "../sync-objects.ts";
import type { Blocker, DesiredCopy } from "../targets/decide.ts";
import { manifestHash, manifestOf } from "./manifest.ts";
import { applyOverrides } from "./overrides/apply.ts";
import { desiredShares, stepShares } from "./replicas.ts";

/** Kinds whose replicas can be divided among clusters. */
const dividedKinds: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "ReplicaSet"]);

export type DesiredFacts = Readonly<{
  workload: Workload;
  locator: Locator;
  spec: Pick<WorkloadPlacement["spec"], "replicas" | "overrides">;
  targets: readonly TargetCluster[];
  previousCopies: ReadonlyMap<string, CopyRecord>;
  /** Ready replicas on each cluster. */
  readyReplicas: ReadonlyMap<string, number>;
  /** Whether an autoscaler owns the number of replicas. */
  isAutoscaled: boolean;
}>;

/** What a cluster should have, without its dependencies. */
export type DesiredManifest = Omit<DesiredCopy, "dependenciesHash"> &
  Readonly<{
    /** The desired number of replicas; undefined if the kind has none or an autoscaler owns it. */
    desiredReplicas: number | undefined;
    /** The number of replicas for a new copy whose number an autoscaler owns afterwards. */
    initialReplicas: number | undefined;
    /** Whether overrides of the placement changed the manifest for this cluster. */
    isOverridden: boolean;
  }>;

export type DesiredManifests = Readonly<{
  /** By cluster name. */
  manifests: ReadonlyMap<string, DesiredManifest | Blocker>;
  /** Explains why not all replicas could be placed. */
  shortfall: string | undefined;
}>;

/** Computes the manifest for each target cluster, or a blocker where an override cannot be applied. */
export function decideManifests(facts: DesiredFacts): DesiredManifests {
  const { workload, targets, isAutoscaled } = facts;
  const isDivided = dividedKinds.has(workload.kind);
  const total = isDivided ? replicasOf(workload) : undefined;
  const { shares, message } = total === undefined || isAutoscaled ? {} : sharesOf(facts, total);
  const manifests = new Map(
    targets.map((targetCluster): [string, DesiredManifest | Blocker] => {
      const { name } = targetCluster;
      try {
        const counts = { share: shares?.get(name), initialReplicas: isAutoscaled ? total : undefined };
        return [name, desiredManifest(facts, targetCluster, counts)];
      } catch (error) {
        if (!(error instanceof ControllerError) || error.fault !== "invalid") throw error;
        return [name, { reason: "OverrideFailed", message: error.message }];
      }
    }),
  );
  return { manifests, shortfall: message };
}

/** The hash of a manifest. For a Secret it covers only the version: readers of records could otherwise guess the content. */
function desiredHash(manifest: Manifest, { kind, metadata }: Workload): string {
  if (kind !== "Secret") return manifestHash(manifest);
  const { data: _, stringData: __, ...rest } = manifest;
  const version = `${metadata.uid ?? ""}@${metadata.resourceVersion ?? ""}`;
  return manifestHash({
    ...rest,
    metadata: manifest.metadata,
    kind,
    apiVersion: manifest.apiVersion,
    version,
  });
}

/** The owner that the copy of a workload on a cluster names. */
export function ownerFor({ apiVersion, kind, metadata }: Workload, locator: Locator, registration: string): Owner {
  return { ...locator, registration, apiVersion, kind, name: metadata.name ?? "" };
}

function desiredManifest(
  { workload, locator, spec }: DesiredFacts,
  targetCluster: TargetCluster,
  { share, initialReplicas }: Readonly<{ share: number | undefined; initialReplicas: number | undefined }>,
): DesiredManifest {
  const owner = ownerFor(workload, locator, targetCluster.name);
  const base = manifestOf(workload, { owner, namespace: downstreamNamespace(locator) });
  const shared = withReplicas(base, share ?? initialReplicas);
  const overridden = applyOverrides(shared, spec.overrides ?? [], targetCluster);
  const replicas = replicasIn(overridden);
  const manifest = initialReplicas === undefined ? overridden : withoutReplicas(overridden);
  return {
    manifest,
    hash: desiredHash(manifest, workload),
    desiredReplicas: initialReplicas === undefined ? replicas : undefined,
    initialReplicas: initialReplicas === undefined ? undefined : replicas,
    isOverridden: overridden !== shared && manifestHash(overridden) !== manifestHash(shared),
  };
}

type ReplicaShares = Readonly<{ shares: ReadonlyMap<string, number>; message?: string | undefined }>;

function sharesOf({ spec, targets, previousCopies, readyReplicas }: DesiredFacts, total: number): ReplicaShares {
  // A cluster that is being evicted keeps its replicas until they are ready elsewhere, so they count too.
  const applied = new Map<string, number>();
  for (const { name, appliedHash, desiredReplicas } of previousCopies.values()) {
    if (appliedHash !== undefined && desiredReplicas !== undefined) applied.set(name, desiredReplicas);
  }
  const rule = spec.replicas ?? {};
  const { shares, message } = desiredShares({ rule, total, targetClusters: targets, current: applied });
  const isDivided = rule.mode === "Divided";
  return { shares: isDivided ? stepShares({ desired: shares, applied, ready: readyReplicas }) : shares, message };
}

/** The manifest with another number of replicas; unchanged if the number is undefined. */
export function withReplicas(manifest: Manifest, replicas: number | undefined): Manifest {
  return replicas === undefined ? manifest : { ...manifest, spec: { ...fieldsOf(manifest.spec), replicas } };
}

function withoutReplicas(manifest: Manifest): Manifest {
  const { replicas: _, ...spec } = fieldsOf(manifest.spec);
  return { ...manifest, spec };
}

function replicasOf({ spec }: Workload): number {
  const { replicas } = fieldsOf(spec);
  return typeof replicas === "number" ? replicas : 1; // the default of Kubernetes
}

function replicasIn({ kind, spec }: Manifest): number | undefined {
  const { replicas } = fieldsOf(spec);
  return dividedKinds.has(kind) && typeof replicas === "number" ? replicas : undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
