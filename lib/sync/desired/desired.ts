import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { downstreamNamespace, type Locator } from "../ownership/namespace-map.ts";
import type { Owner } from "../ownership/owner.ts";
import type { CopyRecord, Manifest, TargetCluster, Workload } from "../sync-objects.ts";
import type { Blocker, DesiredCopy } from "../targets/decide.ts";
import { fingerprintOfManifest, manifestOf } from "./manifest.ts";
import { applyOverrides } from "./overrides/apply.ts";
import { stepShares, wantedShares } from "./replicas.ts";

/** Kinds with a number of replicas that can be shared out. */
const dividedKinds: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "ReplicaSet"]);

export type DesiredFacts = Readonly<{
  workload: Workload;
  locator: Locator;
  spec: Pick<WorkloadPlacement["spec"], "replicas" | "overrides">;
  targets: readonly TargetCluster[];
  before: ReadonlyMap<string, CopyRecord>;
  /** How many replicas are ready on each cluster, as it says now. */
  ready: ReadonlyMap<string, number>;
  /** Whether an autoscaler owns the number of replicas. */
  isAutoscaled: boolean;
}>;

/** What a cluster is to have, but for what comes along with it. */
export type DesiredManifest = Omit<DesiredCopy, "references"> &
  Readonly<{
    /** How many replicas it is to have, where the kind has any and nobody else says. */
    desired: number | undefined;
    /** The number of replicas for a cluster that has none yet, where an autoscaler owns it from then on. */
    firstReplicas: number | undefined;
    /** Whether an override of the placement makes it another than elsewhere. */
    isTransformed: boolean;
  }>;

/** What every cluster is to have, and in words what could not be shared out. */
export type DesiredManifests = Readonly<{
  wishes: ReadonlyMap<string, DesiredManifest | Blocker>;
  shortfall: string | undefined;
}>;

/** Makes what each cluster is to have; an obstacle where that cannot be made. */
export function decideManifests(facts: DesiredFacts): DesiredManifests {
  const { workload, targets, isAutoscaled } = facts;
  const isDivided = dividedKinds.has(workload.kind);
  const total = isDivided ? replicasOf(workload) : undefined;
  const { shares, why } = total === undefined || isAutoscaled ? {} : sharesOf(facts, total);
  const wishes = new Map(
    targets.map((cluster): [string, DesiredManifest | Blocker] => {
      try {
        return [cluster.name, wishFor(facts, cluster, shares?.get(cluster.name), isAutoscaled ? total : undefined)];
      } catch (error) {
        if (!(error instanceof ControllerError) || error.fault !== "invalid") throw error;
        return [cluster.name, { reason: "OverrideFailed", message: error.message }];
      }
    }),
  );
  return { wishes, shortfall: why };
}

/** Of a Secret only which version it is: who may read records but no Secrets could try out what is in one. */
function fingerprintOf(manifest: Manifest, { kind, metadata }: Workload): string {
  if (kind !== "Secret") return fingerprintOfManifest(manifest);
  const { data: _, stringData: __, ...rest } = manifest;
  const version = `${metadata.uid ?? ""}@${metadata.resourceVersion ?? ""}`;
  return fingerprintOfManifest({
    ...rest,
    metadata: manifest.metadata,
    kind,
    apiVersion: manifest.apiVersion,
    version,
  });
}

/** Whose copy it is that a cluster has of a workload. */
export function ownerFor({ apiVersion, kind, metadata }: Workload, locator: Locator, registration: string): Owner {
  return { ...locator, registration, apiVersion, kind, name: metadata.name ?? "" };
}

function wishFor(
  { workload, locator, spec }: DesiredFacts,
  cluster: TargetCluster,
  share: number | undefined,
  firstReplicas: number | undefined,
): DesiredManifest {
  const origin = ownerFor(workload, locator, cluster.name);
  const plain = manifestOf(workload, { origin, namespace: downstreamNamespace(locator) });
  const shared = withReplicas(plain, share ?? firstReplicas);
  const overridden = applyOverrides(shared, spec.overrides ?? [], cluster);
  const desired = replicasIn(overridden);
  const manifest = firstReplicas === undefined ? overridden : withoutReplicas(overridden);
  return {
    manifest,
    fingerprint: fingerprintOf(manifest, workload),
    desired: firstReplicas === undefined ? desired : undefined,
    firstReplicas: firstReplicas === undefined ? undefined : desired,
    isTransformed: overridden !== shared && fingerprintOfManifest(overridden) !== fingerprintOfManifest(shared),
  };
}

function sharesOf({ spec, targets, before, ready }: DesiredFacts, total: number): Shared {
  // A cluster that it leaves has its replicas until they are ready elsewhere, so those count too.
  const applied = new Map<string, number>();
  for (const { name, appliedHash: fingerprint, desiredReplicas: desired } of before.values()) {
    if (fingerprint !== undefined && desired !== undefined) applied.set(name, desired);
  }
  const rule = spec.replicas ?? {};
  const { shares, why } = wantedShares({ rule, total, clusters: targets, current: applied });
  return { shares: rule.mode === "Divided" ? stepShares({ wanted: shares, applied, ready }) : shares, why };
}

type Shared = Readonly<{ shares: ReadonlyMap<string, number>; why?: string | undefined }>;

/** The manifest with another number of replicas; as it is without one. */
export function withReplicas(manifest: Manifest, replicas: number | undefined): Manifest {
  return replicas === undefined ? manifest : { ...manifest, spec: { ...fieldsOf(manifest.spec), replicas } };
}

function withoutReplicas(manifest: Manifest): Manifest {
  const { replicas: _, ...spec } = fieldsOf(manifest.spec);
  return { ...manifest, spec };
}

function replicasOf({ spec }: Workload): number {
  const { replicas } = fieldsOf(spec);
  return typeof replicas === "number" ? replicas : 1; // as Kubernetes has it
}

function replicasIn({ kind, spec }: Manifest): number | undefined {
  const { replicas } = fieldsOf(spec);
  return dividedKinds.has(kind) && typeof replicas === "number" ? replicas : undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
