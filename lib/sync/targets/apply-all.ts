import type { WorkloadType } from "../../api/workload-kinds.ts";
import { typeId } from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { ObjectKey } from "../../model/key.ts";
import { applyDependencies, type Dependencies, dependenciesHash } from "../dependencies/distribute.ts";
import { autoscalerType, scales } from "../desired/autoscaler.ts";
import { decideManifests } from "../desired/desired.ts";
import { copyAddress, copyOwner, type Observed, registrationKey, type SyncTools } from "../observed.ts";
import { copyHealth } from "../status/health.ts";
import type { DownstreamState, Workload } from "../sync-objects.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { applyTarget, type Outcome } from "./apply.ts";
import { specDifferences } from "./drift.ts";
import type { TypeBlocker } from "./served-types.ts";

/** What became of the copies on clusters that should have one. */
export type AppliedTargets = Readonly<{
  targets: ReadonlyMap<string, Outcome>;
  /** What could not be shared out among them, in words. */
  shortfall: string | undefined;
  /** Where they do not all say the same. */
  differences: readonly string[];
}>;

/** What was seen on the clusters and in the hub before anything is written. */
type Sights = Readonly<{
  scene: Observed;
  sightings: ReadonlyMap<string, DownstreamState>;
  troubles: ReadonlyMap<string, TypeBlocker>;
  company: Dependencies;
}>;

/** Sees to it that every cluster that should have a copy has it. */
export async function applyTargets(
  { downstream, workloads, clock, settings }: SyncTools,
  { scene, sightings, troubles, company }: Sights,
  signal: AbortSignal,
): Promise<AppliedTargets> {
  const { key, type, workload, known, clusters, intent, locator, controls } = scene;
  const { placement } = intent;
  if (workload === undefined || placement === undefined || intent.targets.length === 0)
    return { targets: new Map(), shortfall: undefined, differences: [] };
  const before = new Map(known.map((entry) => [entry.name, entry]));
  const { wishes, shortfall } = decideManifests({
    workload,
    locator,
    spec: placement.spec,
    targets: intent.targets.map((name) => clusters.get(name)).filter((cluster) => cluster !== undefined),
    before,
    ready: readyOn(type, workload, sightings),
    isAutoscaled: await isAutoscaled(workloads, scene, signal),
  });
  const tools = {
    fleet: downstream,
    clock,
    settings,
    sendReferences: (target: Readonly<{ key: ObjectKey }>, itsSignal: AbortSignal) =>
      applyDependencies({ hub: workloads, fleet: downstream }, { key: target.key, locator, company }, itsSignal),
    stampReferences: (target: Readonly<{ key: ObjectKey }>, itsSignal: AbortSignal) =>
      dependenciesHash(downstream, { key: target.key, locator, company }, itsSignal),
  };
  const outcomes = await allSettledOrThrow(
    intent.targets.map(async (name): Promise<[string, Outcome]> => {
      const target = {
        key: registrationKey(key.logicalCluster, name),
        object: copyAddress(scene, name).object,
        targetCluster: clusters.get(name),
        origin: copyOwner(scene, name),
        locator,
        downstreamState: sightings.get(name) ?? { kind: "unknown" as const, why: "it was not looked at" },
        before: before.get(name),
        desired: wishes.get(name) ?? { reason: "Applying" as const, message: "there is no such registration yet" },
        references: company.fingerprint,
        generation: workload.metadata.generation,
        policy: placement.spec,
        targets: intent.targets,
        stopped: controls.stopped,
        trouble: troubles.get(name),
      };
      return [name, await applyTarget(tools, target, signal)];
    }),
  );
  const drifted = outcomes.flatMap(([, outcome]) => outcome.drifted ?? []);
  const differences = [...new Set([...wishDifferences(placement.spec, wishes), ...drifted])].toSorted();
  return { targets: new Map(outcomes), shortfall, differences };
}

/** Where clusters are meant to have something else than others; how replicas are divided is no difference of what they are. */
function wishDifferences(
  { overrides = [], replicas }: WorkloadPlacement["spec"],
  wishes: ReturnType<typeof decideManifests>["wishes"],
): readonly string[] {
  if (overrides.length === 0) return [];
  const manifests = [...wishes.values()].flatMap((wish) => ("reason" in wish ? [] : [wish.manifest]));
  return specDifferences(manifests, { ignore: replicas?.mode === "Divided" ? ["spec.replicas"] : [] });
}

function readyOn(
  { apiVersion, kind }: WorkloadType,
  { spec }: Workload,
  sightings: ReadonlyMap<string, DownstreamState>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [name, sighting] of sightings) {
    if (sighting.kind !== "there") continue;
    const { status, generation } = sighting.copy;
    counts.set(name, copyHealth({ apiVersion, kind, spec, status, generation }).readyReplicas ?? 0);
  }
  return counts;
}

async function isAutoscaled(workloads: WorkloadHub, scene: Observed, signal: AbortSignal): Promise<boolean> {
  const { key, address, type } = scene;
  if (!workloads.types.some(({ type: each }) => typeId(each) === typeId(autoscalerType))) return false;
  if (!["Deployment", "StatefulSet", "ReplicaSet"].includes(type.kind)) return false;
  const all = await workloads.list(key.logicalCluster, autoscalerType, signal);
  return all.some((each) => scales(each, { kind: type.kind, namespace: address.namespace, name: address.name }));
}
