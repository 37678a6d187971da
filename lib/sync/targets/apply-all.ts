import { typeId, type WorkloadType } from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { applyDependencies, type Dependencies, hashDependencies } from "../dependencies/distribute.ts";
import { autoscalerType, scales } from "../desired/autoscaler.ts";
import { type DesiredManifests, decideManifests } from "../desired/desired.ts";
import { volumeMessage } from "../eviction/volumes.ts";
import { copyAddress, copyOwner, type Observed, registrationKey, type SyncTools } from "../observed.ts";
import { copyHealth } from "../status/health.ts";
import type { DownstreamState, Workload } from "../sync-objects.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { applyTarget, type CopyOutcome, type TargetTools } from "./apply.ts";
import { specDifferences } from "./drift.ts";
import type { TypeBlocker } from "./served-types.ts";

/** The outcomes on all clusters that should have a copy. */
export type AppliedTargets = Readonly<{
  targets: ReadonlyMap<string, CopyOutcome>;
  /** Explains why not all replicas could be placed. */
  shortfall: string | undefined;
  /** The paths at which the copies differ from each other. */
  differences: readonly string[];
}>;

/** The facts that were read before anything is written. */
type TargetsFacts = Readonly<{
  observed: Observed;
  downstreamStates: ReadonlyMap<string, DownstreamState>;
  typeBlockers: ReadonlyMap<string, TypeBlocker>;
  dependencies: Dependencies;
}>;

/** Applies the workload to every cluster that should have a copy. */
export async function applyTargets(
  { downstream, workloads, clock, settings }: SyncTools,
  { observed, downstreamStates, typeBlockers, dependencies }: TargetsFacts,
  signal: AbortSignal,
): Promise<AppliedTargets> {
  const { key, type, workload, targetClusters, intent, locator, controls } = observed;
  const { placement } = intent;
  if (workload === undefined || placement === undefined || intent.targets.length === 0)
    return { targets: new Map(), shortfall: undefined, differences: [] };
  const previousCopies = new Map(observed.previousCopies.map((entry) => [entry.name, entry]));
  const { manifests, shortfall } = decideManifests({
    workload,
    locator,
    spec: placement.spec,
    targets: intent.targets.map((name) => targetClusters.get(name)).filter((cluster) => cluster !== undefined),
    previousCopies,
    readyReplicas: readyReplicasOf(type, workload, downstreamStates),
    isAutoscaled: await isAutoscaled(workloads, observed, signal),
  });
  const tools: TargetTools = {
    downstream,
    clock,
    settings,
    applyDependencies: ({ registration }, clusterSignal) =>
      applyDependencies({ workloads, downstream }, { registration, locator, dependencies }, clusterSignal),
    hashDependencies: ({ registration }, clusterSignal) =>
      hashDependencies(downstream, { registration, locator, dependencies }, clusterSignal),
  };
  const outcomes = await allSettledOrThrow(
    intent.targets.map(async (name): Promise<[string, CopyOutcome]> => {
      const target = {
        registration: registrationKey(key.logicalCluster, name),
        object: copyAddress(observed, name).object,
        targetCluster: targetClusters.get(name),
        owner: copyOwner(observed, name),
        locator,
        downstreamState: downstreamStates.get(name) ?? { kind: "unknown" as const, message: "the copy was not read" },
        previous: previousCopies.get(name),
        desired: manifests.get(name) ?? { reason: "Applying" as const, message: "there is no such registration yet" },
        dependenciesHash: dependencies.hash,
        generation: workload.metadata.generation,
        policy: placement.spec,
        targets: intent.targets,
        syncBlocker: controls.syncBlocker,
        typeBlocker: typeBlockers.get(name),
      };
      const outcome = await applyTarget(tools, target, signal);
      return [name, intent.heldClusters.includes(name) ? withVolumeReason(outcome, observed.retainedClaims) : outcome];
    }),
  );
  const driftedPaths = outcomes.flatMap(([, outcome]) => outcome.driftedPaths ?? []);
  const differences = [...new Set([...desiredDifferences(placement.spec, manifests), ...driftedPaths])].toSorted();
  return { targets: new Map(outcomes), shortfall, differences };
}

/** A copy that is not selected any more says why it stays, unless it has something more urgent to say. */
function withVolumeReason(outcome: CopyOutcome, claims: readonly string[]): CopyOutcome {
  const { reason = "VolumeNotMovable", message = volumeMessage(claims) } = outcome.record;
  return { ...outcome, record: { ...outcome.record, reason, message } };
}

/** The paths at which the desired manifests differ between clusters. Divided replicas do not count as a difference. */
function desiredDifferences(
  { overrides = [], replicas }: WorkloadPlacement["spec"],
  manifests: DesiredManifests["manifests"],
): readonly string[] {
  if (overrides.length === 0) return [];
  const computed = [...manifests.values()].flatMap((desired) => ("reason" in desired ? [] : [desired.manifest]));
  return specDifferences(computed, { ignore: replicas?.mode === "Divided" ? ["spec.replicas"] : [] });
}

function readyReplicasOf(
  { apiVersion, kind }: WorkloadType,
  { spec }: Workload,
  downstreamStates: ReadonlyMap<string, DownstreamState>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [name, downstreamState] of downstreamStates) {
    if (downstreamState.kind !== "there") continue;
    const { status, generation } = downstreamState.copy;
    counts.set(name, copyHealth({ apiVersion, kind, spec, status, generation }).readyReplicas ?? 0);
  }
  return counts;
}

async function isAutoscaled(workloads: WorkloadHub, observed: Observed, signal: AbortSignal): Promise<boolean> {
  const { key, address, type } = observed;
  if (!workloads.types.some((each) => typeId(each.type) === typeId(autoscalerType))) return false;
  if (!["Deployment", "StatefulSet", "ReplicaSet"].includes(type.kind)) return false;
  const autoscalers = await workloads.list(key.logicalCluster, autoscalerType, signal);
  const scaled = { kind: type.kind, namespace: address.namespace, name: address.name };
  return autoscalers.some((autoscaler) => scales(autoscaler, scaled));
}
