import { decideDaemonSet, pinnedToNode } from "../workloads/daemon-set.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { revisionLabel } from "../workloads/stateful-set.ts";
import { type ClusterController, type EventContent, keyOf, ownerKey } from "../world.ts";
import { ownedOrAdopted, possibleOwners } from "./adopt.ts";
import { recordRevision, revisionHash } from "./revisions.ts";

const normalEvent = (reason: string, message: string): EventContent => ({
  type: "Normal",
  reason,
  message,
  source: "daemonset-controller",
});

/** Keeps one pod of each daemon set on every eligible node. */
export const daemonSetController: ClusterController = {
  name: "daemonset",
  watches: {
    daemonsets: (set) => [keyOf(set)],
    pods: (pod, world) => [...ownerKey(pod, "DaemonSet"), ...possibleOwners(world, "daemonsets", pod)],
    nodes: (_, world) => world.list("daemonsets").map(keyOf),
  },
  reconcile({ namespace, name }, world) {
    const set = world.get("daemonsets", namespace, name);
    if (set === undefined) return undefined;
    const pods = ownedOrAdopted(world, "pods", set);
    const inUse = new Set(pods.map((pod) => `${name}-${pod.metadata.labels?.[revisionLabel] ?? ""}`));
    const { current } = recordRevision(world, set, revisionLabel, inUse);
    const updateHash = revisionHash(current, set);
    const facts = { set, updateHash, nodes: world.list("nodes") };
    const plan = decideDaemonSet({ ...facts, pods, now: world.now() });
    for (const node of plan.create) {
      const pod = world.create(
        "pods",
        podFromTemplate(set, set.spec.template, {
          labels: { [revisionLabel]: updateHash, "pod-template-generation": String(set.metadata.generation ?? 1) },
          spec: pinnedToNode(set.spec.template.spec, node),
        }),
      );
      world.recordEvent(set, normalEvent("SuccessfulCreate", `Created pod: ${pod.metadata.name}`));
    }
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.recordEvent(set, normalEvent("SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`));
    }
    const after = decideDaemonSet({ ...facts, pods: world.owned("pods", set.metadata.uid), now: world.now() });
    world.writeStatus("daemonsets", set, after.status);
    return plan.nextMs;
  },
};
