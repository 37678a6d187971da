import { addQuantities, parseQuantity, subtractQuantities, zeroQuantity } from "@tmc/kube/quantity.ts";
import { isFinished } from "../conditions.ts";
import type { Pod } from "../kinds.ts";
import type { Amounts } from "./fit.ts";
import { requestsOf } from "./fit.ts";

/** What is taken on each node, kept up to date pod by pod so that scheduling need not walk over all of them. */
export interface Usage {
  observe(pod: Pod, gone: boolean): void;
  on(nodeName: string): Amounts;
}

/** Creates the book of what is taken; empty at first. */
export function createUsage(): Usage {
  const byNode = new Map<string, Map<string, ReturnType<typeof parseQuantity>>>();
  const booked = new Map<string, { nodeName: string; amounts: Amounts }>();
  const add = (nodeName: string, amounts: Amounts, combine: typeof subtractQuantities): void => {
    const totals = byNode.get(nodeName) ?? new Map();
    byNode.set(nodeName, totals);
    for (const [name, amount] of amounts) totals.set(name, combine(totals.get(name) ?? zeroQuantity, amount));
  };
  return {
    observe: (pod, gone) => {
      const { uid } = pod.metadata;
      const { nodeName } = pod.spec;
      const takes = !gone && nodeName !== undefined && nodeName !== "" && !isFinished(pod);
      const before = booked.get(uid);
      if (takes === (before !== undefined)) return;
      if (before !== undefined) {
        booked.delete(uid);
        add(before.nodeName, before.amounts, subtractQuantities);
      } else if (nodeName !== undefined) {
        const amounts = new Map([["pods", parseQuantity(1)], ...requestsOf(pod.spec)]);
        booked.set(uid, { nodeName, amounts });
        add(nodeName, amounts, addQuantities);
      }
    },
    on: (nodeName) => byNode.get(nodeName) ?? new Map(),
  };
}
