import { ApiFailure } from "../../machinery/api-errors.ts";
import { formatTime } from "../kinds.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { decideReplicaSet, replicaSetStatus } from "../workloads/replica-set.ts";
import { type ClusterController, type EventContent, keyOf, ownerKey } from "../world.ts";
import { ownedOrAdopted, possibleOwners } from "./adopt.ts";

// Pods that the real controller creates per reconcile at most.
const burst = 500;

const replicaSetEvent = (type: EventContent["type"], reason: string, message: string): EventContent => ({
  type,
  reason,
  message,
  source: "replicaset-controller",
});

/** Keeps the desired number of pods of each replica set. */
export const replicaSetController: ClusterController = {
  name: "replicaset",
  watches: {
    replicasets: (set) => [keyOf(set)],
    pods: (pod, world) => [...ownerKey(pod, "ReplicaSet"), ...possibleOwners(world, "replicasets", pod)],
  },
  reconcile({ namespace, name }, world) {
    const set = world.get("replicasets", namespace, name);
    if (set === undefined) return undefined;
    const plan = decideReplicaSet({ set, pods: ownedOrAdopted(world, "pods", set), now: world.now() });
    let failure: { reason: string; message: string; time: string } | undefined;
    for (let created = 0; created < Math.min(plan.create, burst) && failure === undefined; created += 1) {
      try {
        const pod = world.create("pods", podFromTemplate(set, set.spec.template));
        world.recordEvent(set, replicaSetEvent("Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`));
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        failure = { reason: "FailedCreate", message: error.message, time: formatTime(world.now()) };
        world.recordEvent(set, replicaSetEvent("Warning", "FailedCreate", `Error creating: ${error.message}`));
      }
    }
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.recordEvent(set, replicaSetEvent("Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`));
    }
    const pods = world.owned("pods", set.metadata.uid);
    world.writeStatus("replicasets", set, replicaSetStatus({ set, pods, now: world.now() }, failure));
    // Retried with backoff: the reason (a quota, a missing service account) may last.
    if (failure !== undefined) throw new Error(`replica set ${namespace}/${name}: ${failure.message}`);
    return plan.nextMs;
  },
};
