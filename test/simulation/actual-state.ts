import type { StorageChange } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { hasValidSelector, selectsWorkload } from "../../lib/sync/selection.ts";
import { isWorkloadKind } from "./desired-workloads.ts";
import { clusterAnnotation } from "./environment.ts";

/** What kcp has of a tenant at this moment. */
export type TenantState = Readonly<{
  registrations: ReadonlyMap<string, ClusterRegistration>;
  placements: ReadonlyMap<string, WorkloadPlacement>;
  /** By kind, namespace and name: `Deployment/shop/d0`. What workloads refer to is among them. */
  workloads: ReadonlyMap<string, KubeObject>;
  /** By the workload that they are about. */
  records: ReadonlyMap<string, WorkloadSync>;
  /** Namespaces that exist, also those that are being deleted. */
  namespaces: ReadonlyMap<string, KubeObject>;
}>;

/** What is so in kcp, whatever anybody has seen of it. */
export interface ActualState {
  take(change: StorageChange): void;
  of(tenant: string): TenantState;
  /** The cluster for which a tenant's registration of a name stands, or stood. */
  physicalOf(tenant: string, registration: string): string | undefined;
  /** Whether a placement of a tenant has ever asked for what others have made to be taken over. */
  hasAdopted(tenant: string): boolean;
}

type Tenant = {
  readonly logicalCluster: string;
  readonly registrations: Map<string, ClusterRegistration>;
  readonly placements: Map<string, WorkloadPlacement>;
  readonly workloads: Map<string, KubeObject>;
  readonly records: Map<string, WorkloadSync>;
  readonly namespaces: Map<string, KubeObject>;
  readonly physical: Map<string, string>;
  hasAdopted: boolean;
};

/** The id of a workload, or of something that one refers to. */
export function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

/** Follows what kcp stores from the beginning of a run. */
export function createActualState(): ActualState {
  const tenants = new Map<string, Tenant>();
  const tenantOf = (cluster: string): Tenant => {
    const known = tenants.get(cluster);
    if (known !== undefined) return known;
    const made: Tenant = {
      logicalCluster: cluster,
      registrations: new Map(),
      placements: new Map(),
      workloads: new Map(),
      records: new Map(),
      namespaces: new Map(),
      physical: new Map(),
      hasAdopted: false,
    };
    tenants.set(cluster, made);
    return made;
  };
  return {
    take: ({ type, key, object }) => {
      const tenant = tenantOf(key.logicalCluster);
      const put = <T>(map: Map<string, T>, id: string): void => {
        // What is stored under these names is what the kind's schema lets in.
        if (type === "DELETED") map.delete(id);
        else map.set(id, object as T);
      };
      switch (object.kind) {
        case "ClusterRegistration": {
          put(tenant.registrations, key.name);
          const physical = object.metadata.annotations?.[clusterAnnotation];
          if (physical !== undefined) tenant.physical.set(key.name, physical);
          return;
        }
        case "WorkloadPlacement":
          put(tenant.placements, key.name);
          if (((object as unknown as WorkloadPlacement).spec.adoption ?? "Never") !== "Never") tenant.hasAdopted = true;
          return;
        case "WorkloadSync": {
          const { workload } = (object as unknown as WorkloadSync).spec;
          put(tenant.records, `${workload.kind}/${key.namespace}/${workload.name}`);
          return;
        }
        case "Namespace":
          put(tenant.namespaces, key.name);
          return;
        default:
          if (!isWorkloadKind(object.kind)) return;
          put(tenant.workloads, idOf(object));
      }
    },
    of: tenantOf,
    physicalOf: (tenant, registration) => tenantOf(tenant).physical.get(registration),
    hasAdopted: (tenant) => tenantOf(tenant).hasAdopted,
  };
}

/** The placements that would govern a workload; undefined when one of them says nothing that makes sense. */
export function candidatesFor(
  { placements, namespaces }: Pick<TenantState, "placements" | "namespaces">,
  { apiVersion, kind, metadata: { labels, namespace = "" } }: KubeObject,
): readonly WorkloadPlacement[] | undefined {
  const namespaceLabels = namespaces.get(namespace)?.metadata.labels;
  const alive = [...placements.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (!alive.filter(({ spec }) => spec.workloadSelector?.namespaces?.includes(namespace)).every(hasValidSelector)) {
    return undefined;
  }
  return alive.filter(
    (placement) =>
      hasValidSelector(placement) &&
      selectsWorkload(placement, { apiVersion, kind, labels, namespace, namespaceLabels }),
  );
}
