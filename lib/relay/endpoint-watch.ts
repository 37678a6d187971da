import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { TypeId } from "../api/workload-kinds.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { ExportEndpoint } from "../upstream/export/endpoints.ts";
import { apiBindings } from "../upstream/kcp-types.ts";
import { logicalClusterIn } from "../upstream/logical-cluster.ts";
import { watchedResources } from "../upstream/watched-resources.ts";
import type { ChangeTracker, TenantTracker } from "./event-to-key/change-tracker.ts";
import type { RelayedWorkloads } from "./event-to-key/workload-tracker.ts";
import type { RelayListener } from "./listener.ts";
import { createBoundTenants, projectBinding, type TenantChange } from "./watch/bound-tenants.ts";
import { startResourceInformer } from "./watch/resource-informer.ts";
import { createSecretWatch } from "./watch/secret-watch.ts";
import { createSharedInformers, type SharedInformers } from "./watch/shared-informers.ts";
import { listPriorityOf, startWorkloadInformer, type WorkloadInformerOptions } from "./watch/workload-informer.ts";

export type EndpointWatchOptions = Readonly<{
  endpoint: ExportEndpoint;
  types: Readonly<Record<ReconciledKind, ResourceType>>;
  tracker: ChangeTracker;
  listener: RelayListener;
  transform: (object: KubeObject) => KubeObject;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** @default no workloads */
  workloads?: RelayedWorkloads | undefined;
  /** Called with tenants that were bound or unbound at this endpoint, and after the first list of bindings. */
  onTenants(logicalClusters: readonly string[]): void;
}>;

/**
 * Watches all tenants of one endpoint at once: one watch for the bindings, one for each of our kinds, and one for secrets
 * while any registration refers to one, however many tenants there are. With workloads, also one for each resource that sync
 * depends on.
 */
export interface EndpointWatch {
  readonly endpoint: ExportEndpoint;
  /** Whether the bindings have been listed once. */
  readonly isListed: boolean;
  /** The tenants that are bound at this endpoint. */
  tenants(): readonly string[];
  hasTenant(logicalCluster: string): boolean;
  /** Starts to relay the changes of a tenant. */
  engage(logicalCluster: string): void;
  release(logicalCluster: string): void;
  stop(): Promise<void>;
}

/** Starts to watch an endpoint. */
export function watchEndpoint(options: EndpointWatchOptions): EndpointWatch {
  const { endpoint, types, tracker, listener, transform, clock, random, relistSeconds, onTenants } = options;
  const scope = endpoint.url;
  const allTenants = endpoint.at("*");
  const bound = createBoundTenants();
  const engaged = new Map<string, TenantTracker>();
  const shared = { client: allTenants, scope, listener, clock, random, relistSeconds };
  let isListed = false;
  let isStopped = false;

  const secrets = createSecretWatch({
    client: options.workloads === undefined ? allTenants : undefined,
    clusterOf: logicalClusterIn,
    clock,
    random,
    relistSeconds,
    onChanged: tracker.secretsChanged,
    onFailure: (error, retryInMs) => listener.failed?.({ what: "Secret", scope, error, retryInMs }),
  });
  const kinds = createSharedInformers<ReconciledKind>({
    resources: reconciledKinds,
    clock,
    start: (kind, handler) => startResourceInformer({ ...shared, transform, type: types[kind], what: kind }, handler),
  });
  // Separate from our kinds: nothing about these waits for the workloads of all tenants.
  const workloads = options.workloads && workloadInformers(options.workloads, { ...shared, secrets });

  const applyChanges = (changes: readonly TenantChange[]): void => {
    const moved = changes.filter(({ kind }) => kind !== "claims").map(({ logicalCluster }) => logicalCluster);
    if (moved.length > 0) onTenants(moved);
    for (const { kind, logicalCluster } of changes) {
      const tenant = engaged.get(logicalCluster);
      // A permission claim was accepted or rejected: what TMC may read has changed.
      if (kind !== "claims" || tenant === undefined) continue;
      tracker.secretsChanged(secrets.referrers(logicalCluster).map((name) => ({ logicalCluster, name })));
      tenant.workloads?.enqueueAll();
      workloads?.relist();
    }
  };
  const bindings = startResourceInformer(
    { ...shared, transform: projectBinding, type: apiBindings, what: "APIBinding" },
    {
      listed: (objects) => {
        isListed = true;
        applyChanges(bound.applyList(objects));
        onTenants([]);
      },
      changed: (object) => applyChanges(bound.applyBinding(object)),
      deleted: (object) => applyChanges(bound.removeBinding(object)),
    },
  );

  return {
    endpoint,
    get isListed() {
      return isListed;
    },
    tenants: bound.tenants,
    hasTenant: bound.has,
    engage: (logicalCluster) => {
      if (isStopped) return;
      const tenant = tracker.track(logicalCluster, secrets);
      engaged.set(logicalCluster, tenant);
      kinds.engage(logicalCluster, tenant);
      if (tenant.workloads !== undefined) workloads?.engage(logicalCluster, tenant.workloads);
    },
    release: (logicalCluster) => {
      engaged.delete(logicalCluster);
      tracker.untrack(logicalCluster);
      kinds.release(logicalCluster);
      workloads?.release(logicalCluster);
    },
    stop: async () => {
      isStopped = true;
      await Promise.all([kinds.stop(), workloads?.stop(), bindings.stop(), secrets.stop()]);
    },
  };
}

function workloadInformers(
  { types, transform = (object) => object }: RelayedWorkloads,
  shared: Omit<WorkloadInformerOptions, "transform" | "priority">,
): SharedInformers<TypeId> {
  const resources = watchedResources(types);
  const priority = listPriorityOf(resources, shared.clock);
  const byId = new Map(resources.map((resource) => [resource.id, resource]));
  return createSharedInformers({
    resources: [...byId.keys()],
    clock: shared.clock,
    start: (id, handler) => {
      const resource = byId.get(id);
      if (resource === undefined) throw new Error(`no resource ${id} is watched`);
      return startWorkloadInformer(resource, { ...shared, transform, priority }, handler);
    },
  });
}
