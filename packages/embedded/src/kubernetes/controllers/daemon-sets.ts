import { decideDaemonSet, tiedToNode } from "../workloads/daemon-set.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { revisionLabel } from "../workloads/stateful-set.ts";
import { type Controller, type EventNote, keyOf, ownerKey } from "../world.ts";
import { ownedOrAdopted, possibleOwners } from "./adopt.ts";
import { hashOf, recordRevision } from "./revisions.ts";

const note = (reason: string, message: string): EventNote => ({
  type: "Normal",
  reason,
  message,
  source: "daemonset-controller",
});

/** Keeps one pod of each daemon set on every node that takes it. */
export const daemonSetController: Controller = {
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
    const updateHash = hashOf(current, set);
    const facts = { set, updateHash, nodes: world.list("nodes") };
    const plan = decideDaemonSet({ ...facts, pods, now: world.now() });
    for (const node of plan.create) {
      const pod = world.create(
        "pods",
        podFromTemplate(set, set.spec.template, {
          labels: { [revisionLabel]: updateHash, "pod-template-generation": String(set.metadata.generation ?? 1) },
          spec: tiedToNode(set.spec.template.spec, node),
        }),
      );
      world.note(set, note("SuccessfulCreate", `Created pod: ${pod.metadata.name}`));
    }
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.note(set, note("SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`));
    }
    const after = decideDaemonSet({ ...facts, pods: world.owned("pods", set.metadata.uid), now: world.now() });
    world.writeStatus("daemonsets", set, after.status);
    return plan.nextMs;
  },
};
