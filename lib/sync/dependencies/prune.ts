import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { referenceId } from "../decide.ts";
import { type Observed, registrationKey, type SyncTools } from "../observed.ts";
import { recordName, syncFinalizer } from "../ownership/record.ts";
import type { Outcome } from "../targets/apply.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { removeDependency } from "./distribute.ts";
import { type Reference, referencesOf } from "./references.ts";

/** What there is to clear away. */
type Collection = Readonly<{
  scene: Observed;
  targets: ReadonlyMap<string, Outcome>;
  forgotten: readonly string[];
}>;

/** What the record need not name any more, and the scene with the record as it is by now. */
export type Pruned = Readonly<{
  scene: Observed;
  clusters: readonly string[];
  /** Whether a cluster is still at it, or it is not known yet what others need there: it is looked at again. */
  isUnderWay: boolean;
  references: readonly Pick<Reference, "kind" | "name">[];
}>;

/**
 * Takes away what came along with copies that have gone, and namespaces that nobody uses any more.
 *
 * Where others have copies too, the record first says that its own has gone. Otherwise two that leave at the same moment would
 * each take the other for one that stays, and both would leave behind what they shared.
 */
export async function pruneDependencies(
  tools: SyncTools,
  { scene, targets, forgotten }: Collection,
  signal: AbortSignal,
): Promise<Pruned> {
  const { downstream, workloads } = tools;
  const { key, intent, locator, clusters } = scene;
  const wanted = new Set(intent.references.map(referenceId));
  const dropped = intent.recordedReferences.filter((reference) => !wanted.has(referenceId(reference)));
  const allSettled = [...targets.values()].every(({ isCurrent }) => isCurrent);
  const left = [...new Set([...(scene.record?.spec.pendingCleanup ?? []), ...forgotten])];
  // A cluster that is not heard from is cleared when it is back; one whose registration has gone is left as it is.
  const reached = left.filter((name) => clusters.get(name)?.isReady === true);
  const gone = left.filter((name) => !clusters.has(name));
  const places = [
    ...reached.map((name) => ({ name, references: intent.recordedReferences, isLeft: true })),
    ...(dropped.length > 0 && allSettled
      ? intent.targets.map((name) => ({ name, references: dropped, isLeft: false }))
      : []),
  ].filter(({ name }) => clusters.get(name)?.isReady === true);
  let present = scene;
  const underWay = new Set<string>();
  if (places.length > 0) {
    let others = neighboursIn(await workloads.listRecords(key.logicalCluster, signal), scene);
    if (others.some((other) => forgotten.some((name) => isOn(other, name)))) {
      present = await sayLeft(tools, { scene, forgotten, left }, signal);
      others = neighboursIn(await workloads.listRecordsUncached(key.logicalCluster, signal), scene);
    }
    const hasCompany = places.some(({ references }) => references.length > 0);
    const unseen = hasCompany ? await unseenNeeds(workloads, { scene, records: others }, signal) : new Set<string>();
    for (const { name, references, isLeft } of places) {
      const neighbours = others.filter((other) => isOn(other, name));
      // A neighbour may be the thing itself, there by a placement of its own.
      const needed = new Set(neighbours.flatMap(({ spec }) => [...(spec.references ?? []), spec.workload].map(idOf)));
      const unneeded = references.filter(
        (reference) =>
          !needed.has(idOf(reference)) && scene.placedReferences.get(idOf(reference))?.includes(name) !== true,
      );
      const going = unneeded.filter((reference) => !unseen.has(idOf(reference)));
      const registration = registrationKey(key.logicalCluster, name);
      const hasGone = await removeDependency(downstream, { key: registration, locator, references: going }, signal);
      // What is still going, or may be needed, keeps the namespace, and nobody else would come back for it.
      if (!hasGone || going.length < unneeded.length) underWay.add(name);
      else if (
        isLeft &&
        neighbours.length === 0 &&
        !(await downstream.removeNamespace(registration, locator, signal))
      ) {
        // Who has said that it left, and is still clearing away, may have taken this one for one that stays and sees to the rest.
        const hasSaidSo = present.record?.spec.pendingCleanup?.includes(name) === true;
        if (!hasSaidSo && others.some(({ spec }) => spec.pendingCleanup?.includes(name))) underWay.add(name);
      }
    }
  }
  // A copy that is still going, or on a cluster that is away, takes along later what came with it.
  const done = [...reached.filter((name) => !underWay.has(name)), ...gone];
  const isAlone = intent.clusters.every((name) => intent.targets.includes(name) || forgotten.includes(name));
  const isClear = allSettled && isAlone && underWay.size === 0 && left.length === done.length;
  return { scene: present, clusters: done, references: isClear ? dropped : [], isUnderWay: underWay.size > 0 };
}

/** One text for one thing, whatever it is called a workload or a reference for. */
const idOf = ({ kind, name }: Readonly<{ kind: string; name: string }>): string => `${kind}/${name}`;

/** The records of the other workloads in the namespace. */
function neighboursIn(records: readonly WorkloadSync[], { address, record }: Observed): readonly WorkloadSync[] {
  return records.filter(
    ({ metadata }) => metadata.namespace === address.namespace && metadata.name !== record?.metadata.name,
  );
}

const isOn = ({ spec }: WorkloadSync, cluster: string): boolean => spec.clusters?.includes(cluster) === true;

/** Says in the record that the copies have gone, and that what came along may still be there. */
async function sayLeft(
  { workloads }: SyncTools,
  { scene, forgotten, left }: Readonly<{ scene: Observed; forgotten: readonly string[]; left: readonly string[] }>,
  signal: AbortSignal,
): Promise<Observed> {
  const { key, address, record } = scene;
  if (record === undefined) return scene;
  const at = { logicalCluster: key.logicalCluster, namespace: address.namespace, name: record.metadata.name ?? "" };
  const clusters = (record.spec.clusters ?? []).filter((name) => !forgotten.includes(name));
  const spec: WorkloadSync["spec"] = { ...record.spec, clusters, pendingCleanup: left.toSorted() };
  return { ...scene, record: await workloads.writeRecord(at, record, { spec, metadata: record.metadata }, signal) };
}

/**
 * What the workloads of a namespace refer to whose records are in no list, by `referenceId`. Each of them is guarded and therefore has a
 * record, which was only not seen: nobody knows on which clusters it needs what it refers to.
 */
export async function unseenNeeds(
  workloads: Pick<WorkloadHub, "types" | "list">,
  { scene, records }: Readonly<{ scene: Pick<Observed, "key" | "address">; records: readonly WorkloadSync[] }>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { key, address } = scene;
  const seen = new Set([recordName(address), ...records.map(({ metadata }) => metadata.name ?? "")]);
  const lists = await allSettledOrThrow(
    workloads.types
      .filter(({ isOffered }) => isOffered)
      .map(async ({ type }) => {
        const objects = await workloads.list(key.logicalCluster, type, signal);
        return objects.filter(
          ({ metadata: { namespace, name = "", finalizers, deletionTimestamp } }) =>
            namespace === address.namespace &&
            deletionTimestamp === undefined &&
            finalizers?.includes(syncFinalizer) === true &&
            !seen.has(recordName({ type, name })),
        );
      }),
  );
  return new Set(lists.flat().flatMap(referencesOf).map(referenceId));
}
