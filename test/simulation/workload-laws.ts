import type { StorageChange } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { scales } from "../../lib/sync/desired/autoscaler.ts";
import { claimsOf } from "../../lib/sync/eviction/volumes.ts";
import type { TenantState } from "./actual-state.ts";
import type { SimulationEnvironment } from "./environment.ts";

/** The placement and the workload of the feature `more-types` that must stay with its volume. */
export const volumePlacement = "more-stays";
export const volumeWorkload = "m-stays";

/** A controller that has just started may not have listed a new autoscaler yet. */
const hearingMs = 240_000;
/** Longer than a change of a registration takes to reach its placements, also after a lost message. */
const failbackSlackMs = 150_000;

/** Whether an autoscaler in the workspace owns the replicas of a workload. */
export function isAutoscaled(
  { workloads }: Pick<TenantState, "workloads">,
  { kind, metadata }: KubeObject,
  createdBeforeMs = Number.POSITIVE_INFINITY,
): boolean {
  const { namespace = "", name = "" } = metadata;
  return [...workloads.values()].some(
    (each) =>
      each.kind === "HorizontalPodAutoscaler" &&
      each.metadata.deletionTimestamp === undefined &&
      Date.parse(each.metadata.creationTimestamp ?? "") < createdBeforeMs &&
      scales(each, { kind, namespace, name }),
  );
}

/** The change that a controller made to a copy. */
export type CopyChange = Readonly<{
  change: Pick<StorageChange, "type" | "object" | "previous">;
  state: TenantState;
  id: string;
  nowMs: number;
}>;

/** What a controller must not have done to a copy; undefined if it is well. Holds at all times. */
export function copyViolation({ change, state, id, nowMs }: CopyChange): string | undefined {
  const { type, object, previous } = change;
  const workload = state.workloads.get(id);
  if (workload === undefined || previous === undefined) return undefined;
  const hasScaled = type === "MODIFIED" && replicasIn(previous) !== replicasIn(object);
  if (hasScaled && isAutoscaled(state, workload, nowMs - hearingMs)) {
    return `${replicasIn(previous)} replicas were set to ${replicasIn(object)}, but an autoscaler owns the number`;
  }
  const isGoing = type === "DELETED" || object.metadata.deletionTimestamp !== undefined;
  if (!isGoing || previous.metadata.deletionTimestamp !== undefined) return undefined;
  const placement = state.placements.get(volumePlacement);
  const isKept =
    workload.metadata.name === volumeWorkload &&
    placement !== undefined &&
    isFirstOfItsName(placement) &&
    isHere(placement);
  if (isKept) return "has data in a volume, and was removed by a move";
  return undefined;
}

/** Law 1 for placements of the feature `failback`, at rest: each is on the cluster that it prefers, if that has been fit for long enough. */
export function checkFailback({ servers, monitor, judged }: SimulationEnvironment): void {
  for (const tenant of judged) {
    const { placements, registrations } = monitor.truth.of(tenant);
    for (const [name, { spec, status, metadata }] of placements) {
      const [preferred] = spec.preferredClusters ?? [];
      if (!name.startsWith("back-") || spec.failback === undefined || preferred === undefined) continue;
      const registration = registrations.get(preferred);
      const isFit =
        registration !== undefined &&
        isHere(registration) &&
        registration.spec.unschedulable !== true &&
        (registration.spec.taints ?? []).length === 0;
      const ready = findCondition(registration?.status?.conditions, "Ready");
      const readyMs = servers.clock.now() - Date.parse(ready?.lastTransitionTime ?? "");
      const isDue = ready?.status === "True" && readyMs > spec.failback.afterSeconds * 1000 + failbackSlackMs;
      const [selected] = status?.selectedClusters ?? [];
      if (isFit && isDue && isHere({ metadata }) && selected !== preferred) {
        monitor.broken(1, `${tenant}/${name} is on ${selected}, but ${preferred} has been Ready for ${readyMs} ms`);
      }
    }
  }
}

const isHere = ({ metadata }: Pick<KubeObject, "metadata">): boolean => metadata.deletionTimestamp === undefined;

/** A placement that was deleted and created again let its workloads go, and may do so late. */
function isFirstOfItsName({ metadata }: Pick<KubeObject, "metadata">): boolean {
  return metadata.annotations?.["simulation/incarnation"] === "0";
}

function replicasIn({ spec }: KubeObject): unknown {
  return ((spec ?? {}) as Readonly<{ replicas?: unknown }>).replicas;
}

/**
 * The clusters where a workload belongs that stays with its volumes: those that hold it, by what its record says, and the
 * selected ones that have a copy. Undefined where nothing holds it.
 */
export function heldTargets(
  { records }: Pick<TenantState, "records">,
  {
    id,
    workload,
    selected,
    volumes,
  }: Readonly<{
    id: string;
    workload: KubeObject;
    selected: readonly string[];
    volumes: string | undefined;
  }>,
): readonly string[] | undefined {
  const entries = records.get(id)?.status?.clusters ?? [];
  // A cluster that is not Ready holds the data that was written there, and the record says of it that it is not Ready.
  const held = entries
    .filter(
      ({ name, reason, appliedHash }) =>
        reason === "VolumeNotMovable" ||
        (reason === "ClusterNotReady" && appliedHash !== undefined && !selected.includes(name)),
    )
    .map(({ name }) => name);
  const mayHold = claimsOf(workload).length > 0 && volumes !== "Recreate" && selected.length > 0;
  if (held.length === 0 || !mayHold) return undefined;
  const written = entries.filter(({ appliedHash }) => appliedHash !== undefined).map(({ name }) => name);
  return [...new Set([...held, ...selected.filter((name) => written.includes(name))])].toSorted();
}
