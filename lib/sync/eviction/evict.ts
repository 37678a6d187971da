import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { Hub } from "../../model/hub.ts";
import { withClusterTimeout } from "../cluster-timeout.ts";
import { controlsOf } from "../control-annotations.ts";
import { copyAddress, type Observed, readCopy, registrationKey, type SyncTools } from "../observed.ts";
import type { CopyRecord, DownstreamState, TargetCluster } from "../sync-objects.ts";
import type { Outcome } from "../targets/apply.ts";
import { decideEviction, type EvictionAction } from "../targets/decide.ts";
import { targetClusterOf } from "../targets/sync-cluster.ts";
import { createDeletionGuard, type DeletionGuard, type EvictedCopy, holdOf, isIntended } from "./deletion-guard.ts";

import { readRemainingClusters } from "./remaining-clusters.ts";
import { replacementCheck } from "./replacement.ts";

/** Copies that are to go and have not, and clusters that are rid of theirs. */
export type Evicted = Readonly<{ kept: readonly Outcome[]; forgotten: readonly string[] }>;

/** Has copies go from clusters that they do not belong on, where that may be. */
export async function evictCopies(
  options: SyncTools,
  {
    scene,
    sightings,
    targets,
  }: Readonly<{
    scene: Observed;
    sightings: ReadonlyMap<string, DownstreamState>;
    targets: ReadonlyMap<string, Outcome>;
  }>,
  signal: AbortSignal,
): Promise<Evicted> {
  const { key, record, known, clusters, intent, controls } = scene;
  const names = intent.clusters.filter((name) => !intent.targets.includes(name));
  if (names.length === 0) return { kept: [], forgotten: [] };
  const before = new Map(known.map((entry) => [entry.name, entry]));
  const replaced = replacementCheck(options, { scene, targets });
  const brake = await brakeOf(options, scene, signal);
  const confirmed = new Set([...controls.confirmed, ...controlsOf(record).confirmed]);
  const kept: Outcome[] = [];
  const forgotten: string[] = [];
  await allSettledOrThrow(
    names.map(async (name) => {
      const known = clusters.get(name);
      const downstreamState = sightings.get(name) ?? { kind: "unknown" as const, why: "it was not looked at" };
      const targetCluster = known ?? (await stillRegistered(options.hub, key.logicalCluster, name, signal));
      const act = decideEviction({
        targetCluster,
        downstreamState,
        intent: intent.kind,
        hasTargets: intent.targets.length > 0,
        isReplaced: replaced.isSeen,
        deletionPolicy: record?.spec.deletionPolicy ?? "Delete",
        stopped: controls.stopped,
        held: heldBy(brake, { name, targetCluster, before: before.get(name), placement: intent.placement }),
        isConfirmed: confirmed.has(holdOf(record, name) ?? ""),
      });
      const isGoing = act.do === "remove" || act.do === "release";
      const lost = isGoing && intent.kind === "wanted" ? await replaced.confirm(signal) : undefined;
      const safe: EvictionAction = lost === undefined ? act : { do: "keep", state: "Evicting", obstacle: lost };
      const outcome = await leave(
        options,
        { scene, name, act: safe, before: before.get(name), sighting: downstreamState },
        signal,
      );
      if (outcome === undefined) forgotten.push(name);
      // What a cluster says against its own watch may reach the watch late, or not at all.
      else kept.push(lost === undefined ? outcome : { ...outcome, againSeconds: options.settings.retrySeconds });
    }),
  );
  return { kept, forgotten };
}

/** Why a copy must not go now. One that is held stays so, however few are left when others were confirmed. */
function heldBy(
  brake: DeletionGuard,
  copy: EvictedCopy & Readonly<{ before: CopyRecord | undefined }>,
): string | undefined {
  const { name, before } = copy;
  if (isIntended(copy)) return undefined;
  return before?.state === "Held" && before.reason === "DeletionsHeld" ? before.message : brake(name);
}

/** A registration that is in no list may only not have been seen. */
async function stillRegistered(
  hub: Hub,
  cluster: string,
  name: string,
  signal: AbortSignal,
): Promise<TargetCluster | undefined> {
  const registration = await hub.confirm<ClusterRegistration & KubeObject>(registrationKey(cluster, name), signal);
  return registration === undefined ? undefined : targetClusterOf(registration);
}

type Leaver = Readonly<{
  scene: Observed;
  name: string;
  act: EvictionAction;
  before: CopyRecord | undefined;
  sighting: DownstreamState;
}>;

/** Does what was decided about a copy that leaves; undefined when the record may forget it. */
async function leave(
  tools: SyncTools,
  { scene, name, act, before, sighting }: Leaver,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { downstream, onCopy, settings } = tools;
  const { key } = scene;
  const copy = sighting.kind === "there" ? sighting.copy : undefined;
  const carried: CopyRecord = { ...before, name, state: before?.state ?? "Evicting" };
  if (act.do === "forget") return undefined;
  if (act.do === "keep") {
    if (act.state === "Held" && before?.state !== "Held") onCopy?.({ key, targetCluster: name, action: "held" });
    const record: CopyRecord = {
      ...carried,
      ...act.obstacle,
      state: act.state ?? (before?.state === "Ready" ? "Ready" : "Applied"),
    };
    const waits = act.obstacle.reason === "ClusterNotReady" && scene.clusters.get(name)?.isReady === true;
    return {
      record,
      copy,
      isCurrent: false,
      againSeconds: act.obstacle.reason === "Terminating" || waits ? settings.retrySeconds : undefined,
    };
  }
  const at = copyAddress(scene, name);
  try {
    await withClusterTimeout(tools, name, signal, (itsSignal) =>
      act.do === "remove" ? downstream.remove(at, act.uid, itsSignal) : downstream.release(at, act.uid, itsSignal),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    const message = oneLine(error instanceof Error ? error.message : "it cannot be removed");
    // What was confirmed stays so until it is done.
    const state = before?.state === "Held" ? "Held" : "Evicting";
    const record: CopyRecord = { ...carried, state, reason: "Rejected", message };
    return { record, copy, isCurrent: false, againSeconds: settings.retrySeconds };
  }
  onCopy?.({ key, targetCluster: name, action: act.do === "remove" ? "removed" : "released" });
  if (act.do === "release") return undefined;
  // Gone only when the cluster says so: finalizers there may keep it.
  const record: CopyRecord = {
    ...carried,
    state: "Evicting",
    reason: "Terminating",
    message: "the cluster is removing it",
  };
  const after = await readCopy(tools, scene, name, signal);
  if (after.kind === "absent" || after.kind === "foreign") return undefined;
  return { record, copy: undefined, isCurrent: false, againSeconds: settings.retrySeconds };
}

async function brakeOf(
  { workloads, settings }: SyncTools,
  { key, intent, placements, clusters }: Observed,
  signal: AbortSignal,
): Promise<DeletionGuard> {
  if (intent.kind === "deleted") return () => undefined;
  const records = await workloads.listRecords(key.logicalCluster, signal);
  const staysOn = await readRemainingClusters(workloads, { cluster: key.logicalCluster, records, placements }, signal);
  const byName = new Map(placements.map((placement) => [placement.metadata.name ?? "", placement]));
  return createDeletionGuard({ records, staysOn, placements: byName, clusters, settings: settings.brake });
}
