import type { KubeClient } from "@tmc/kube/client.ts";
import type { Informer } from "@tmc/kube/informer/informer.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ExportAddress, formatExportAddress } from "../upstream/export/address.ts";
import { type ExportEndpoint, endpointUrlsOf } from "../upstream/export/endpoints.ts";
import type { ExportHub } from "../upstream/export/hub.ts";
import { endpointSlices } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { type EndpointWatch, watchEndpoint } from "./endpoint-watch.ts";
import { type ChangeTracker, createChangeTracker } from "./event-to-key/change-tracker.ts";
import type { RelayListener } from "./listener.ts";
import { defaultRelistSeconds, type Relay, type RelayParts, relayOf, stopRelay } from "./relay.ts";
import { createInitialLists } from "./watch/initial-lists.ts";
import { startResourceInformer } from "./watch/resource-informer.ts";

export type ExportRelayOptions = RelayParts &
  Readonly<{
    /** A client at the root of the server that has the export's workspace. */
    provider: KubeClient;
    export: ExportAddress;
    /** Gets the endpoints as the relay reads them, and the endpoint of each tenant. */
    hub: Pick<ExportHub, "endpoints" | "setEndpoints" | "setEndpointOf">;
  }>;

/** A relay for all tenants of an export. */
export interface ExportRelay extends Relay {
  /** The URLs of the endpoints that are watched. */
  endpoints(): readonly string[];
  /** The logical clusters whose changes are relayed. */
  tenants(): readonly string[];
  isEngaged(logicalCluster: string): boolean;
}

/** An endpoint that could not be opened is tried again after this long. */
const retryMs = 30_000;

/**
 * Creates the relay for all tenants of an export.
 *
 * The relay watches the endpoint slice of the export and, behind each endpoint, all tenants at once: the number of watches
 * does not grow with the tenants. A tenant is engaged from when its binding is ready until the binding is deleted. State of a
 * tenant belongs to one endpoint: resourceVersions of two endpoints are never compared.
 */
export function createExportRelay(options: ExportRelayOptions): ExportRelay {
  const { provider, hub, types, clock, random, workloads, listener = {}, transform = (object) => object } = options;
  const relistSeconds = options.relistSeconds ?? defaultRelistSeconds;
  const address = formatExportAddress(options.export);
  const tracker = createChangeTracker({ ...options, listener, onListed: () => initialLists.check() });
  const endpoints = new Map<string, EndpointWatch>();
  const assignments = createTenantAssignments({ endpoints, tracker, hub, listener });
  let slices: Informer | undefined;
  let isSliceRead = false;
  let isStopped = false;
  /** Changes of the endpoints run one after the other: opening one may take time. */
  let changing: Promise<void> = Promise.resolve();
  let cancelRetry = (): void => {};

  const unlisted = (): readonly string[] => [
    ...(isSliceRead ? [] : [`endpoints of ${address}`]),
    ...[...endpoints].filter(([, { isListed }]) => !isListed).map(([url]) => `tenants at ${url}`),
    ...tracker.unlisted(),
  ];
  const initialLists = createInitialLists(unlisted);

  const onTenants = (logicalClusters: readonly string[]): void => {
    if (isStopped) return;
    for (const logicalCluster of logicalClusters) assignments.assign(logicalCluster);
    initialLists.check();
  };

  const closeEndpoints = async (isClosed: (endpoint: ExportEndpoint) => boolean): Promise<void> => {
    const closed = [...endpoints.values()].filter(({ endpoint }) => isClosed(endpoint));
    for (const { endpoint } of closed) endpoints.delete(endpoint.url);
    for (const each of closed) for (const logicalCluster of each.tenants()) assignments.assign(logicalCluster);
    await Promise.all(closed.map((each) => each.stop()));
  };
  const applyUrls = async (urls: readonly string[]): Promise<void> => {
    if (isStopped) return;
    cancelRetry();
    await closeEndpoints(({ url }) => !urls.includes(url));
    await hub.setEndpoints(urls);
    const opened = hub.endpoints();
    // An endpoint that was closed and opened again meanwhile has other connections.
    await closeEndpoints((endpoint) => !opened.includes(endpoint));
    if (isStopped) return;
    for (const endpoint of opened) {
      if (endpoints.has(endpoint.url)) continue;
      const shared = { types, tracker, listener, transform, clock, random, relistSeconds, workloads, onTenants };
      endpoints.set(endpoint.url, watchEndpoint({ ...shared, endpoint }));
    }
    isSliceRead = true;
    initialLists.check();
    if (endpoints.size < urls.length) cancelRetry = clock.after(retryMs, () => enqueue(urls));
  };
  const enqueue = (urls: readonly string[]): void => {
    const onFailure = (error: unknown): void => {
      listener.failed?.({ what: "APIExportEndpointSlice", scope: address, error, retryInMs: retryMs });
      cancelRetry = clock.after(retryMs, () => enqueue(urls));
    };
    changing = changing.then(() => applyUrls(urls)).catch(onFailure);
  };
  const applySlice = (slice: KubeObject | undefined): void => {
    // A missing slice names no endpoint, and closes none.
    if (slice === undefined && isSliceRead) return;
    enqueue(slice === undefined ? [] : endpointUrlsOf(slice));
  };
  const isOurs = ({ metadata }: KubeObject): boolean => metadata.name === options.export.name;

  return {
    ...relayOf(tracker, initialLists, unlisted),
    start: () => {
      slices ??= startResourceInformer(
        {
          client: clientOf(provider, options.export.path),
          type: endpointSlices,
          what: "APIExportEndpointSlice",
          scope: address,
          listener,
          transform: (object) => object,
          clock,
          random,
          relistSeconds,
        },
        {
          listed: (objects) => applySlice(objects.find(isOurs)),
          changed: (object) => {
            if (isOurs(object)) applySlice(object);
          },
          deleted: () => {},
        },
      );
    },
    stop: (limitMs) => {
      isStopped = true;
      cancelRetry();
      const stopping = [changing, ...[...endpoints.values()].map((each) => each.stop())];
      return stopRelay(
        { clock, tracker, initialLists, limitMs },
        slices === undefined ? stopping : [slices.stop(), ...stopping],
      );
    },
    endpoints: () => [...endpoints.keys()],
    tenants: assignments.tenants,
    isEngaged: assignments.has,
    get unsent() {
      return tracker.outbox.size;
    },
    get limited() {
      return tracker.outbox.limited;
    },
    get isQueueFailing() {
      return tracker.outbox.isFailing;
    },
  };
}

/** The endpoint of each engaged tenant. */
type TenantAssignments = Readonly<{
  /** Engages a tenant at an endpoint that has it, and releases it elsewhere. A tenant that two endpoints have is not moved. */
  assign(logicalCluster: string): void;
  has(logicalCluster: string): boolean;
  tenants(): readonly string[];
}>;

function createTenantAssignments({
  endpoints,
  tracker,
  hub,
  listener,
}: Readonly<{
  endpoints: ReadonlyMap<string, EndpointWatch>;
  tracker: Pick<ChangeTracker, "untrack">;
  hub: Pick<ExportHub, "setEndpointOf">;
  listener: Pick<RelayListener, "released">;
}>): TenantAssignments {
  const urlOf = new Map<string, string>();
  const release = (logicalCluster: string, url: string): void => {
    const endpoint = endpoints.get(url);
    // An endpoint that was closed has released nothing in the tracker.
    if (endpoint === undefined) tracker.untrack(logicalCluster);
    else endpoint.release(logicalCluster);
    urlOf.delete(logicalCluster);
    hub.setEndpointOf(logicalCluster, undefined);
    listener.released?.(logicalCluster);
  };
  return {
    assign: (logicalCluster) => {
      const current = urlOf.get(logicalCluster);
      if (current !== undefined && endpoints.get(current)?.hasTenant(logicalCluster) === true) return;
      const next = [...endpoints.values()].find((each) => each.hasTenant(logicalCluster));
      if (current !== undefined) release(logicalCluster, current);
      if (next === undefined) return;
      urlOf.set(logicalCluster, next.endpoint.url);
      hub.setEndpointOf(logicalCluster, next.endpoint.url);
      next.engage(logicalCluster);
    },
    has: (logicalCluster) => urlOf.has(logicalCluster),
    tenants: () => [...urlOf.keys()],
  };
}
