import { ApiFailure } from "../../api-failure.ts";
import { formatTime } from "../kinds.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { decideReplicaSet, replicaSetStatus } from "../workloads/replica-set.ts";
import { type Controller, type EventNote, keyOf, ownerKey } from "../world.ts";
import { ownedOrAdopted, possibleOwners } from "./adopt.ts";

// As many as the real controller makes in one go.
const burst = 500;

const note = (type: EventNote["type"], reason: string, message: string): EventNote => ({
  type,
  reason,
  message,
  source: "replicaset-controller",
});

/** Keeps as many pods of a replica set as it asks for. */
export const replicaSetController: Controller = {
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
    for (let made = 0; made < Math.min(plan.create, burst) && failure === undefined; made += 1) {
      try {
        const pod = world.create("pods", podFromTemplate(set, set.spec.template));
        world.note(set, note("Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`));
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        failure = { reason: "FailedCreate", message: error.message, time: formatTime(world.now()) };
        world.note(set, note("Warning", "FailedCreate", `Error creating: ${error.message}`));
      }
    }
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.note(set, note("Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`));
    }
    const pods = world.owned("pods", set.metadata.uid);
    world.writeStatus("replicasets", set, replicaSetStatus({ set, pods, now: world.now() }, failure));
    // Tried again with growing patience: what refuses a pod now (a quota, a missing account) may stay for long.
    if (failure !== undefined) throw new Error(`replica set ${namespace}/${name}: ${failure.message}`);
    return plan.nextMs;
  },
};
