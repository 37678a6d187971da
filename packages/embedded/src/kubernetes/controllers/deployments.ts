import type { ReplicaSet } from "../kinds.ts";
import { decideDeployment } from "../workloads/deployment.ts";
import { sameTemplate } from "../workloads/template-hash.ts";
import { type ClusterController, keyOf, ownerKey } from "../world.ts";
import { ownedOrAdopted, possibleOwners } from "./adopt.ts";

const revisionKey = "deployment.kubernetes.io/revision";

/** Reconciles the replica sets of deployments. */
export const deploymentController: ClusterController = {
  name: "deployment",
  watches: {
    deployments: (deployment) => [keyOf(deployment)],
    replicasets: (set, world) => [...ownerKey(set, "Deployment"), ...possibleOwners(world, "deployments", set)],
  },
  reconcile({ namespace, name }, world) {
    const deployment = world.get("deployments", namespace, name);
    if (deployment === undefined) return undefined;
    const replicaSets = ownedOrAdopted(world, "replicasets", deployment).filter(
      (set) => set.metadata.deletionTimestamp === undefined,
    );
    const isOld = (set: ReplicaSet): boolean => !sameTemplate(set.spec.template, deployment.spec.template);
    const oldPodsRemain = replicaSets.filter(isOld).some((set) => hasPods(set));
    const plan = decideDeployment({ deployment, replicaSets, oldPodsRemain, now: world.now() });

    if (plan.create !== undefined) world.create("replicasets", plan.create);
    for (const set of plan.update) world.update("replicasets", set);
    for (const set of plan.remove) world.remove("replicasets", set);
    for (const event of plan.events) world.recordEvent(deployment, event);
    const revision = plan.revision === undefined ? {} : { [revisionKey]: plan.revision };
    world.writeStatus("deployments", deployment, plan.status, { ...deployment.metadata.annotations, ...revision });
    return plan.nextMs;

    function hasPods(set: ReplicaSet): boolean {
      return world
        .owned("pods", set.metadata.uid)
        .some((pod) => pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed");
    }
  },
};
