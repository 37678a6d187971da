import type { Quantity } from "@tmc/kube/quantity.ts";
import { addQuantities, compareQuantities, parseQuantity, zeroQuantity } from "@tmc/kube/quantity.ts";
import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import type { Node, NodeSelectorTerm, Pod, PodSpec, Taint, Toleration } from "../kinds.ts";

/** Amounts by resource name: cpu, memory, pods, … */
export type ResourceAmounts = ReadonlyMap<string, Quantity>;

/** Whether a pod's node selector and required node affinity match a node. */
export function matchesNode(spec: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const bounds = matchExpressions.filter(({ operator }) => operator === "Gt" || operator === "Lt");
  const others = matchExpressions.filter((expression) => !bounds.includes(expression));
  return (
    matchesLabels(selectorFromObject({ matchExpressions: others }), node.metadata.labels) &&
    bounds.every(({ key, operator, values }) => {
      const actual = Number(node.metadata.labels?.[key] ?? Number.NaN);
      return operator === "Gt" ? actual > Number(values?.[0]) : actual < Number(values?.[0]);
    }) &&
    matchesLabels(selectorFromObject({ matchExpressions: matchFields }), { "metadata.name": node.metadata.name })
  );
}

/** Returns the first taint with one of the given effects that no toleration covers. */
export function untoleratedTaint(
  tolerations: readonly Toleration[],
  node: Node,
  effects: readonly string[],
): Taint | undefined {
  return node.spec.taints?.find(
    (taint) => effects.includes(taint.effect) && !tolerations.some((toleration) => covers(toleration, taint)),
  );
}

export const toleratesTaints = (tolerations: readonly Toleration[], node: Node, effects: readonly string[]): boolean =>
  untoleratedTaint(tolerations, node, effects) === undefined;

const covers = (toleration: Toleration, taint: Taint): boolean =>
  (toleration.effect === undefined || toleration.effect === "" || toleration.effect === taint.effect) &&
  (toleration.key === undefined || toleration.key === "" || toleration.key === taint.key) &&
  (toleration.operator === "Exists" || (toleration.value ?? "") === (taint.value ?? ""));

/** Resource requests of a pod: the sum over its containers, or its largest init container if that is more. */
export function requestsOf(spec: PodSpec): ResourceAmounts {
  const sum = new Map<string, Quantity>();
  for (const container of spec.containers) {
    for (const [name, amount] of Object.entries(container.resources?.requests ?? {})) {
      sum.set(name, addQuantities(sum.get(name) ?? zeroQuantity, parseQuantity(amount)));
    }
  }
  for (const container of spec.initContainers ?? []) {
    for (const [name, amount] of Object.entries(container.resources?.requests ?? {})) {
      const quantity = parseQuantity(amount);
      if (compareQuantities(quantity, sum.get(name) ?? zeroQuantity) > 0) sum.set(name, quantity);
    }
  }
  return sum;
}

/** Resources used by the pods of a node. */
export function usedBy(pods: readonly Pod[]): ResourceAmounts {
  const sum = new Map<string, Quantity>([["pods", parseQuantity(pods.length)]]);
  for (const pod of pods) {
    for (const [name, amount] of requestsOf(pod.spec)) {
      sum.set(name, addQuantities(sum.get(name) ?? zeroQuantity, amount));
    }
  }
  return sum;
}
