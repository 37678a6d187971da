import type { Behavior } from "../behavior.ts";
import type { ClusterController } from "../world.ts";
import { daemonSetController } from "./daemon-sets.ts";
import { deploymentController } from "./deployments.ts";
import { cronJobController, jobController } from "./jobs.ts";
import { createKubelet } from "./kubelet.ts";
import { createNamespaceDefaultsController } from "./namespaces.ts";
import { autoscalerController, disruptionController } from "./observers.ts";
import { replicaSetController } from "./replica-sets.ts";
import { createScheduler } from "./scheduler.ts";
import { createLoadBalancers, endpointController } from "./services.ts";
import { statefulSetController } from "./stateful-sets.ts";
import { volumeController } from "./volumes.ts";

/** Creates the controllers of a control plane that runs no workloads. */
export function controlPlaneControllers(ca: string): readonly ClusterController[] {
  return [createNamespaceDefaultsController(ca)];
}

/** Creates the controllers of one cluster; some of them are stateful. */
export function clusterControllers(behavior: Behavior, ca: string): readonly ClusterController[] {
  return [
    createNamespaceDefaultsController(ca),
    deploymentController,
    replicaSetController,
    statefulSetController,
    daemonSetController,
    cronJobController,
    jobController,
    volumeController,
    createScheduler(behavior),
    createKubelet(behavior),
    endpointController,
    ...createLoadBalancers(behavior),
    autoscalerController,
    disruptionController,
  ];
}
