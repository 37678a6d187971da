import { byKey } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { controlsOf } from "./control-annotations.ts";
import type { Reference } from "./dependencies/references.ts";
import type { Workload } from "./sync-objects.ts";

/** What is to become of a workload, before anything is known of its copies. */
export type Intent = Readonly<{
  /**
   * `wanted`: a placement says where it belongs. `unwanted`: none does. `deleted`: its owner deletes it. `vanished`: it is
   * not there, and nobody saw it being deleted.
   */
  kind: "wanted" | "unwanted" | "deleted" | "vanished";
  placement: WorkloadPlacement | undefined;
  /** Where it belongs, by name. */
  targets: readonly string[];
  /** Where it is or may be, by name: what the record has to say before anything is written. */
  clusters: readonly string[];
  /** What comes along with it now. */
  references: readonly Reference[];
  /** What came along with it before, or does now. */
  recordedReferences: readonly Pick<Reference, "kind" | "name">[];
}>;

export type IntentFacts = Readonly<{
  /** Undefined when the hub has said that it is not there. */
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  /** The placement that governs it. */
  placement: WorkloadPlacement | undefined;
  /** What the workload refers to. */
  references: readonly Reference[];
  /** Whether TMC may write nothing to its type, and so cannot hold its deletion back until it was seen. */
  isClaimed?: boolean | undefined;
  /** The cluster that the workload was born on: it has the original, and is given no copy. */
  birthplace?: string | undefined;
  /** Clusters on which copies were found that no record knows of. */
  found?: readonly string[] | undefined;
}>;

/** Decides where a workload belongs, and where it may be. */
export function decideIntent(facts: IntentFacts): Intent {
  const { workload, record, placement, references, found = [], isClaimed = false, birthplace } = facts;
  const recorded = record?.spec.clusters ?? [];
  const kind =
    workload === undefined
      ? record?.spec.deleted === true || isClaimed
        ? "deleted"
        : "vanished"
      : workload.metadata.deletionTimestamp !== undefined
        ? "deleted"
        : placement === undefined
          ? "unwanted"
          : "wanted";
  const { allows } = controlsOf(workload);
  const isTarget = (name: string): boolean => name !== birthplace && allows(name);
  const targets = kind === "wanted" ? (placement?.status?.selectedClusters ?? []).filter(isTarget) : [];
  const current = kind === "wanted" ? references : [];
  return {
    kind,
    placement: kind === "wanted" ? placement : undefined,
    targets: [...targets].toSorted(),
    clusters: [...new Set([...recorded, ...targets, ...found])].toSorted(),
    references: current,
    recordedReferences: united(record?.spec.references ?? [], current),
  };
}

function united(
  recorded: readonly Pick<Reference, "kind" | "name">[],
  current: readonly Reference[],
): readonly Pick<Reference, "kind" | "name">[] {
  const all = new Map([...recorded, ...current].map(({ kind, name }) => [referenceId({ kind, name }), { kind, name }]));
  return [...all].toSorted(byKey).map(([, reference]) => reference);
}

/** `Secret/registry`: one text for one reference. */
export function referenceId({ kind, name }: Pick<Reference, "kind" | "name">): string {
  return `${kind}/${name}`;
}
