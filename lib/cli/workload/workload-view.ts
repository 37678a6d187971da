import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { CopyState, WorkloadSync } from "../../api/workload-sync.ts";
import { type Condition, findCondition } from "../../model/condition.ts";
import { controlsOf } from "../../sync/control-annotations.ts";
import { limitJob } from "../../sync/decide.ts";
import type { Workload } from "../../sync/sync-objects.ts";
import { type CopyView, copyViews } from "./copy-view.ts";

/** The objects that a workload's view is derived from. */
export type WorkloadInput = Readonly<{
  /** Undefined when the workload does not exist; `notRead` when it was not read. */
  workload: Pick<Workload, "metadata"> | "notRead" | undefined;
  syncRecord: WorkloadSync | undefined;
  /** The placement that governs the workload. */
  placement: WorkloadPlacement | undefined;
  registrations: ReadonlyMap<string, ClusterRegistration>;
}>;

/** Whether a workload is ready on all its clusters, and otherwise why not. */
export type WorkloadReadiness = Readonly<{ isReady: boolean; reason: string; message: string }>;

/** The state of a workload on all its clusters, for output. */
export type WorkloadView = Readonly<{
  readiness: WorkloadReadiness;
  /** One word for a table: `Ready`, the most urgent state of a copy, or the reason. */
  status: string;
  copies: readonly CopyView[];
  /** Replicas on all target clusters; undefined for a type without replicas. */
  desired: number | undefined;
  /** Ready replicas on the target clusters that are Ready. */
  ready: number | undefined;
  /** Copies on target clusters that are not Ready: none of their replicas count as ready. */
  uncounted: readonly CopyView[];
  /** Messages about dependencies that do not exist in the namespace of the workload. */
  missing: readonly string[];
  /** Control annotations of the workload that stop its sync or exclude clusters. */
  controls: readonly string[];
  conditions: readonly Condition[];
}>;

/** Derives the view of a workload; pure. */
export function workloadView(input: WorkloadInput): WorkloadView {
  const { workload, syncRecord, placement, registrations } = input;
  const readObject = workload === "notRead" ? undefined : workload;
  const { allows, syncBlocker } = controlsOf(readObject);
  const selected = placement?.status?.selectedClusters;
  const isDeleting = readObject?.metadata.deletionTimestamp !== undefined;
  const isHeld = findCondition(syncRecord?.status?.conditions, "EvictionHeld")?.status === "True";
  // A workload that stays with its volumes has no copy on clusters that are newly selected.
  const desiredClusters = isHeld
    ? syncRecord?.status?.clusters?.map(({ name }) => name)
    : selected && limitJob(selected.filter(allows), { workload: readObject, record: syncRecord, placement });
  const targets = placement === undefined || isDeleting ? (syncRecord === undefined ? [] : undefined) : desiredClusters;
  const copies = copyViews({ syncRecord, targets: isDeleting ? [] : targets, registrations });
  const readiness = readinessOf(input, copies);
  // A workload without target clusters is counted by its remaining copies.
  const counted = copies.some(({ isTarget }) => isTarget) ? copies.filter(({ isTarget }) => isTarget) : copies;
  const excluded = (selected ?? []).filter((name) => !allows(name));
  return {
    readiness,
    status: readiness.isReady ? "Ready" : (mostUrgentState(copies) ?? readiness.reason),
    copies,
    desired: sum(counted.map(({ desired }) => desired)),
    // What a stale copy reported last may no longer be true.
    ready: sum(counted.map(({ ready, state }) => (state === "Stale" && ready !== undefined ? 0 : ready))),
    uncounted: counted.filter(({ state }) => state === "Stale"),
    missing: [...new Set(copies.filter(({ reason }) => reason === "ReferenceMissing").map(({ message }) => message))],
    controls: [
      ...(syncBlocker?.reason === "SyncDisabled"
        ? ["sync is disabled"]
        : syncBlocker?.reason === "SyncPaused"
          ? ["sync is paused"]
          : []),
      ...(excluded.length === 0 ? [] : [`excluded from ${excluded.join(", ")}`]),
    ],
    conditions: syncRecord?.status?.conditions ?? [],
  };
}

/** Decides as `kubectl rollout status` does: whether the latest generation is written and ready. */
function readinessOf(
  { workload, syncRecord, placement }: WorkloadInput,
  copies: readonly CopyView[],
): WorkloadReadiness {
  const notReady = (reason: string, message: string): WorkloadReadiness => ({ isReady: false, reason, message });
  const readyCondition = findCondition(syncRecord?.status?.conditions, "Ready");
  if (workload === undefined) {
    return notReady(
      readyCondition?.reason ?? "WorkloadVanished",
      readyCondition?.message ?? "the workload does not exist in the workspace",
    );
  }
  const { deletionTimestamp, generation, uid } = workload === "notRead" ? {} : workload.metadata;
  const remaining = copies.map(({ targetCluster }) => targetCluster).join(", ");
  if (deletionTimestamp !== undefined) {
    return notReady(
      "Deleting",
      remaining === "" ? "it is being deleted" : `it is being deleted; still on ${remaining}`,
    );
  }
  if (syncRecord === undefined) {
    if (placement === undefined) return notReady("NotPlaced", "no placement selects it");
    return notReady(
      "NotReconciled",
      `placement ${placement.metadata.name} selects it, but no controller has reconciled it yet`,
    );
  }
  const recorded = syncRecord.spec.workload.uid;
  if (uid !== undefined && recorded !== undefined && recorded !== uid) {
    return notReady("NotReconciled", "the sync record belongs to an earlier workload of the same name");
  }
  const { observedGeneration } = syncRecord.status ?? {};
  if (readyCondition === undefined) return notReady("NotReconciled", "no controller has written it to a cluster yet");
  if (generation !== undefined && (observedGeneration ?? 0) < generation) {
    return notReady(
      "NotReconciled",
      `generation ${generation} has not been reconciled yet; the last one is ${observedGeneration ?? "none"}`,
    );
  }
  if (readyCondition.reason === "NotPlaced") {
    const where = copies.length === 0 ? "" : `; ${readyCondition.message}`;
    return notReady("NotPlaced", `no placement selects it${where}`);
  }
  if (readyCondition.status !== "True") return notReady(readyCondition.reason, readyCondition.message);
  const stale = copies.filter(({ isTarget, state }) => isTarget && state === "Stale");
  if (stale.length > 0) {
    return notReady(
      "ClusterNotReady",
      `clusters that are not Ready: ${stale.map(({ targetCluster }) => targetCluster).join(", ")}`,
    );
  }
  return { isReady: true, reason: readyCondition.reason, message: readyCondition.message };
}

/** The most urgent state first. */
const statesByUrgency: readonly CopyState[] = ["Failed", "Held", "Stale", "Paused", "Pending", "Applied", "Evicting"];

function mostUrgentState(copies: readonly CopyView[]): CopyState | undefined {
  return statesByUrgency.find((state) => copies.some((copy) => copy.state === state));
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}
