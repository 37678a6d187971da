import type { Behaviour } from "../behaviour.ts";
import type { Controller } from "../world.ts";
import { daemonSetController } from "./daemon-sets.ts";
import { deploymentController } from "./deployments.ts";
import { cronJobController, jobController } from "./jobs.ts";
import { createKubelet } from "./kubelet.ts";
import { createNamespaceFurnisher } from "./namespaces.ts";
import { autoscalerController, disruptionController } from "./observers.ts";
import { replicaSetController } from "./replica-sets.ts";
import { createScheduler } from "./scheduler.ts";
import { createLoadBalancers, endpointController } from "./services.ts";
import { statefulSetController } from "./stateful-sets.ts";
import { volumeController } from "./volumes.ts";

/** Creates every controller of a cluster; each cluster has its own, for some of them remember. */
export function clusterControllers(behaviour: Behaviour, ca: string): readonly Controller[] {
  return [
    createNamespaceFurnisher(ca),
    deploymentController,
    replicaSetController,
    statefulSetController,
    daemonSetController,
    cronJobController,
    jobController,
    volumeController,
    createScheduler(behaviour),
    createKubelet(behaviour),
    endpointController,
    ...createLoadBalancers(behaviour),
    autoscalerController,
    disruptionController,
  ];
}
