import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { ApiFailure } from "@tmc/embedded/machinery/api-errors.ts";
import type { ObjectTarget } from "@tmc/embedded/storage/operations.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ownerAnnotation, syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { namespaceFor } from "./copies.ts";
import { type WorkloadKind, workloadResources } from "./desired-workloads.ts";
import type { SimulationEnvironment } from "./environment.ts";
import type { Deed, Input } from "./scenario.ts";

/** By this annotation a stranger's object says that nobody but its owner may touch it. */
export const foreignAnnotation = "simulation/stranger";

const user = { name: "somebody", groups: ["system:masters", "system:authenticated"] };
const context = { user, fieldManager: "somebody" };

const otherImage = {
  spec: { template: { spec: { containers: [{ name: "main", image: "registry.example/hand:1" }] } } },
};

/** Does on a cluster what somebody does there, past everything that goes wrong between others. */
export function changeByHand(
  world: SimulationEnvironment,
  { cluster, tenant, deed }: Extract<Input, { kind: "hand" }>,
): void {
  const physical = world.servers.clusters.get(cluster);
  const namespace = namespaceFor(world.servers.tenants[tenant] ?? "", deed.namespace);
  if (physical === undefined || !isOpen(physical, namespace)) return;
  world.log(`hand on ${cluster} ${tenant} ${JSON.stringify(deed)}`);
  try {
    act(physical, namespace, deed);
  } catch (error) {
    // What is not there cannot be changed, and what is there not made.
    if (!(error instanceof ApiFailure)) throw error;
    world.log(`hand finds ${error.message}`);
  }
}

function act({ operations, catalog }: EmbeddedCluster, namespace: string, deed: Deed): void {
  const kind: WorkloadKind = deed.do === "scale" ? "Deployment" : deed.of;
  const { group, version, plural } = workloadResources[kind];
  const definition = catalog.find(group, version, plural);
  if (definition === undefined) return;
  const target: ObjectTarget = { definition, logicalCluster: "", namespace, name: deed.name };
  const merge = (body: object): void => void operations.patch(target, { kind: "merge", body }, context);
  switch (deed.do) {
    case "scale":
      merge({ spec: { replicas: deed.replicas } });
      return;
    case "change":
      merge(kind === "Deployment" ? otherImage : { data: { word: "aGFuZA==" } });
      return;
    case "delete":
      operations.delete(target, { propagationPolicy: "Background" }, context);
      return;
    case "unmark":
      merge({ metadata: { labels: { [syncedLabel]: null }, annotations: { [ownerAnnotation]: null } } });
      return;
    case "squat":
      operations.create(target, foreignObject(kind, deed.name, {}), context);
      return;
    case "leave":
      operations.create(target, foreignObject(kind, deed.name, { [foreignAnnotation]: "hands off" }), context);
  }
}

/** Whether there is such a namespace, and it stays. */
export function isOpen({ store }: EmbeddedCluster, name: string): boolean {
  const namespace = store.get({ storage: "namespaces", logicalCluster: "", namespace: "", name });
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

function foreignObject(kind: WorkloadKind, name: string, annotations: Record<string, string>): KubeObject {
  const metadata = { name, annotations };
  if (kind !== "Deployment") return { apiVersion: "v1", kind, metadata, data: { word: "aGFuZA==" } };
  const labels = { foreign: name };
  const spec = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "registry.example/other:1" }] },
    },
  };
  return { apiVersion: "apps/v1", kind, metadata, spec };
}
