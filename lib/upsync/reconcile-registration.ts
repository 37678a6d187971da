import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { isTransientFault } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { WorkItem } from "../model/work-item.ts";
import { done, type Next, requeueAfter } from "../model/work-item.ts";
import { countHeldDeletions, decideUpsyncConditions, hasReason, upsyncConditions } from "./conditions.ts";
import { isRetryDue, rejectionsIn, withHeldDeletions, withoutExpired } from "./deletion-log.ts";
import { type Inventory, type OptedInRegistration, readInventory } from "./inventory.ts";
import { isReady, type OptInBlocker, optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** Reconciles the upsync of one registration, under its key and after its health. */
export type ReconcileUpsync = (item: WorkItem<ObjectKey>, signal: AbortSignal) => Promise<Next>;

/**
 * Creates the reconciler that subscribes to clusters and writes the upsync conditions of their registrations. Each run
 * enqueues every object that is missing upstream or downstream, so that missed events are repaired.
 *
 * Where clusters are watched, it runs with every heartbeat. Where clusters have to be listed, it does not: an idle cluster
 * then costs one probe per heartbeat and no list. Such a cluster is listed when its registration or its health changes, and
 * with every resync.
 */
export function upsyncRegistrationReconciler(tools: UpsyncTools): ReconcileUpsync {
  const { hub, source, workloads, settings, clock, isListed, enqueue } = tools;
  const unsubscribe = async (key: ObjectKey, signal: AbortSignal): Promise<void> => {
    if (!source.isWatching) return;
    const cached = [...((await source.listUids(key, [], signal))?.keys() ?? [])];
    source.unsubscribe(key);
    // The state of these objects is unknown from now on, and their status upstream must say so.
    await enqueue(cached.map((name) => workloadKeyOf(key, name)));
  };
  return async ({ key, reason }, signal) => {
    if (reason === "heartbeat" && !source.isWatching) return done;
    const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    if (registration === undefined || registration.metadata.deletionTimestamp !== undefined) {
      await unsubscribe(key, signal);
      return done;
    }
    const isRequested = (registration.spec.upsync ?? []).length > 0;
    const conditionsBefore = registration.status?.conditions ?? [];
    const wasRequested = conditionsBefore.some(({ type }) => upsyncConditions.some((each) => each === type));
    if (!isRequested && !wasRequested) {
      await unsubscribe(key, signal);
      return done;
    }
    if (!isListed(key.logicalCluster)) return requeueAfter(settings.retrySeconds);
    const { optIns, blockers } = optInsOf(registration, workloads.types);
    if (isReady(registration) && optIns.length > 0) source.subscribe(key, optIns);
    else await unsubscribe(key, signal);
    const { inventory, blocker, isRetried } = await tryReadInventory(tools, { key, registration, optIns }, signal);
    const nowMs = clock.now();
    const statusBefore = registration.status ?? {};
    const present = inventory && new Set(inventory.present);
    const pruned = withoutExpired(statusBefore, (name) => present === undefined || present.has(name), nowMs);
    // Without an inventory the number stays unchanged, as the UpsyncHeld condition does.
    const status = inventory === undefined ? pruned : withHeldDeletions(pruned, countHeldDeletions(inventory));
    const conditions = decideUpsyncConditions({
      before: conditionsBefore,
      isRequested,
      blockers: blocker === undefined ? blockers : [...blockers, blocker],
      inventory,
      rejected: rejectionsIn(status),
      now: formatTimestamp(nowMs),
    });
    if (conditions !== conditionsBefore || status !== statusBefore) {
      await hub.writeStatus(key, registration, { ...status, conditions }, signal);
    }
    if (inventory === undefined) return isRetried ? requeueAfter(settings.retrySeconds) : done;
    const { missingUpstream, missingDownstream, heldMessage } = inventory;
    const retry = { nowMs, afterSeconds: settings.rejectedRetrySeconds };
    const names = [...missingUpstream, ...(heldMessage === undefined ? missingDownstream : [])].filter((name) =>
      isRetryDue(registration.status, name, retry),
    );
    // After the status write: a reconcile that deletes one of them reads there that it need not enqueue this registration.
    await enqueue(names.map((name) => workloadKeyOf(key, name)));
    // Confirmed deletions do not enqueue this registration one by one: it requeues itself until they are complete.
    const isDeleting = hasReason(conditions, "DeletionsConfirmed");
    return isDeleting ? requeueAfter(confirmedRequeueSeconds(missingDownstream.length)) : done;
  };
}

/** About ten objects are deleted per second. The minimum keeps few deletions fast, the maximum limits lists for many. */
function confirmedRequeueSeconds(remaining: number): number {
  return Math.min(30, Math.max(2, Math.ceil(remaining / 10)));
}

type InventoryResult = Readonly<{
  /** Undefined when not all objects of the cluster are known. */
  inventory: Inventory | undefined;
  /** Why the cluster does not list its objects. */
  blocker?: OptInBlocker | undefined;
  /** Whether to retry soon. */
  isRetried: boolean;
}>;

async function tryReadInventory(
  tools: UpsyncTools,
  optedIn: OptedInRegistration,
  signal: AbortSignal,
): Promise<InventoryResult> {
  if (optedIn.optIns.length === 0) return { inventory: emptyInventory, isRetried: false };
  // A cluster that is not Ready is not read. The registration is enqueued when it becomes Ready.
  if (!isReady(optedIn.registration)) return { inventory: undefined, isRetried: false };
  try {
    const inventory = await readInventory(tools, optedIn, signal);
    // Undefined: the first list of a watch is still running.
    return { inventory, isRetried: inventory === undefined };
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    if (isTransientFault(fault)) return { inventory: undefined, isRetried: true };
    const message = oneLine(error instanceof Error ? error.message : fault);
    return { inventory: undefined, blocker: { reason: "ListForbidden", message }, isRetried: false };
  }
}

const workloadKeyOf = ({ logicalCluster }: ObjectKey, name: string): WorkKey => ({
  logicalCluster,
  kind: "Workload",
  name,
});

/** The inventory of a cluster without opt-ins. */
const emptyInventory: Inventory = {
  present: [],
  nameTaken: [],
  namespaceMissing: [],
  missingUpstream: [],
  missingDownstream: [],
  copyCounts: new Map(),
  heldMessage: undefined,
  isConfirmed: false,
};
