import { createHash } from "node:crypto";
import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { controlsOf } from "./control-annotations.ts";
import { type Reference, referenceId } from "./dependencies/references.ts";
import type { CopyRecord, Workload } from "./sync-objects.ts";

/** The facts about a workload that decide where it should be. Nothing is known about its copies yet. */
export type IntentFacts = Readonly<{
  /** Undefined when the server has reported that the workload does not exist. */
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  /** The placement that governs the workload. */
  placement: WorkloadPlacement | undefined;
  /** The objects that the workload references and that are distributed with it. */
  references: readonly Reference[];
  /** Whether the type is only claimed from the tenant. TMC adds no finalizer to such objects, so their deletion is not observed. */
  isClaimed?: boolean | undefined;
  /** The cluster that has the original of an upsynced workload. It gets no copy. */
  upsyncOriginCluster?: string | undefined;
  /** Clusters that have a copy, or may have one, that no record names. */
  unrecordedClusters?: readonly string[] | undefined;
  /** Clusters to which a copy has been written. @default those of the record */
  writtenClusters?: readonly string[] | undefined;
  /** Clusters that have data of the workload, which must not move without it. @default none: the workload may move */
  volumeClusters?: readonly string[] | undefined;
}>;

/** What is to become of a workload, decided before its copies are read. */
export type Intent = Readonly<{
  /**
   * `placed`: a placement selects it. `unplaced`: no placement does. `deleted`: its owner deletes it. `vanished`: it does not
   * exist, and its deletion was not observed.
   */
  kind: "placed" | "unplaced" | "deleted" | "vanished";
  /** The governing placement of a workload that is `placed`. */
  placement: WorkloadPlacement | undefined;
  /** Names of the clusters that should have a copy. */
  targets: readonly string[];
  /** The targets that are not selected any more: the workload stays there because its data does. */
  heldClusters: readonly string[];
  /** Names of the clusters that have a copy, or may have one. The record names all of them before anything is written. */
  clusters: readonly string[];
  /** References to distribute now. */
  references: readonly Reference[];
  /** References that are or were distributed; the record keeps them until they are removed everywhere. */
  recordedReferences: readonly Pick<Reference, "kind" | "name">[];
}>;

/** Decides where a workload should be, and where it may be. */
export function decideIntent(facts: IntentFacts): Intent {
  const { workload, record, unrecordedClusters = [], upsyncOriginCluster, volumeClusters = [] } = facts;
  const kind = decideKind(facts);
  const placement = kind === "placed" ? facts.placement : undefined;
  const references = kind === "placed" ? facts.references : [];
  const { allows } = controlsOf(workload);
  const allowed = (placement?.status?.selectedClusters ?? []).filter(
    (name) => name !== upsyncOriginCluster && allows(name),
  );
  const selected = limitJob(allowed, { ...facts, placement });
  // If no cluster is selected, the copies are kept without being targets.
  const heldClusters =
    selected.length === 0 ? [] : volumeClusters.filter((name) => !selected.includes(name)).toSorted();
  // While a copy is held, the move starts no second copy with empty volumes elsewhere.
  const targets =
    heldClusters.length === 0
      ? selected
      : [...heldClusters, ...selected.filter((name) => volumeClusters.includes(name))];
  return {
    kind,
    placement,
    targets: [...targets].toSorted(),
    heldClusters,
    clusters: [...new Set([...(record?.spec.clusters ?? []), ...targets, ...unrecordedClusters])].toSorted(),
    references,
    recordedReferences: mergeReferences(record?.spec.references ?? [], references),
  };
}

/** The clusters to which the copies have been written. */
export function writtenClustersOf(copies: readonly CopyRecord[]): readonly string[] {
  return copies.flatMap(({ name, appliedHash }) => (appliedHash === undefined ? [] : [name]));
}

type JobFacts = Readonly<{
  /** Without its type, the record says it. */
  workload: (Pick<Workload, "metadata"> & Partial<Workload>) | undefined;
  record: WorkloadSync | undefined;
}> &
  Partial<Pick<IntentFacts, "placement" | "unrecordedClusters" | "writtenClusters">>;

/**
 * Limits the clusters that may have a copy to one if the workload is a Job: a Job on two clusters would do its work twice. A
 * Job stays where it was written, and else where the record or a lost record may have it. A new Job goes to the cluster with
 * the highest score that accepts new workloads; between equal ones its name decides, so that Jobs are distributed.
 */
export function limitJob(selected: readonly string[], facts: JobFacts): readonly string[] {
  const { workload, record, placement, unrecordedClusters = [] } = facts;
  const { apiVersion, kind } = { ...record?.spec.workload, ...workload };
  if (apiVersion !== "batch/v1" || kind !== "Job" || controlsOf(workload).isOnAllClusters) return selected;
  const { writtenClusters = writtenClustersOf(record?.status?.clusters ?? []) } = facts;
  const written = selected.filter((name) => writtenClusters.includes(name));
  if (written.length > 0) return written;
  const id = `${workload?.metadata.namespace}/${workload?.metadata.name}`;
  const possible = [...(record?.spec.clusters ?? []), ...unrecordedClusters];
  const recorded = selected.filter((name) => possible.includes(name));
  const decisions = new Map((placement?.status?.decisions ?? []).map((decision) => [decision.cluster, decision]));
  const ranked = (recorded.length > 0 ? recorded : selected)
    .map((name) => ({
      name,
      isAccepting: decisions.get(name)?.reason === "Selected",
      score: decisions.get(name)?.score ?? 0,
      hash: createHash("sha256").update(`${id}/${name}`).digest("hex"),
    }))
    .toSorted(
      (one, other) =>
        Number(other.isAccepting) - Number(one.isAccepting) ||
        other.score - one.score ||
        compareStrings(one.hash, other.hash),
    );
  return ranked.slice(0, 1).map(({ name }) => name);
}

function decideKind({ workload, record, placement, isClaimed = false }: IntentFacts): Intent["kind"] {
  if (workload === undefined) return record?.spec.deleted === true || isClaimed ? "deleted" : "vanished";
  if (workload.metadata.deletionTimestamp !== undefined) return "deleted";
  return placement === undefined ? "unplaced" : "placed";
}

/** The union of two lists of references, sorted. */
function mergeReferences(
  recorded: Intent["recordedReferences"],
  current: readonly Reference[],
): Intent["recordedReferences"] {
  const all = new Map([...recorded, ...current].map(({ kind, name }) => [referenceId({ kind, name }), { kind, name }]));
  return [...all].toSorted(byKey).map(([, reference]) => reference);
}
