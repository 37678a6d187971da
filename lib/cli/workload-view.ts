import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { CopyState, WorkloadSync } from "../api/workload-sync.ts";
import { type Condition, findCondition } from "../model/condition.ts";
import { controlsOf } from "../sync/control-annotations.ts";
import type { Workload } from "../sync/sync-objects.ts";
import { type CopyView, copiesOf } from "./copy-view.ts";

/** What is known of a workload. */
export type WorkloadFacts = Readonly<{
  /** Undefined when it is not there; `unseen` when nobody has looked. */
  workload: Pick<Workload, "metadata"> | "unseen" | undefined;
  record: WorkloadSync | undefined;
  /** The placement that governs it. */
  placement: WorkloadPlacement | undefined;
  clusters: ReadonlyMap<string, ClusterRegistration>;
}>;

/** Whether a workload runs as it should, and why it does not. */
export type Verdict = Readonly<{ isReady: boolean; reason: string; message: string }>;

/** A workload on all of its clusters, for people. */
export type WorkloadView = Readonly<{
  verdict: Verdict;
  /** In one word, for a table. */
  status: string;
  copies: readonly CopyView[];
  /** Sums over the clusters that it belongs on and that are heard from; undefined for what has no replicas. */
  desired: number | undefined;
  ready: number | undefined;
  /** What the workload refers to and its namespace has not. */
  missing: readonly string[];
  /** What its owner has asked for that keeps it from some clusters or from all. */
  controls: readonly string[];
  conditions: readonly Condition[];
}>;

/** Brings together what is known of a workload; the same facts give the same words. */
export function viewOf(facts: WorkloadFacts): WorkloadView {
  const { workload, record, placement, clusters } = facts;
  const seen = workload === "unseen" ? undefined : workload;
  const { allows, stopped } = controlsOf(seen);
  const selected = placement?.status?.selectedClusters;
  const isGoing = seen?.metadata.deletionTimestamp !== undefined;
  const wanted =
    placement === undefined || isGoing ? (record === undefined ? [] : undefined) : selected?.filter(allows);
  const copies = copiesOf({ record, wanted: isGoing ? [] : wanted, clusters });
  const verdict = verdictOn(facts, copies);
  const heard = copies.filter(({ state }) => state !== "Stale");
  // Where it belongs nowhere, what is still there is all there is to count.
  const counted = copies.some(({ isWanted }) => isWanted) ? heard.filter(({ isWanted }) => isWanted) : heard;
  const kept = (selected ?? []).filter((name) => !allows(name));
  return {
    verdict,
    status: verdict.isReady ? "Ready" : (worstOf(copies) ?? verdict.reason),
    copies,
    desired: sum(counted.map(({ desired }) => desired)),
    ready: sum(counted.map(({ ready }) => ready)),
    missing: [...new Set(copies.filter(({ reason }) => reason === "ReferenceMissing").map(({ why }) => why))],
    controls: [
      ...(stopped?.reason === "SyncDisabled"
        ? ["sync is disabled"]
        : stopped?.reason === "SyncPaused"
          ? ["sync is paused"]
          : []),
      ...(kept.length === 0 ? [] : [`kept from ${kept.join(", ")}`]),
    ],
    conditions: record?.status?.conditions ?? [],
  };
}

/** The same question that `kubectl rollout status` asks: is what was last asked for there, and does it run? */
function verdictOn({ workload, record, placement }: WorkloadFacts, copies: readonly CopyView[]): Verdict {
  const not = (reason: string, message: string): Verdict => ({ isReady: false, reason, message });
  const told = findCondition(record?.status?.conditions, "Ready");
  if (workload === undefined) {
    return not(told?.reason ?? "WorkloadVanished", told?.message ?? "it is not in its workspace");
  }
  const { deletionTimestamp, generation, uid } = workload === "unseen" ? {} : workload.metadata;
  const left = copies.map(({ cluster }) => cluster).join(", ");
  if (deletionTimestamp !== undefined) {
    return not("Deleting", left === "" ? "it is being deleted" : `it is being deleted; still on ${left}`);
  }
  if (record === undefined) {
    if (placement === undefined) return not("NotPlaced", "no placement selects it");
    return not(
      "NotLookedAt",
      `placement ${placement.metadata.name} selects it, and no controller has looked at it yet`,
    );
  }
  const recorded = record.spec.workload.uid;
  if (uid !== undefined && recorded !== undefined && recorded !== uid) {
    return not("NotLookedAt", "what is known is about an earlier one of its name");
  }
  const { observedGeneration } = record.status ?? {};
  if (told === undefined) return not("NotLookedAt", "no controller has written it anywhere yet");
  if (generation !== undefined && (observedGeneration ?? 0) < generation) {
    return not(
      "NotLookedAt",
      `generation ${generation} has not been looked at yet, only ${observedGeneration ?? "none"}`,
    );
  }
  if (told.status !== "True") return not(told.reason, told.message);
  const unheard = copies.filter(({ isWanted, state }) => isWanted && state === "Stale");
  if (unheard.length > 0) {
    return not("ClusterNotReady", `not heard from: ${unheard.map(({ cluster }) => cluster).join(", ")}`);
  }
  return { isReady: true, reason: told.reason, message: told.message };
}

/** What a person should hear of first. */
const byUrgency: readonly CopyState[] = ["Failed", "Held", "Stale", "Paused", "Pending", "Applied", "Evicting"];

function worstOf(copies: readonly CopyView[]): CopyState | undefined {
  return byUrgency.find((state) => copies.some((copy) => copy.state === state));
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}
