import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { toleratedSeconds } from "../../placement/taints.ts";
import { drainTaint } from "../../sync/targets/target-cluster.ts";
import { commandName } from "../names.ts";
import { formatAge } from "../output.ts";
import { workloadTitle } from "../workload/workload-argument.ts";

/** A copy or a placement that is still on a cluster that is being drained. */
export type RemainingWork = Readonly<{
  /** `shop deployment.apps/web`, or `placement shop`. */
  title: string;
  /** Whether it stays on the cluster until a user acts. */
  isBlocked: boolean;
  message: string;
}>;

export type DrainInput = Readonly<{
  targetCluster: string;
  syncRecords: readonly Pick<WorkloadSync, "metadata" | "spec" | "status">[];
  placements: readonly WorkloadPlacement[];
}>;

const taint = { key: drainTaint, value: "", effect: "NoExecute" } as const;

/** Reasons of a copy that block its eviction until a user acts, with the message for the operator of the drain. */
const blockingReasons: Readonly<Record<string, string>> = {
  LastCopy: "no other cluster fits",
  VolumeNotMovable: "its volumes stay on the cluster; allow the move with volumes: Recreate in its placement",
  WorkloadVanished: `its workload no longer exists in the workspace; run ${commandName()} confirm`,
  SyncDisabled: "sync is disabled on the workload",
  SyncPaused: "sync is paused on the workload",
  ClusterNotReady: "the cluster is not Ready",
};

/** Reasons of a copy that pass without intervention. */
const progressReasons: Readonly<Record<string, string>> = {
  Terminating: "the cluster is deleting it",
  // The deletion guard protects against unintended deletions, and a drain is intended.
  DeletionsHeld: "the deletion guard held it, and releases it because the cluster is being drained",
};

/** Lists the copies on a cluster and the placements that still select it; empty when the cluster is drained. */
export function remainingOn({ targetCluster, syncRecords, placements }: DrainInput): readonly RemainingWork[] {
  const byName = new Map(placements.map((placement) => [placement.metadata.name ?? "", placement]));
  const copies = syncRecords
    .filter(({ spec }) => spec.clusters?.includes(targetCluster) === true)
    .map(({ metadata, spec, status }): RemainingWork => {
      const title = `${metadata.namespace} ${workloadTitle(spec.workload)}`;
      const entry = status?.clusters?.find(({ name }) => name === targetCluster);
      const isHeld = findCondition(status?.conditions, "EvictionHeld")?.status === "True";
      const { reason = "", message } = isHeld ? { reason: "VolumeNotMovable" } : (entry ?? {});
      const selection = selectionOf(byName.get(spec.placement ?? ""), targetCluster);
      // While a placement still selects the cluster, the reason of the copy is about its health, not about its eviction.
      if (selection !== undefined) return { title, ...selection };
      if (blockingReasons[reason] !== undefined) return { title, isBlocked: true, message: blockingReasons[reason] };
      const others = (status?.clusters ?? []).filter(({ name }) => name !== targetCluster);
      const progress = reason === "WaitingForReplacement" ? waitingMessage(others) : progressReasons[reason];
      return { title, isBlocked: false, message: progress ?? message ?? "not reconciled yet" };
    })
    .toSorted((one, other) => compareStrings(one.title, other.title));
  const withCopies = new Set(syncRecords.map(({ spec }) => spec.placement));
  const undecided = placements
    .filter(({ metadata }) => !withCopies.has(metadata.name ?? ""))
    .flatMap((placement): RemainingWork[] => {
      const selection = selectionOf(placement, targetCluster);
      return selection === undefined ? [] : [{ title: `placement ${placement.metadata.name}`, ...selection }];
    });
  return [...copies, ...undecided];
}

type ClusterEntry = NonNullable<NonNullable<WorkloadSync["status"]>["clusters"]>[number];

/** Names the clusters on which the replacement of a copy is not ready yet, and why. */
function waitingMessage(others: readonly ClusterEntry[]): string {
  const unready = others.filter(({ state }) => state !== "Ready" && state !== "Evicting" && state !== "Held");
  if (unready.length === 0) return "it is evicted when it is ready on another cluster";
  const clusters = unready.map(({ name, state, reason, message }) => `${name} (${message ?? reason ?? state})`);
  return `it is evicted when it is ready on ${clusters.join(", ")}`;
}

/** Says why a placement still selects the cluster; undefined when it does not. */
function selectionOf(
  placement: WorkloadPlacement | undefined,
  targetCluster: string,
): Pick<RemainingWork, "isBlocked" | "message"> | undefined {
  if (placement?.status?.selectedClusters?.includes(targetCluster) !== true) return undefined;
  const { name } = placement.metadata;
  const seconds = toleratedSeconds(placement.spec.tolerations ?? [], taint);
  if (seconds === undefined) return { isBlocked: false, message: `placement ${name} still selects the cluster` };
  if (seconds === Infinity) return { isBlocked: true, message: `placement ${name} tolerates the drain taint` };
  const until = placement.status.decisions?.find((each) => each.cluster === targetCluster)?.until;
  const duration = until === undefined ? `for ${formatAge(seconds * 1000)}` : `until ${until}`;
  return { isBlocked: false, message: `placement ${name} tolerates the drain taint ${duration}` };
}
