import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { findCondition } from "../model/condition.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import { done, earliestNext, type Next, requeueAfter } from "../model/work-item.ts";
import { decidePlacement, type PlacementPlan } from "./decide.ts";
import type { PlacementStatus } from "./explain.ts";
import type { ClusterUsage, ObservedPlacement } from "./observed.ts";
import { withPlacedWorkloads } from "./placed-workloads.ts";
import type { ReadyReason } from "./reasons.ts";
import { areEvictionsHeld, evictionsHeldEvent, invalidAnnotationEvent, withSelectionCondition } from "./status.ts";

/** Everything that the placement reconciler reads and writes; tests replace it with an in-memory world. */
export interface PlacementWorld {
  /** Reads the placement and the clusters of its logical cluster, without the load; undefined if the placement is gone. */
  observe(key: ObjectKey, signal: AbortSignal): Promise<ObservedPlacement | undefined>;
  /**
   * Calls `decide` with the current load and counts its selection at once, before the status is written, so that
   * placements that are decided concurrently are distributed evenly too.
   */
  decideWithLoad(
    key: ObjectKey,
    observed: WorkloadPlacement,
    decide: (usage: ClusterUsage) => PlacementPlan,
    signal: AbortSignal,
  ): Promise<PlacementPlan>;
  /** Returns the written object. Throws the fault "conflict" if the placement has changed since it was observed. */
  writeStatus(
    key: ObjectKey,
    observed: WorkloadPlacement,
    status: PlacementStatus,
    signal: AbortSignal,
  ): Promise<WorkloadPlacement>;
  /** Called after a reconcile that holds evictions because of a suspected mass failure. */
  onEvictionsHeld?: (() => void) | undefined;
  /** Records an Event on the placement. */
  recordEvent?: ((key: ObjectKey, placement: WorkloadPlacement, event: ObjectEvent) => void) | undefined;
  /** Undefined if this installation does not sync workloads. */
  readonly workloads?: SelectedWorkloads | undefined;
}

/** The workloads that placements select. */
export interface SelectedWorkloads {
  /**
   * Hash of everything in a placement that workloads depend on; it is compared with `status.notifiedHash`. Undefined if
   * the placement selects no workloads and never did.
   */
  notificationHash(placement: WorkloadPlacement, status: PlacementStatus): string | undefined;
  /** The workloads that a placement selects or has placed; the latter only if the placement is gone (undefined). */
  affected(key: ObjectKey, placement: WorkloadPlacement | undefined, signal: AbortSignal): Promise<readonly WorkKey[]>;
  enqueue(keys: readonly WorkKey[]): Promise<void>;
  /** The sync records of the workloads that a placement governs. */
  syncRecords(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
}

/** Creates the reconcile function for placements: it selects clusters, writes the status and notifies workloads. */
export const placementReconciler =
  (world: PlacementWorld) =>
  async (key: ObjectKey, signal: AbortSignal): Promise<Next> => {
    const observed = await world.observe(key, signal);
    if (observed === undefined) {
      const placed = (await world.workloads?.affected(key, undefined, signal)) ?? [];
      if (placed.length > 0) await world.workloads?.enqueue(placed);
      return done;
    }

    // The load requires a list of all placements, and most reconciles do not need it: decide without it first.
    const withoutLoad = decidePlacement(observed);
    const plan = withoutLoad.dependsOnLoad
      ? await world.decideWithLoad(
          key,
          observed.placement,
          (usage) => decidePlacement({ ...observed, ...usage }),
          signal,
        )
      : withoutLoad;
    const notification = await workloadsToNotify(
      world,
      { key, placement: observed.placement, status: plan.status },
      signal,
    );
    const { status, requeueSeconds } = await withWorkloadStates(
      world,
      { key, observed, status: plan.status, notification },
      signal,
    );
    await report(world, { key, placement: observed.placement, status, notification }, signal);
    if (areEvictionsHeld(status)) world.onEvictionsHeld?.();
    const before = observed.placement.status ?? {};
    for (const event of [evictionsHeldEvent(before, status), invalidAnnotationEvent(before, status)]) {
      if (event !== undefined) world.recordEvent?.(key, observed.placement, event);
    }
    return requeueSeconds === undefined ? plan.next : earliestNext(plan.next, requeueAfter(requeueSeconds));
  };

/** What the workloads of a placement have to be notified of. */
type Notification = Readonly<{
  /** Undefined if the workloads are notified already. */
  hash: string | undefined;
  hasAffected: boolean;
}>;

type StatusReport = Readonly<{ key: ObjectKey; placement: WorkloadPlacement; status: PlacementStatus }>;

async function workloadsToNotify(
  { workloads }: PlacementWorld,
  { key, placement, status }: StatusReport,
  signal: AbortSignal,
): Promise<Notification> {
  const hash = workloads?.notificationHash(placement, status);
  if (workloads === undefined || hash === undefined || hash === placement.status?.notifiedHash)
    return { hash: undefined, hasAffected: false };
  return { hash, hasAffected: (await workloads.affected(key, placement, signal)).length > 0 };
}

type WorkloadStates = Readonly<{
  key: ObjectKey;
  observed: ObservedPlacement;
  status: PlacementStatus;
  notification: Notification;
}>;

/** By then a workload that was notified has its sync record. */
const selectionRecheckSeconds = 30;

/** Adds the states of the placed workloads to the status, or that there are none. */
async function withWorkloadStates(
  { workloads }: PlacementWorld,
  { key, observed, status, notification }: WorkloadStates,
  signal: AbortSignal,
): Promise<ReturnType<typeof withPlacedWorkloads>> {
  const { placement, nowMs } = observed;
  if (workloads === undefined || placement.metadata.deletionTimestamp !== undefined) return { status };
  const before = placement.status ?? {};
  const selectsNone = placement.spec.workloadSelector === undefined && before.placedWorkloads === undefined;
  const syncRecords = selectsNone ? [] : await workloads.syncRecords(key, signal);
  // A workload that is notified now gets its sync record after that.
  const governsNone = syncRecords.length === 0 && !notification.hasAffected && !hasInvalidSelector(status);
  const decided = withSelectionCondition(placement, status, { governsNone, nowMs });
  if (selectsNone) return { status: decided };
  const placed = withPlacedWorkloads({ before, status: decided, syncRecords, nowMs });
  // Another placement may govern what is notified now; then no sync record enqueues this one.
  const isUnsure = syncRecords.length === 0 && notification.hasAffected;
  return isUnsure ? { requeueSeconds: selectionRecheckSeconds, ...placed } : placed;
}

/** What an invalid selector would select is unknown. */
function hasInvalidSelector({ conditions }: PlacementStatus): boolean {
  return findCondition(conditions, "Ready")?.reason === ("InvalidSelector" satisfies ReadyReason);
}

/**
 * Writes the status and enqueues the workloads that it affects. They are enqueued after the status is written, so that
 * they read it, and before `notifiedHash` is written: a crash in between enqueues them again. If no workload is affected,
 * one write does both.
 */
async function report(
  world: PlacementWorld,
  {
    key,
    placement,
    status,
    notification: { hash, hasAffected },
  }: StatusReport & Readonly<{ notification: Notification }>,
  signal: AbortSignal,
): Promise<void> {
  const { workloads } = world;
  const mustNotify = hash !== undefined && workloads !== undefined;
  const desired = withNotifiedHash(status, mustNotify && !hasAffected ? hash : placement.status?.notifiedHash);
  // Write only if the status differs: every write triggers the watchers, including our own.
  const isWriteNeeded = !isDeepStrictEqual(desired, placement.status ?? {});
  const current = isWriteNeeded ? await world.writeStatus(key, placement, desired, signal) : placement;
  if (!mustNotify) return;
  // List again: a workload that was created meanwhile may have read the status before this write.
  const keys = await workloads.affected(key, current, signal);
  if (keys.length > 0) await workloads.enqueue(keys);
  if (hasAffected) await world.writeStatus(key, current, withNotifiedHash(status, hash), signal);
}

function withNotifiedHash(status: PlacementStatus, notifiedHash: string | undefined): PlacementStatus {
  return notifiedHash === undefined ? status : { ...status, notifiedHash };
}
