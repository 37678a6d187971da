import { countAvailable, isPodFinished, isPodReady, resolveAmount, withoutZeros } from "../conditions.ts";
import type { DaemonSet, DaemonSetStatus, Node, Pod, PodSpec, Toleration } from "../kinds.ts";
import { matchesNode, toleratesTaints } from "../scheduling/fit.ts";
import { revisionLabel } from "./stateful-set.ts";

export type DaemonSetFacts = Readonly<{
  set: DaemonSet;
  pods: readonly Pod[];
  nodes: readonly Node[];
  /** Hash of the current template. */
  updateHash: string;
  now: number;
}>;
export type DaemonSetPlan = Readonly<{
  /** Names of the nodes that need a pod. */
  create: readonly string[];
  remove: readonly Pod[];
  status: DaemonSetStatus;
  nextMs: number | undefined;
}>;

/** Tolerations of every daemon pod. */
const daemonTolerations: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];

/** The part of a daemon pod's spec that pins it to its node. */
export function pinnedToNode(spec: PodSpec, node: string): Partial<PodSpec> {
  return {
    affinity: {
      ...spec.affinity,
      nodeAffinity: {
        ...spec.affinity?.nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
        },
      },
    },
    tolerations: [...(spec.tolerations ?? []), ...daemonTolerations],
  };
}

/** The node that a daemon pod is pinned to, before and after scheduling. */
export function targetNode(pod: Pod): string | undefined {
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return pod.spec.nodeName ?? terms?.[0]?.matchFields?.find((field) => field.key === "metadata.name")?.values?.[0];
}

/** Decides which nodes need a daemon pod and which pods to delete. */
export function decideDaemonSet({ set, pods, nodes, updateHash, now }: DaemonSetFacts): DaemonSetPlan {
  const eligible = nodes.filter((node) => runsOn(set.spec.template.spec, node)).map((node) => node.metadata.name);
  const eligibleNames = new Set(eligible);
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    if (node !== undefined) byNode.set(node, [...(byNode.get(node) ?? []), pod]);
  }

  const oldestFirst = (list: readonly Pod[]): Pod[] =>
    list.toSorted((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp));
  const kept = new Map<string, Pod>();
  const remove: Pod[] = [];
  for (const [node, list] of byNode) {
    const alive = oldestFirst(list.filter((pod) => pod.metadata.deletionTimestamp === undefined));
    const [first, ...others] = alive.filter((pod) => !isPodFinished(pod));
    remove.push(...alive.filter(isPodFinished), ...others);
    if (first === undefined) continue;
    if (eligibleNames.has(node)) kept.set(node, first);
    else remove.push(first);
  }
  const create = eligible.filter((node) => (byNode.get(node) ?? []).length === 0);

  const placed = [...kept.values()];
  const { available, nextMs } = countAvailable(placed, set.spec.minReadySeconds ?? 0, now);
  const outdated = placed.filter((pod) => pod.metadata.labels?.[revisionLabel] !== updateHash);
  if (set.spec.updateStrategy?.type !== "OnDelete") {
    const { maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
    const allowed = Math.max(1, resolveAmount(maxUnavailable, eligible.length, "up"));
    const notReady = outdated.filter((pod) => !isPodReady(pod));
    const budget = Math.max(0, allowed - (eligible.length - available));
    remove.push(...notReady, ...outdated.filter(isPodReady).slice(0, budget));
  }

  const status: DaemonSetStatus = withoutZeros(
    {
      currentNumberScheduled: placed.length,
      numberMisscheduled: [...byNode.keys()].filter((node) => !eligibleNames.has(node)).length,
      desiredNumberScheduled: eligible.length,
      numberReady: placed.filter(isPodReady).length,
      observedGeneration: set.metadata.generation ?? 1,
      updatedNumberScheduled: placed.length - outdated.length,
      numberAvailable: available,
      numberUnavailable: eligible.length - available,
    },
    ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"],
  );
  if (set.metadata.deletionTimestamp !== undefined) return { create: [], remove: [], status, nextMs: undefined };
  return { create, remove, status, nextMs };
}

function runsOn(spec: PodSpec, node: Node): boolean {
  const tolerations = [...(spec.tolerations ?? []), ...daemonTolerations];
  return matchesNode(spec, node) && toleratesTaints(tolerations, node, ["NoSchedule", "NoExecute"]);
}
