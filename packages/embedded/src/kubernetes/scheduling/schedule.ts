import { addQuantities, compareQuantities, parseQuantity, quantityToNumber, zeroQuantity } from "@tmc/kube/quantity.ts";
import type { Node, Pod } from "../kinds.ts";
import type { Amounts } from "./fit.ts";
import { matchesNode, requestsOf, toleratesTaints, untoleratedTaint } from "./fit.ts";

export type Candidate = Readonly<{ node: Node; used: Amounts }>;
export type SchedulingFacts = Readonly<{
  pod: Pod;
  candidates: readonly Candidate[];
  /** The cluster has been told to have no room left. */
  full: boolean;
  /** A claim of the pod is not bound, or not there. */
  claimProblem?: string | undefined;
}>;
export type SchedulingDecision =
  | Readonly<{ kind: "bind"; nodeName: string }>
  | Readonly<{ kind: "unschedulable"; message: string }>;

const unhelpful = "Preemption is not helpful for scheduling";
const noVictims = "No preemption victims found for incoming pod";

/** Chooses the node a pod runs on: of those it fits, the one with the most room; or says, in the scheduler's words, why none. */
export function schedule({ pod, candidates, full, claimProblem }: SchedulingFacts): SchedulingDecision {
  const count = candidates.length;
  if (count === 0) return unschedulable("no nodes available to schedule pods");
  if (claimProblem !== undefined) return unschedulable(`0/${count} nodes are available: ${claimProblem}. not found`);

  const reasons = new Map<string, number>();
  const preemption = new Map<string, number>();
  const fitting: Candidate[] = [];
  for (const candidate of candidates) {
    const problems = problemsWith(pod, candidate, full);
    if (problems.reasons.length === 0) fitting.push(candidate);
    for (const reason of problems.reasons) tally(reasons, reason);
    if (problems.reasons.length > 0) tally(preemption, problems.helpless ? unhelpful : noVictims);
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

function tally(counts: Map<string, number>, reason: string): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .toSorted()
    .join(", ");

function problemsWith(pod: Pod, { node, used }: Candidate, full: boolean): { reasons: string[]; helpless: boolean } {
  const tolerations = pod.spec.tolerations ?? [];
  const cordoned =
    node.spec.unschedulable === true &&
    !toleratesTaints(
      tolerations,
      { ...node, spec: { taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] } },
      ["NoSchedule"],
    );
  if (cordoned) return { reasons: ["node(s) were unschedulable"], helpless: true };
  const taint = untoleratedTaint(tolerations, node, ["NoSchedule", "NoExecute"]);
  if (taint !== undefined) {
    return { reasons: ["node(s) had untolerated taint(s)"], helpless: true };
  }
  if (!matchesNode(pod.spec, node)) {
    return { reasons: ["node(s) didn't match Pod's node affinity/selector"], helpless: true };
  }
  if (full) return { reasons: ["Too many pods"], helpless: false };

  const reasons: string[] = [];
  let helpless = false;
  const wanted = new Map([["pods", parseQuantity(1)], ...requestsOf(pod.spec)]);
  for (const [name, amount] of wanted) {
    const allocatable = parseQuantity(node.status?.allocatable?.[name] ?? 0);
    if (amount.nanos === 0n) continue;
    if (compareQuantities(addQuantities(used.get(name) ?? zeroQuantity, amount), allocatable) <= 0) continue;
    reasons.push(name === "pods" ? "Too many pods" : `Insufficient ${name}`);
    // What is more than the whole node no eviction can make room for.
    helpless ||= compareQuantities(amount, allocatable) > 0;
  }
  return { reasons, helpless };
}

/** How full a node is, by the fullest of cpu, memory and pods; the emptier one is taken. */
function load({ node, used }: Candidate): number {
  const shares = ["cpu", "memory", "pods"].map((name) => {
    const whole = quantityToNumber(parseQuantity(node.status?.allocatable?.[name] ?? 0));
    return whole === 0 ? 0 : quantityToNumber(used.get(name) ?? zeroQuantity) / whole;
  });
  return shares.reduce((sum, share) => sum + share, 0);
}
