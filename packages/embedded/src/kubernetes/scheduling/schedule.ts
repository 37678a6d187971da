import { addQuantities, compareQuantities, parseQuantity, quantityToNumber, zeroQuantity } from "@tmc/kube/quantity.ts";
import type { Node, Pod } from "../kinds.ts";
import type { ResourceAmounts } from "./fit.ts";
import { matchesNode, requestsOf, toleratesTaints, untoleratedTaint } from "./fit.ts";

export type CandidateNode = Readonly<{ node: Node; used: ResourceAmounts }>;
export type SchedulingFacts = Readonly<{
  pod: Pod;
  candidates: readonly CandidateNode[];
  /** Set by `makeFull`: no node accepts pods. */
  full: boolean;
  /** A claim of the pod is missing or not bound. */
  claimError?: string | undefined;
}>;
export type SchedulingDecision =
  | Readonly<{ kind: "bind"; nodeName: string }>
  | Readonly<{ kind: "unschedulable"; message: string }>;

const unhelpful = "Preemption is not helpful for scheduling";
const noVictims = "No preemption victims found for incoming pod";

/** Chooses the least loaded node that fits a pod, or explains in the scheduler's words why none fits. */
export function schedule({ pod, candidates, full, claimError }: SchedulingFacts): SchedulingDecision {
  const count = candidates.length;
  if (count === 0) return unschedulable("no nodes available to schedule pods");
  if (claimError !== undefined) return unschedulable(`0/${count} nodes are available: ${claimError}. not found`);

  const reasons = new Map<string, number>();
  const preemption = new Map<string, number>();
  const fitting: CandidateNode[] = [];
  for (const candidate of candidates) {
    const unfit = unfitReasons(pod, candidate, full);
    if (unfit.reasons.length === 0) fitting.push(candidate);
    for (const reason of unfit.reasons) increment(reasons, reason);
    if (unfit.reasons.length > 0) increment(preemption, unfit.isPreemptionUseless ? unhelpful : noVictims);
  }
  const best = fitting
    .map(({ node, used }) => ({ name: node.metadata.name, load: load({ node, used }) }))
    .toSorted((a, b) => a.load - b.load || a.name.localeCompare(b.name))[0];
  if (best !== undefined) return { kind: "bind", nodeName: best.name };
  return unschedulable(
    `0/${count} nodes are available: ${listed(reasons)}. no new claims to deallocate, ` +
      `preemption: 0/${count} nodes are available: ${listed(preemption)}.`,
  );
}

const unschedulable = (message: string): SchedulingDecision => ({ kind: "unschedulable", message });

function increment(counts: Map<string, number>, reason: string): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .toSorted()
    .join(", ");

function unfitReasons(
  pod: Pod,
  { node, used }: CandidateNode,
  full: boolean,
): { reasons: string[]; isPreemptionUseless: boolean } {
  const tolerations = pod.spec.tolerations ?? [];
  const cordoned =
    node.spec.unschedulable === true &&
    !toleratesTaints(
      tolerations,
      { ...node, spec: { taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] } },
      ["NoSchedule"],
    );
  if (cordoned) return { reasons: ["node(s) were unschedulable"], isPreemptionUseless: true };
  const taint = untoleratedTaint(tolerations, node, ["NoSchedule", "NoExecute"]);
  if (taint !== undefined) {
    return { reasons: ["node(s) had untolerated taint(s)"], isPreemptionUseless: true };
  }
  if (!matchesNode(pod.spec, node)) {
    return { reasons: ["node(s) didn't match Pod's node affinity/selector"], isPreemptionUseless: true };
  }
  if (full) return { reasons: ["Too many pods"], isPreemptionUseless: false };

  const reasons: string[] = [];
  let isPreemptionUseless = false;
  const requested = new Map([["pods", parseQuantity(1)], ...requestsOf(pod.spec)]);
  for (const [name, amount] of requested) {
    const allocatable = parseQuantity(node.status?.allocatable?.[name] ?? 0);
    if (amount.nanos === 0n) continue;
    if (compareQuantities(addQuantities(used.get(name) ?? zeroQuantity, amount), allocatable) <= 0) continue;
    reasons.push(name === "pods" ? "Too many pods" : `Insufficient ${name}`);
    // Preemption cannot help a pod that requests more than a whole node.
    isPreemptionUseless ||= compareQuantities(amount, allocatable) > 0;
  }
  return { reasons, isPreemptionUseless };
}

/** Sum of the used shares of cpu, memory and pods. */
function load({ node, used }: CandidateNode): number {
  const shares = ["cpu", "memory", "pods"].map((name) => {
    const whole = quantityToNumber(parseQuantity(node.status?.allocatable?.[name] ?? 0));
    return whole === 0 ? 0 : quantityToNumber(used.get(name) ?? zeroQuantity) / whole;
  });
  return shares.reduce((sum, share) => sum + share, 0);
}
