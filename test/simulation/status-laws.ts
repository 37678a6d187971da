import type { StorageChange } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { maxDownMs } from "../../lib/downstream/copy-informer.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { upsyncOriginAnnotation, upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import type { Cause } from "./cause.ts";
import type { ViewAddress } from "./process-view.ts";
import { workloadOf } from "./request-laws.ts";
import { createWorkloadView, readyReplicasOf, type ViewedObject, type WorkloadView } from "./workload-view.ts";

/** Judges what controllers write about copies by what the clusters have told them. */
export interface StatusLaws {
  /** A controller has written a sync record. */
  record(change: StorageChange, cause: Cause): void;
  /** A controller has written a workload. */
  workload(change: StorageChange, cause: Cause): void;
}

type CopyEntry = NonNullable<NonNullable<WorkloadSync["status"]>["clusters"]>[number];

/** These say how a copy is; any other state keeps what was read before. */
const observedStates: ReadonlySet<CopyEntry["state"]> = new Set(["Ready", "Applied"]);

/** Creates the laws of what is said of copies. */
export function createStatusLaws(broken: (law: number, message: string) => void): StatusLaws {
  const viewOf = (
    { key }: StorageChange,
    { process, work }: Cause,
  ): Readonly<{ view: WorkloadView; own: ViewedObject }> | undefined => {
    const own = work && workloadOf(work);
    if (work === undefined || own === undefined || own.namespace !== key.namespace) return undefined;
    return { view: createWorkloadView(process.view, work, key.logicalCluster), own };
  };
  return {
    record: (change, cause) => {
      const found = viewOf(change, cause);
      if (found === undefined || change.type !== "MODIFIED") return;
      const { view, own } = found;
      // The server holds both to the kind's schema.
      const [now, before] = [
        change.object as unknown as WorkloadSync,
        change.previous as unknown as WorkloadSync | undefined,
      ];
      if (now.spec.workload.kind !== own.kind || now.spec.workload.name !== own.name) return;
      const what = `${view.tenant}/${own.kind}/${own.namespace}/${own.name}`;
      for (const name of before?.spec.clusters ?? []) {
        if (now.spec.clusters?.includes(name) === true) continue;
        const why = whyNotDropped(view, own, name);
        if (why !== undefined) broken(3, `${what}: the record does not name ${name} any more, but ${why}`);
      }
      const known = new Map(before?.status?.clusters?.map((each) => [each.name, each]));
      for (const entry of now.status?.clusters ?? []) {
        const previous = known.get(entry.name);
        const isSame = previous?.state === entry.state && previous.readyReplicas === entry.readyReplicas;
        if (isSame) continue;
        const whys = addressesOf(view, own, entry.name).map((address) => whyNotSaid(view, address, { own, entry }));
        if (whys.includes(undefined)) continue;
        broken(5, `${what}: the record says ${textOf(entry)}, but ${[...new Set(whys)].join(", and ")}`);
      }
    },
    workload: (change, cause) => {
      const found = viewOf(change, cause);
      const { object, previous } = change;
      const isUpsynced = object.metadata.annotations?.[upsyncOriginAnnotation] !== undefined;
      const isStatus = JSON.stringify(object.status) !== JSON.stringify(previous?.status);
      if (found === undefined || object.kind !== "Deployment" || isUpsynced || !isStatus) return;
      const { view, own } = found;
      if (own.kind !== object.kind || own.name !== object.metadata.name) return;
      const sums = sumsOf(view, own);
      const ready = readyReplicasOf(object);
      if (!sums.has(ready)) {
        broken(
          5,
          `${view.tenant}/Deployment/${own.namespace}/${own.name}: ${ready} replicas are said to be ready; what clusters told this run adds up to ${[...sums].join(" or ")}`,
        );
      }
    },
  };
}

/** Why a record must go on naming a cluster; undefined if the cluster said that it has no copy, or is not registered. */
function whyNotDropped(view: WorkloadView, own: ViewedObject, name: string): string | undefined {
  if (view.registration(name).includes(undefined)) return undefined;
  const said = [...view.copySince(own, name, "read"), ...view.copySince(own, name, "write")];
  const isWithout = said.some(({ object }) => object === undefined || !view.isOwn(object, name));
  return isWithout ? undefined : "the cluster has not said in this run that it has no copy";
}

/** Why an entry of a record is not what a cluster has told; undefined if it is. */
function whyNotSaid(
  view: WorkloadView,
  address: ViewAddress,
  { own, entry }: Readonly<{ own: ViewedObject; entry: CopyEntry }>,
): string | undefined {
  const { state, readyReplicas, desiredReplicas } = entry;
  if (state === "Stale") return readyReplicas === undefined ? undefined : "a cluster that is not read has no count";
  if (!observedStates.has(state)) return undefined;
  const told = toldBy(view, address);
  if (told.length === 0) return "the cluster has not told of its copy";
  if (!isRecent(view, address)) return "the process has not heard of the copy for too long";
  const counts = told.map(readyReplicasOf);
  if (readyReplicas !== undefined && !counts.includes(readyReplicas)) return `the cluster told ${counts.join(", ")}`;
  const isReady = state !== "Ready" || desiredReplicas === undefined || own.kind !== "Deployment";
  return isReady || (readyReplicas ?? 0) >= desiredReplicas ? undefined : "not all replicas are ready";
}

/**
 * Where the copy of a workload is on a cluster; for a mirrored workload and its cluster, where the original is. Both where the
 * run may go by versions of either sort: a user has replaced the mirror, or a registration begins to mirror the workload.
 */
function addressesOf(view: WorkloadView, own: ViewedObject, name: string): readonly ViewAddress[] {
  const copy = view.copyAddress(own, name);
  const versions = view.workload(own);
  const isMirror = (each: KubeObject | undefined): boolean =>
    each !== undefined && upsyncOriginOf(each, view.tenant)?.registration === name;
  const mayBeMirror = versions.some(isMirror);
  const mayBeOwn = versions.length === 0 || !versions.every(isMirror);
  return [...(mayBeOwn ? [copy] : []), ...(mayBeMirror ? [{ ...copy, namespace: own.namespace }] : [])];
}

/** What a run was told of a copy that exists. */
function toldBy({ view, run }: WorkloadView, address: ViewAddress): readonly KubeObject[] {
  return view.versions(run.began, address).flatMap(({ object }) => (object === undefined ? [] : [object]));
}

/** Whether the process had an open watch of the copy when the run began, or had read it shortly before, or has since. */
function isRecent({ view, run }: WorkloadView, address: ViewAddress): boolean {
  return view.heardMs(address) >= run.began.startMs - maxDownMs;
}

/** What the ready replicas of a workload may be: the sum over any of the clusters that the process hears from. */
function sumsOf(view: WorkloadView, own: ViewedObject): ReadonlySet<number> {
  let sums = new Set([0]);
  const names = new Set(view.registrations().flatMap((all) => all.map((each) => each?.metadata.name ?? "")));
  for (const name of names) {
    const address = view.copyAddress(own, name);
    if (!view.registration(name).some(isReady) || !isRecent(view, address)) continue;
    const counts = new Set(toldBy(view, address).map(readyReplicasOf));
    sums = new Set([...sums].flatMap((sum) => [sum, ...[...counts].map((count) => sum + count)]));
  }
  return sums;
}

function isReady(registration: ClusterRegistration | undefined): boolean {
  return findCondition(registration?.status?.conditions, "Ready")?.status === "True";
}

const textOf = ({ name, state, readyReplicas }: CopyEntry): string => `${name} ${state} ${readyReplicas ?? ""}`.trim();
