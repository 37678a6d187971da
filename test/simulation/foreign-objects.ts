import { ApiFailure } from "@tmc/embedded/machinery/api-errors.ts";
import type { ObjectTarget } from "@tmc/embedded/storage/operations.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { namespaceFor } from "./copies.ts";
import type { SimulationEnvironment } from "./environment.ts";
import { foreignAnnotation, isOpen } from "./manual-change.ts";
import type { Physical, Servers, WorkloadNamespace } from "./servers.ts";

/** Types that TMC does not sync; people of a cluster keep such objects in the namespaces that TMC created. */
export const foreignTypes = {
  RoleBinding: { group: "rbac.authorization.k8s.io", version: "v1", plural: "rolebindings" },
  NetworkPolicy: { group: "networking.k8s.io", version: "v1", plural: "networkpolicies" },
  ResourceQuota: { group: "", version: "v1", plural: "resourcequotas" },
  Lease: { group: "coordination.k8s.io", version: "v1", plural: "leases" },
  PodDisruptionBudget: { group: "policy", version: "v1", plural: "poddisruptionbudgets" },
  Widget: { group: "example.com", version: "v1", plural: "widgets" },
} as const;
export type ForeignKind = keyof typeof foreignTypes;
export const foreignKinds = Object.keys(foreignTypes) as readonly ForeignKind[];

/** Someone creates an object of such a type in a namespace that a tenant has on a cluster, or deletes it again. */
export type ForeignInput = Readonly<{
  kind: "foreign";
  do: "create" | "delete";
  cluster: Physical;
  tenant: number;
  namespace: WorkloadNamespace;
  of: ForeignKind;
  name: string;
}>;

/** The API groups of these types; without them in the discovery, TMC would not know that they are served. */
export const foreignGroups: ReadonlySet<string> = new Set(Object.values(foreignTypes).map(({ group }) => group));
/** How clusters store them. */
export const foreignStorages = Object.values(foreignTypes).map(({ group, plural }) =>
  group === "" ? plural : `${plural}.${group}`,
);

const context = {
  user: { name: "operator", groups: ["system:masters", "system:authenticated"] },
  fieldManager: "operator",
};

/** Has every cluster serve the custom type. It is there before the first probe, so that both runs detect it. */
export function serveCustomType({ clusters, clock }: Servers): Promise<void> {
  const { group, version, plural } = foreignTypes.Widget;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  for (const { catalog, operations } of clusters.values()) {
    const definition = catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    if (definition === undefined) throw new Error("simulation: a cluster serves no CustomResourceDefinitions");
    const object: KubeObject = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural, singular: "widget", kind: "Widget", listKind: "WidgetList" },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    };
    operations.create({ definition, logicalCluster: "" }, object, context);
  }
  return clock.runUntil(clock.now());
}

/** Creates or deletes such an object, if the namespace is there. */
export function changeForeignObject(world: SimulationEnvironment, input: ForeignInput): void {
  const { cluster, tenant, namespace, of, name } = input;
  const physical = world.servers.clusters.get(cluster);
  const downstreamNamespace = namespaceFor(world.servers.tenants[tenant] ?? "", namespace);
  if (physical === undefined || !isOpen(physical, downstreamNamespace)) return;
  const { group, version, plural } = foreignTypes[of];
  const definition = physical.catalog.find(group, version, plural);
  if (definition === undefined) throw new Error(`simulation: ${cluster} does not serve ${plural}`);
  const target: ObjectTarget = { definition, logicalCluster: "", namespace: downstreamNamespace, name };
  world.log(`operator of ${cluster} ${JSON.stringify(input)}`);
  try {
    if (input.do === "create") {
      physical.operations.create(target, foreignObjectOf(of, name), context);
      return;
    }
    const { storage } = definition;
    const found = physical.store.get({ storage, logicalCluster: "", namespace: downstreamNamespace, name });
    if (found === undefined) return;
    world.monitor.mayGo(found.metadata.uid ?? "");
    physical.operations.delete(target, { propagationPolicy: "Background" }, context);
  } catch (error) {
    // It may be there already.
    if (!(error instanceof ApiFailure)) throw error;
    world.log(`operator of ${cluster}: ${error.message}`);
  }
}

const contents: Readonly<Record<ForeignKind, object>> = {
  RoleBinding: {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "auditors" }],
  },
  NetworkPolicy: { spec: { podSelector: {}, policyTypes: ["Ingress"], ingress: [{}] } },
  ResourceQuota: { spec: { hard: { "count/jobs.batch": "100" } } },
  Lease: { spec: { holderIdentity: "operator", leaseDurationSeconds: 15 } },
  PodDisruptionBudget: { spec: { minAvailable: 0, selector: { matchLabels: { app: "none" } } } },
  Widget: { spec: { size: 3 } },
};

function foreignObjectOf(kind: ForeignKind, name: string): KubeObject {
  const { group, version } = foreignTypes[kind];
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { apiVersion, kind, metadata: { name, annotations: { [foreignAnnotation]: "hands off" } }, ...contents[kind] };
}
