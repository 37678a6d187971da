import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { toleratedSeconds } from "../placement/taints.ts";
import { drainTaint } from "../sync/targets/sync-cluster.ts";
import { formatSpan } from "./output.ts";
import { workloadTitle } from "./workload-words.ts";

/** Something that a cluster which is being drained still has. */
export type Leftover = Readonly<{
  /** `shop deployment.apps/web`, or `placement shop`. */
  what: string;
  /** Whether it does not leave by itself. */
  stays: boolean;
  why: string;
}>;

export type DrainFacts = Readonly<{
  cluster: string;
  records: readonly Pick<WorkloadSync, "metadata" | "spec" | "status">[];
  placements: readonly WorkloadPlacement[];
}>;

const taint = { key: drainTaint, value: "", effect: "NoExecute" } as const;

/** What keeps a copy where it is until somebody does something, in the words of a person who drains. */
const stays: Readonly<Record<string, string>> = {
  LastCopy: "no other cluster fits",
  WorkloadVanished: "its workload is not in its workspace any more: tmc confirm",
  SyncDisabled: "its owner has switched sync off",
  SyncPaused: "its owner has paused sync",
  ClusterNotReady: "the cluster is not heard from",
};

const goes: Readonly<Record<string, string>> = {
  Terminating: "the cluster is removing it",
  // The brake is for what nobody meant.
  DeletionsHeld: "it was held back, and may go now that the cluster is drained",
};

/** What a cluster still has, or is still to have; empty when it is drained. */
export function leftOn({ cluster, records, placements }: DrainFacts): readonly Leftover[] {
  const byName = new Map(placements.map((placement) => [placement.metadata.name ?? "", placement]));
  const copies = records
    .filter(({ spec }) => spec.clusters?.includes(cluster) === true)
    .map(({ metadata, spec, status }): Leftover => {
      const what = `${metadata.namespace} ${workloadTitle(spec.workload)}`;
      const entry = status?.clusters?.find(({ name }) => name === cluster);
      const { reason = "", message } = entry ?? {};
      const kept = choiceOf(byName.get(spec.placement ?? ""), cluster);
      // While a placement still chooses the cluster, what the copy says is about its health.
      if (kept !== undefined) return { what, ...kept };
      if (stays[reason] !== undefined) return { what, stays: true, why: stays[reason] };
      const others = (status?.clusters ?? []).filter(({ name }) => name !== cluster);
      const why = reason === "WaitingForReplacement" ? waitingWords(others) : goes[reason];
      return { what, stays: false, why: why ?? message ?? "nobody has looked at it yet" };
    })
    .toSorted((one, other) => compareStrings(one.what, other.what));
  const withCopies = new Set(records.map(({ spec }) => spec.placement));
  const undecided = placements
    .filter(({ metadata }) => !withCopies.has(metadata.name ?? ""))
    .flatMap((placement): Leftover[] => {
      const kept = choiceOf(placement, cluster);
      return kept === undefined ? [] : [{ what: `placement ${placement.metadata.name}`, ...kept }];
    });
  return [...copies, ...undecided];
}

type Other = NonNullable<NonNullable<WorkloadSync["status"]>["clusters"]>[number];

/** What a copy waits for: where it is not ready yet, and what keeps it from being. */
function waitingWords(others: readonly Other[]): string {
  const lacking = others.filter(({ state }) => state !== "Ready" && state !== "Evicting" && state !== "Held");
  if (lacking.length === 0) return "it goes when it is ready elsewhere";
  const words = lacking.map(({ name, state, reason, message }) => `${name} (${message ?? reason ?? state})`);
  return `it goes when it is ready on ${words.join(", ")}`;
}

/** Why a placement still chooses the cluster; undefined when it does not. */
function choiceOf(
  placement: WorkloadPlacement | undefined,
  cluster: string,
): Readonly<{ stays: boolean; why: string }> | undefined {
  if (placement?.status?.selectedClusters?.includes(cluster) !== true) return undefined;
  const { name } = placement.metadata;
  const seconds = toleratedSeconds(placement.spec.tolerations ?? [], taint);
  if (seconds === undefined) return { stays: false, why: `placement ${name} has not left the cluster yet` };
  if (seconds === Infinity) return { stays: true, why: `placement ${name} tolerates the drain` };
  const until = placement.status.decisions?.find((each) => each.cluster === cluster)?.until;
  const words = until === undefined ? `for ${formatSpan(seconds * 1000)}` : `until ${until}`;
  return { stays: false, why: `placement ${name} tolerates the drain ${words}` };
}
