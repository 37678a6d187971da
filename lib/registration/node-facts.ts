import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { addQuantities, formatQuantity, isQuantity, parseQuantity, zeroQuantity } from "@tmc/kube/quantity.ts";
import type { Amounts, NodeFacts } from "./probe-outcome.ts";

type Entry = Readonly<Record<string, unknown>>;

/**
 * Adds up the nodes of a cluster. Capacity counts all of them; allocatable only those that are ready and take pods, for
 * that is what new work can have.
 */
export function sumNodes(nodes: readonly KubeObject[]): NodeFacts {
  const ready = nodes.filter(isReady);
  const open = ready.filter(({ spec }) => entryOf(spec).unschedulable !== true);
  return {
    nodes: { ready: ready.length, total: nodes.length },
    capacity: sumOf(nodes, "capacity"),
    allocatable: sumOf(open, "allocatable"),
    gpu: open.some((node) => Object.entries(amountsOf(node, "allocatable")).some(isSomeGpu)),
  };
}

/** `nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915` …: device plugins have no common name for them. */
function isSomeGpu([resource, amount]: readonly [string, unknown]): boolean {
  const [vendor = "", name = ""] = resource.split("/");
  if (name !== "gpu" && !name.startsWith("gpu-") && !vendor.startsWith("gpu.")) return false;
  return isQuantity(amount) && parseQuantity(amount).nanos > 0n;
}

function sumOf(nodes: readonly KubeObject[], field: "capacity" | "allocatable"): Amounts {
  const all = nodes.flatMap((node) => Object.entries(amountsOf(node, field)));
  const sum = (isWanted: (entry: readonly [string, unknown]) => boolean): string | undefined => {
    const amounts = all.filter(isWanted).map(([, amount]) => amount);
    const quantities = amounts.filter(isQuantity).map(parseQuantity);
    if (quantities.length === 0) return undefined;
    return formatQuantity(quantities.reduce((total, each) => addQuantities(total, each), zeroQuantity));
  };
  const sumNamed = (name: string) => sum(([resource]) => resource === name);
  const none = formatQuantity(zeroQuantity);
  const storage = sumNamed("ephemeral-storage");
  const gpu = sum(isSomeGpu);
  return {
    cpu: sumNamed("cpu") ?? none,
    memory: sumNamed("memory") ?? none,
    pods: sumNamed("pods") ?? none,
    ...(storage !== undefined && { storage }),
    ...(gpu !== undefined && { gpu }),
  };
}

function isReady({ status }: KubeObject): boolean {
  const { conditions } = entryOf(status);
  if (!Array.isArray(conditions)) return false;
  return conditions.map(entryOf).some(({ type, status: state }) => type === "Ready" && state === "True");
}

const amountsOf = (node: KubeObject, field: string): Entry => entryOf(entryOf(node.status)[field]);

function entryOf(value: unknown): Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
