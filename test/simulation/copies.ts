import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { ownerOf, syncedLabel, tenantLabelValue } from "../../lib/sync/ownership/owner.ts";
import { type WorkloadKind, workloadResources } from "./desired-workloads.ts";
import { tenantNamespaces, type WorkloadNamespace } from "./servers.ts";

/** The id of the simulated hub; fixed, because it is part of names that a run prints. */
export const simulatedHubId = "kcp";

/** Where clusters store the kinds that tenants have. */
export const copyStorages: ReadonlyMap<WorkloadKind, string> = new Map(
  (Object.keys(workloadResources) as WorkloadKind[]).map((kind) => {
    const { group, plural } = workloadResources[kind];
    return [kind, group === "" ? plural : `${plural}.${group}`];
  }),
);

/** The names are hashes, and asked for with every request to a cluster. */
const downstreamNamespaces = new Map<string, string>();

/** The namespace on a cluster for one of a tenant's. */
export function namespaceFor(tenant: string, namespace: string): string {
  const id = `${tenant}/${namespace}`;
  const known = downstreamNamespaces.get(id);
  if (known !== undefined) return known;
  const made = downstreamNamespace({ hub: simulatedHubId, logicalCluster: tenant, namespace });
  downstreamNamespaces.set(id, made);
  return made;
}

/** The namespaces that a tenant may have on a cluster. */
export function namespacesOf(tenant: string): readonly string[] {
  return tenantNamespaces.map((namespace) => namespaceFor(tenant, namespace));
}

/** The label that all of a tenant's copies have. */
export function markOf(tenant: string): string {
  return tenantLabelValue(simulatedHubId, tenant);
}

/** Something that TMC keeps on a cluster, and whose it is by its own words. */
export type FoundCopy = Readonly<{
  kind: WorkloadKind;
  namespace: WorkloadNamespace;
  name: string;
  registration: string;
  object: KubeObject;
}>;

/** Everything that a tenant has on a cluster by TMC, as the cluster itself has it. */
export function copiesOn({ store }: EmbeddedCluster, tenant: string): readonly FoundCopy[] {
  return tenantNamespaces.flatMap((namespace) =>
    [...copyStorages].flatMap(([kind, storage]) =>
      store
        .list(storage, { logicalCluster: "", namespace: namespaceFor(tenant, namespace) })
        .flatMap((object): FoundCopy[] => {
          const origin = ownerOf(object);
          if (origin === undefined || object.metadata.labels?.[syncedLabel] !== markOf(tenant)) return [];
          return [{ kind, namespace, name: object.metadata.name ?? "", registration: origin.registration, object }];
        }),
    ),
  );
}

/** Whether a sync record names a copy, as that of its workload or as a dependency of another. */
export function isRecorded(
  records: ReadonlyMap<string, WorkloadSync>,
  { kind, namespace, name, registration }: FoundCopy,
): boolean {
  const isNamed = (record: WorkloadSync | undefined): boolean => record?.spec.clusters?.includes(registration) === true;
  return (
    isNamed(records.get(`${kind}/${namespace}/${name}`)) ||
    [...records.values()].some(
      (record) =>
        isNamed(record) &&
        record.metadata.namespace === namespace &&
        record.spec.references?.some((each) => each.kind === kind && each.name === name) === true,
    )
  );
}
