import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { Hub } from "../../model/hub.ts";
import { withClusterTimeout } from "../cluster-timeout.ts";
import { controlsOf } from "../control-annotations.ts";
import { copyAddress, type Observed, readCopy, registrationKey, type SyncTools } from "../observed.ts";
import { recordName } from "../ownership/record.ts";
import { copyHealth } from "../status/health.ts";
import type { Copy, CopyRecord, DownstreamState, TargetCluster } from "../sync-objects.ts";
import type { CopyOutcome } from "../targets/apply.ts";
import { type Blocker, decideEviction, type EvictionAction } from "../targets/decide.ts";
import { targetClusterOf } from "../targets/target-cluster.ts";
import { createDeletionGuard, type DeletionGuard, type EvictedCopy, holdId, isIntended } from "./deletion-guard.ts";
import { readRemainingClusters } from "./remaining-clusters.ts";
import { replacementCheck } from "./replacement.ts";
import { claimsOf, volumeMessage } from "./volumes.ts";

/** The copies that should go and still exist, and the names of the clusters that have none any more. */
export type Evictions = Readonly<{ kept: readonly CopyOutcome[]; evicted: readonly string[] }>;

/** Deletes or releases the copies on clusters that should have none, where that is allowed. */
export async function evictCopies(
  tools: SyncTools,
  {
    observed,
    downstreamStates,
    targets,
  }: Readonly<{
    observed: Observed;
    downstreamStates: ReadonlyMap<string, DownstreamState>;
    targets: ReadonlyMap<string, CopyOutcome>;
  }>,
  signal: AbortSignal,
): Promise<Evictions> {
  const { key, record, previousCopies, targetClusters, intent, controls, retainedClaims } = observed;
  const names = intent.clusters.filter((name) => !intent.targets.includes(name));
  if (names.length === 0) return { kept: [], evicted: [] };
  const previousByName = new Map(previousCopies.map((entry) => [entry.name, entry]));
  const replacement = replacementCheck(tools, { observed, targets });
  const deletionGuard = await loadDeletionGuard(tools, observed, signal);
  const confirmedHolds = new Set([...controls.confirmedHolds, ...controlsOf(record).confirmedHolds]);
  const readHold = holdReader(tools, observed);
  const kept: CopyOutcome[] = [];
  const evicted: string[] = [];
  await allSettledOrThrow(
    names.map(async (name) => {
      const previous = previousByName.get(name);
      const downstreamState = downstreamStates.get(name) ?? {
        kind: "unknown" as const,
        message: "the copy was not read",
      };
      const targetCluster =
        targetClusters.get(name) ?? (await confirmRegistration(tools.hub, key.logicalCluster, name, signal));
      const isConfirmed = confirmedHolds.has(holdId(record, name) ?? "");
      const copy = { name, targetCluster, previous, placement: intent.placement };
      const decided = decideEviction({
        targetCluster,
        downstreamState,
        intent: intent.kind,
        hasTargets: intent.targets.length > 0,
        isReplaced: replacement.isReplaced,
        deletionPolicy: record?.spec.deletionPolicy ?? "Delete",
        syncBlocker: controls.syncBlocker,
        isClaim: observed.type.kind === "PersistentVolumeClaim",
        volumeMessage: retainedClaims.length === 0 ? undefined : volumeMessage(retainedClaims),
        holdMessage: holdMessage(deletionGuard, { ...copy, recordedPlacement: record?.spec.placement }),
        isConfirmed,
        confirmCommand: confirmCommandFor(observed),
      });
      const isEvicting = decided.action === "remove" || decided.action === "release";
      const lost = isEvicting && intent.kind === "placed" ? await replacement.confirm(signal) : undefined;
      const mayBeHeld =
        isEvicting && lost === undefined && intent.kind !== "deleted" && !isConfirmed && !isIntended(copy);
      const held = mayBeHeld ? await readHold(name, signal) : undefined;
      const action = held === undefined ? withBlocker(decided, lost) : keepHeld(held);
      const eviction = { observed, name, decided: action, previous: held ?? previous, downstreamState };
      const outcome = await evictCopy(tools, eviction, signal);
      if (outcome === undefined) evicted.push(name);
      // The clusters contradict their own watch, which may deliver the change late or never: requeue.
      else kept.push(lost === undefined ? outcome : { ...outcome, requeueSeconds: tools.settings.retrySeconds });
    }),
  );
  return { kept, evicted };
}

/** The type is written as `tmc` parses it for every type, custom ones too. */
function confirmCommandFor({ type, address: { namespace, name } }: Observed): string {
  const { plural, version, group } = type.type;
  return `tmc confirm ${group === "" ? plural : `${plural}.${version}.${group}`}/${name} -n ${namespace}`;
}

/** Why a copy must not be deleted now. A held deletion stays held, however few are left after others were confirmed. */
function holdMessage(
  deletionGuard: DeletionGuard,
  copy: EvictedCopy & Readonly<{ previous: CopyRecord | undefined; recordedPlacement: string | undefined }>,
): string | undefined {
  const { name, previous, recordedPlacement } = copy;
  if (isIntended(copy)) return undefined;
  return isHeldByGuard(previous) ? previous.message : deletionGuard(name, recordedPlacement);
}

/**
 * Reads the sync record from the server right before a deletion, and returns the entry of a copy that is held there: another
 * controller may have held it since this reconcile read the record. The record is read once, however many copies are evicted.
 */
function holdReader(
  { workloads }: SyncTools,
  { key, address, record, controls }: Observed,
): (name: string, signal: AbortSignal) => Promise<CopyRecord | undefined> {
  const recordAddress = {
    logicalCluster: key.logicalCluster,
    namespace: address.namespace,
    name: recordName(address),
  };
  let reading: Promise<WorkloadSync | undefined> | undefined;
  return async (name, signal) => {
    reading ??= workloads.readRecordUncached(recordAddress, signal);
    const current = await reading;
    if (current?.metadata.uid !== record?.metadata.uid)
      throw new ControllerError("conflict", `the sync record ${recordAddress.name} was replaced or deleted upstream`);
    const entry = current?.status?.clusters?.find((each) => each.name === name);
    if (!isHeldByGuard(entry)) return undefined;
    const hold = holdId(current, name) ?? "";
    return controls.confirmedHolds.has(hold) || controlsOf(current).confirmedHolds.has(hold) ? undefined : entry;
  };
}

function isHeldByGuard(entry: CopyRecord | undefined): entry is CopyRecord {
  return entry?.state === "Held" && entry.reason === "DeletionsHeld";
}

const keepHeld = ({ message = "" }: CopyRecord): EvictionAction => ({
  action: "keep",
  state: "Held",
  blocker: { reason: "DeletionsHeld", message },
});

const withBlocker = (decided: EvictionAction, blocker: Blocker | undefined): EvictionAction =>
  blocker === undefined ? decided : { action: "keep", state: "Evicting", blocker };

/** How many replicas of a copy that stays are ready, as it was read: the number of an earlier reconcile may be wrong by now. */
function readCounts(
  { type: { apiVersion, kind }, workload }: Observed,
  copy: Copy | undefined,
): Pick<CopyRecord, "readyReplicas"> {
  if (copy === undefined) return {};
  const { status, generation } = copy;
  const { readyReplicas } = copyHealth({ apiVersion, kind, spec: workload?.spec, status, generation });
  return readyReplicas === undefined ? {} : { readyReplicas };
}

/** The state of a copy that stays, with the counts that were read. */
function stateOfKept(counts: Pick<CopyRecord, "readyReplicas">, previous: CopyRecord | undefined): "Ready" | "Applied" {
  const { readyReplicas = 0 } = { ...previous, ...counts };
  return previous?.state === "Ready" && readyReplicas >= (previous.desiredReplicas ?? 0) ? "Ready" : "Applied";
}

/** Reads a registration that is missing in the list from the server: a list may lack it for a moment. */
async function confirmRegistration(
  hub: Hub,
  logicalCluster: string,
  name: string,
  signal: AbortSignal,
): Promise<TargetCluster | undefined> {
  const key = registrationKey(logicalCluster, name);
  const registration = await hub.confirm<ClusterRegistration & KubeObject>(key, signal);
  return registration === undefined ? undefined : targetClusterOf(registration);
}

type Eviction = Readonly<{
  observed: Observed;
  name: string;
  decided: EvictionAction;
  previous: CopyRecord | undefined;
  downstreamState: DownstreamState;
}>;

/** Performs the decided action; undefined when the record need not name the cluster any more. */
async function evictCopy(
  tools: SyncTools,
  { observed, name, decided, previous, downstreamState }: Eviction,
  signal: AbortSignal,
): Promise<CopyOutcome | undefined> {
  const { downstream, onCopyAction, settings } = tools;
  const { key } = observed;
  const copy = downstreamState.kind === "there" ? downstreamState.copy : undefined;
  const carriedOver: CopyRecord = { ...previous, name, state: previous?.state ?? "Evicting" };
  if (decided.action === "forget") return undefined;
  if (decided.action === "keep") {
    const { state, blocker } = decided;
    if (state === "Held" && previous?.state !== "Held") onCopyAction?.({ key, targetCluster: name, action: "held" });
    const counts = state === undefined ? readCounts(observed, copy) : {};
    const record: CopyRecord = { ...carriedOver, ...counts, ...blocker, state: state ?? stateOfKept(counts, previous) };
    const isUnread = blocker.reason === "ClusterNotReady" && observed.targetClusters.get(name)?.isReady === true;
    return {
      record,
      copy,
      isCurrent: false,
      requeueSeconds: blocker.reason === "Terminating" || isUnread ? settings.retrySeconds : undefined,
    };
  }
  const address = copyAddress(observed, name);
  try {
    await withClusterTimeout(tools, name, signal, (clusterSignal) =>
      decided.action === "remove"
        ? downstream.remove(address, decided.uid, clusterSignal)
        : downstream.release(address, decided.uid, clusterSignal),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    const message = oneLine(error instanceof Error ? error.message : "the copy cannot be removed");
    // A confirmed deletion stays confirmed until it is done.
    const state = previous?.state === "Held" ? "Held" : "Evicting";
    const record: CopyRecord = { ...carriedOver, state, reason: "Rejected", message };
    return { record, copy, isCurrent: false, requeueSeconds: settings.retrySeconds };
  }
  onCopyAction?.({ key, targetCluster: name, action: decided.action === "remove" ? "removed" : "released" });
  reportLeftVolumes(tools, { observed, name, action: decided.action });
  if (decided.action === "release") return undefined;
  // The copy is gone only when the cluster reports so: finalizers there may keep it.
  const record: CopyRecord = {
    ...carriedOver,
    state: "Evicting",
    reason: "Terminating",
    message: "the cluster is deleting the copy",
  };
  const after = await readCopy(tools, observed, name, signal);
  if (after.kind === "absent" || after.kind === "foreign") return undefined;
  return { record, copy: undefined, isCurrent: false, requeueSeconds: settings.retrySeconds };
}

/** Records an Event about the claims that a workload leaves on a cluster: those that it used, or itself. */
function reportLeftVolumes(
  { workloads }: SyncTools,
  { observed, name, action }: Readonly<{ observed: Observed; name: string; action: "remove" | "release" }>,
): void {
  const { key, workload, intent, type } = observed;
  const isLeft = type.kind === "PersistentVolumeClaim" ? action === "release" : action === "remove";
  const claims = workload === undefined ? [] : claimsOf(workload).map((claim) => claim.name);
  if (workload === undefined || !isLeft || claims.length === 0 || intent.kind === "deleted") return;
  const message = `${name}: the workload has left; PersistentVolumeClaims stay there with their data: ${claims.join(", ")}`;
  workloads.recordEvent(key, workload, { type: "Warning", reason: "VolumeLeftBehind", message });
}

async function loadDeletionGuard(
  { workloads, settings }: SyncTools,
  { key, intent, placements, targetClusters }: Observed,
  signal: AbortSignal,
): Promise<DeletionGuard> {
  if (intent.kind === "deleted") return () => undefined;
  const { logicalCluster } = key;
  const records = await workloads.listRecords(logicalCluster, signal);
  const remainingClusters = await readRemainingClusters(workloads, { logicalCluster, records, placements }, signal);
  return createDeletionGuard({
    records,
    remainingClusters,
    placements: new Map(placements.map((placement) => [placement.metadata.name ?? "", placement])),
    targetClusters,
    settings: settings.deletionGuard,
  });
}
