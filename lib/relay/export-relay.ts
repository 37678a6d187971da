import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ExportAddress, formatExportAddress } from "../upstream/export/address.ts";
import { type ExportEndpoint, urlsOf } from "../upstream/export/endpoints.ts";

import type { ExportHub } from "../upstream/export/hub.ts";
import { endpointSlices } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { createLedger } from "./change-tracker.ts";
import { type EndpointWatch, watchEndpoint } from "./endpoint-watch.ts";
import { type Following, follow } from "./follow.ts";
import { createListing } from "./initial-lists.ts";
import { defaultRelistSeconds, type Relay, type RelayParts, relayOf, stopRelay } from "./relay.ts";

export type ExportRelayOptions = RelayParts &
  Readonly<{
    /** A client at the root of the server that has the export's workspace. */
    provider: KubeClient;
    export: ExportAddress;
    /** Is told the endpoints as they are seen, and where each tenant is. */
    hub: Pick<ExportHub, "endpoints" | "take" | "placed">;
  }>;

/** A relay over all tenants of an export. */
export interface ExportRelay extends Relay {
  /** Addresses of the endpoints that are watched. */
  endpoints(): readonly string[];
  /** The logical clusters that are looked after. */
  tenants(): readonly string[];
  /** Whether a logical cluster is one of them. */
  isEngaged(logicalCluster: string): boolean;
}

/** An endpoint that could not be opened is tried again after this long. */
const retryMs = 30_000;

/**
 * Creates the relay over all tenants of an export.
 *
 * The export's endpoints are watched as data that changes; behind each of them all tenants are watched at once, so the number
 * of watches does not grow with them. A tenant is looked after from when its binding is ready until that has gone. What is
 * known of a tenant belongs to its endpoint: versions of two endpoints are never compared.
 */
export function createExportRelay(options: ExportRelayOptions): ExportRelay {
  const { provider, hub, types, clock, random, listener = {}, slim = (object) => object } = options;
  const relistSeconds = options.relistSeconds ?? defaultRelistSeconds;
  const address = formatExportAddress(options.export);
  const ledger = createLedger({ ...options, listener, onListed: () => listing.look() });
  const endpoints = new Map<string, EndpointWatch>();
  /** At which endpoint each tenant is looked after. */
  const owners = new Map<string, string>();
  let slices: Following | undefined;
  let isSliceRead = false;
  let stopped = false;
  /** Changes of the endpoints happen one after the other: opening one may take time. */
  let changing: Promise<void> = Promise.resolve();
  let cancelRetry = (): void => {};

  const unlisted = (): readonly string[] => [
    ...(isSliceRead ? [] : [`endpoints of ${address}`]),
    ...[...endpoints].filter(([, each]) => !each.isListed).map(([url]) => `tenants at ${url}`),
    ...ledger.unlisted(),
  ];
  const listing = createListing(unlisted);

  /** Has a tenant looked after where it is seen; one that is seen at two endpoints stays where it was. */
  const settle = (logicalCluster: string): void => {
    const owner = owners.get(logicalCluster);
    if (owner !== undefined && endpoints.get(owner)?.shows(logicalCluster) === true) return;
    const next = [...endpoints.values()].find((each) => each.shows(logicalCluster));
    if (owner !== undefined) {
      const before = endpoints.get(owner);
      if (before === undefined) ledger.close(logicalCluster);
      else before.release(logicalCluster);
      owners.delete(logicalCluster);
      hub.placed(logicalCluster, undefined);
      listener.released?.(logicalCluster);
    }
    if (next === undefined) return;
    owners.set(logicalCluster, next.endpoint.url);
    hub.placed(logicalCluster, next.endpoint.url);
    next.engage(logicalCluster);
  };
  const onRoll = (clusters: readonly string[]): void => {
    if (stopped) return;
    for (const logicalCluster of clusters) settle(logicalCluster);
    listing.look();
  };

  const leave = async (isLeft: (endpoint: ExportEndpoint) => boolean): Promise<void> => {
    const left = [...endpoints.values()].filter(({ endpoint }) => isLeft(endpoint));
    for (const { endpoint } of left) endpoints.delete(endpoint.url);
    for (const each of left) for (const logicalCluster of each.clusters()) settle(logicalCluster);
    await Promise.all(left.map((each) => each.stop()));
  };
  const change = async (urls: readonly string[]): Promise<void> => {
    if (stopped) return;
    cancelRetry();
    await leave(({ url }) => !urls.includes(url));
    await hub.take(urls);
    const opened = hub.endpoints();
    // One that was closed and opened anew in between has other connections.
    await leave((endpoint) => !opened.includes(endpoint));
    if (stopped) return;
    for (const endpoint of opened) {
      if (endpoints.has(endpoint.url)) continue;
      const { workloads } = options;
      const watching = { types, ledger, listener, slim, clock, random, relistSeconds, workloads, onRoll };
      endpoints.set(endpoint.url, watchEndpoint({ ...watching, endpoint }));
    }
    isSliceRead = true;
    listing.look();
    if (endpoints.size < urls.length) cancelRetry = clock.after(retryMs, () => enqueue(urls));
  };
  const enqueue = (urls: readonly string[]): void => {
    const onFailure = (error: unknown): void => {
      listener.trouble?.({ what: "APIExportEndpointSlice", logicalCluster: address, error, retryInMs: retryMs });
      cancelRetry = clock.after(retryMs, () => enqueue(urls));
    };
    changing = changing.then(() => change(urls)).catch(onFailure);
  };
  const take = (slice: KubeObject | undefined): void => {
    // A slice that is not there names no endpoint, and takes none away.
    if (slice === undefined && isSliceRead) return;
    enqueue(slice === undefined ? [] : urlsOf(slice));
  };
  const isOurs = ({ metadata }: KubeObject): boolean => metadata.name === options.export.name;

  return {
    ...relayOf(ledger, listing, unlisted),
    start: () => {
      slices ??= follow(
        {
          client: clientOf(provider, options.export.path),
          type: endpointSlices,
          what: "APIExportEndpointSlice",
          place: address,
          listener,
          clock,
          random,
          relistSeconds,
        },
        {
          listed: (objects) => take(objects.find(isOurs)),
          changed: (object) => isOurs(object) && take(object),
          deleted: () => {},
        },
      );
    },
    stop: (limitMs) => {
      stopped = true;
      cancelRetry();
      const ends = [changing, ...[...endpoints.values()].map((each) => each.stop())];
      return stopRelay({ clock, ledger, listing, limitMs }, slices === undefined ? ends : [slices.stop(), ...ends]);
    },
    endpoints: () => [...endpoints.keys()],
    tenants: () => [...owners.keys()],
    isEngaged: (logicalCluster) => owners.has(logicalCluster),
    get unsent() {
      return ledger.outbox.size;
    },
    get limited() {
      return ledger.outbox.limited;
    },
    get isQueueFailing() {
      return ledger.outbox.isFailing;
    },
  };
}
