import { byKey } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { controlsOf } from "./control-annotations.ts";
import { type Reference, referenceId } from "./dependencies/references.ts";
import type { Workload } from "./sync-objects.ts";

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
  const selected = (placement?.status?.selectedClusters ?? []).filter(
    (name) => name !== upsyncOriginCluster && allows(name),
  );
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
