import { addQuantities, parseQuantity, subtractQuantities, zeroQuantity } from "@tmc/kube/quantity.ts";
import { isPodFinished } from "../conditions.ts";
import type { Pod } from "../kinds.ts";
import type { ResourceAmounts } from "./fit.ts";
import { requestsOf } from "./fit.ts";

/** Resource usage per node, updated per pod, so that scheduling need not iterate over all pods. */
export interface Usage {
  observe(pod: Pod, isDeleted: boolean): void;
  on(nodeName: string): ResourceAmounts;
}

export function createUsage(): Usage {
  const byNode = new Map<string, Map<string, ReturnType<typeof parseQuantity>>>();
  const counted = new Map<string, { nodeName: string; amounts: ResourceAmounts }>();
  const add = (nodeName: string, amounts: ResourceAmounts, combine: typeof subtractQuantities): void => {
    const totals = byNode.get(nodeName) ?? new Map();
    byNode.set(nodeName, totals);
    for (const [name, amount] of amounts) totals.set(name, combine(totals.get(name) ?? zeroQuantity, amount));
  };
  return {
    observe: (pod, isDeleted) => {
      const { uid } = pod.metadata;
      const { nodeName } = pod.spec;
      const occupiesNode = !isDeleted && nodeName !== undefined && nodeName !== "" && !isPodFinished(pod);
      const before = counted.get(uid);
      if (occupiesNode === (before !== undefined)) return;
      if (before !== undefined) {
        counted.delete(uid);
        add(before.nodeName, before.amounts, subtractQuantities);
      } else if (nodeName !== undefined) {
        const amounts = new Map([["pods", parseQuantity(1)], ...requestsOf(pod.spec)]);
        counted.set(uid, { nodeName, amounts });
        add(nodeName, amounts, addQuantities);
      }
    },
    on: (nodeName) => byNode.get(nodeName) ?? new Map(),
  };
}
