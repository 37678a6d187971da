import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted, unlessAborted } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseServerAddress, trimTrailingSlashes } from "@tmc/kube/kubeconfig/server-address.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { type ApiExportEndpointSlice, endpointSlices } from "../kcp-types.ts";
import { clientOf } from "../logical-cluster.ts";
import type { ExportAddress } from "./address.ts";

/** The virtual workspace of an export on one shard; it serves the tenants of that shard. */
export type ExportEndpoint = Readonly<{
  url: string;
  /** A client for the logical cluster of one tenant; "*" lists and watches all of them. */
  at(logicalCluster: string): KubeClient;
}>;

/** Opens a client for a URL on another server than the provider's, with the same credentials. */
export type OpenExportEndpoint = (url: string) => KubeClient | Promise<KubeClient>;

export type ExportEndpointsOptions = Readonly<{
  /** A client at the root of the server that has the export's workspace. */
  provider: KubeClient;
  export: ExportAddress;
  openEndpoint: OpenExportEndpoint;
  clock: Clock;
  random: () => number;
  /** Called for a URL that cannot be used; the others are. */
  onRejected?: ((url: string, error: unknown) => void) | undefined;
}>;

/** The endpoints of an export as last read from its APIExportEndpointSlice. They change when shards are added or removed. */
export interface ExportEndpoints {
  /** Undefined before the first read. */
  current(): readonly ExportEndpoint[] | undefined;
  /** Reads the slice again if the last read is older than `olderThanMs`. If that fails, the known endpoints are kept. */
  refresh(signal: AbortSignal, olderThanMs?: number): Promise<void>;
  /** Sets the URLs from a watch of the slice. From then on the endpoints are never stale. */
  set(urls: readonly string[]): Promise<void>;
  /** Whether the endpoints should be read again because of their age. */
  isStale(): boolean;
  /** Closes the connections to other servers than the provider's. */
  close(): Promise<void>;
}

const ttlMs = 60_000;
const ttlAfterFailureMs = 10_000;

type Opened = ExportEndpoint & Readonly<{ close: () => Promise<void> }>;

/** Creates the endpoints of an export; nothing is read yet. */
export function createExportEndpoints(options: ExportEndpointsOptions): ExportEndpoints {
  const { provider, openEndpoint, clock, random, onRejected = () => {} } = options;
  let opened: readonly Opened[] | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let staleAtMs = Number.NEGATIVE_INFINITY;
  let isWatched = false;
  let reading: Promise<void> | undefined;
  /** Serializes changes of the set. */
  let changing: Promise<void> = Promise.resolve();
  let closed = false;

  const open = async (url: string): Promise<Opened | undefined> => {
    try {
      const { origin, basePath } = requireHttps(url);
      const isProvider = origin === parseServerAddress(provider.server).origin;
      const client = isProvider ? provider : await openEndpoint(url);
      const at = (logicalCluster: string): KubeClient => client.at(`${basePath}/clusters/${logicalCluster}`);
      return { url, at, close: isProvider ? async () => {} : () => client.close() };
    } catch (error) {
      onRejected(url, error);
      return undefined;
    }
  };
  const change = (urls: readonly string[]): Promise<void> => {
    changing = changing.then(async () => {
      const before = opened ?? [];
      const desired = await Promise.all(urls.map(async (url) => before.find((each) => each.url === url) ?? open(url)));
      opened = desired.filter((each) => each !== undefined);
      const removed = before.filter((each) => opened?.includes(each) !== true);
      // A failure to close has no consequence.
      await Promise.allSettled((closed ? opened : removed).map((each) => each.close()));
    });
    return changing;
  };

  const read = async (): Promise<void> => {
    try {
      const urls = await readEndpointUrls(provider, options.export);
      readAtMs = clock.monotonicMs();
      staleAtMs = clock.monotonicMs() + ttlMs * (0.8 + 0.4 * random());
      // A missing slice does not remove known endpoints.
      if (urls !== undefined || opened === undefined) await change(urls ?? []);
    } catch (error) {
      staleAtMs = clock.monotonicMs() + ttlAfterFailureMs;
      if (opened === undefined) throw error;
    }
  };

  return {
    current: () => opened,
    isStale: () => !isWatched && clock.monotonicMs() >= staleAtMs,
    refresh: async (signal = neverAborted, olderThanMs = 0) => {
      if (opened !== undefined && clock.monotonicMs() - readAtMs < olderThanMs) return;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await unlessAborted(reading, signal);
    },
    set: (urls) => {
      isWatched = true;
      readAtMs = clock.monotonicMs();
      return change(urls);
    },
    close: async () => {
      closed = true;
      await changing;
      await Promise.allSettled((opened ?? []).map((each) => each.close()));
    },
  };
}

/** The same credentials for another server. The expected server name of the certificate applies to the original server only. */
export function endpointAt(endpoint: Endpoint, url: string): Endpoint {
  const { origin } = requireHttps(url);
  const isSame = origin === parseServerAddress(endpoint.server).origin;
  return { ...endpoint, server: url, ...(isSame ? {} : { serverName: undefined }) };
}

function requireHttps(url: string): ReturnType<typeof parseServerAddress> {
  const address = parseServerAddress(url);
  // Also required for localhost: the URL comes from an object, and TMC sends credentials to it.
  if (address.protocol === "https:") return address;
  throw new ControllerError("invalid", `endpoint ${address.hostname}: is not https, so TMC sends no credentials`);
}

/**
 * Reads the URLs of an export's virtual workspaces, one per shard with tenants, in a fixed order; undefined without a slice. An
 * empty slice is normal after the installation.
 *
 * This is a list instead of a get because the user of the relay may only list and watch.
 */
export async function readEndpointUrls(
  provider: KubeClient,
  { path, name }: ExportAddress,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  const { items } = await clientOf(provider, path).listAll<ApiExportEndpointSlice>(
    { type: endpointSlices },
    { signal },
  );
  const slice = items.find(({ metadata }) => metadata.name === name);
  return slice === undefined ? undefined : endpointUrlsOf(slice);
}

/** The URLs in a slice, sorted. */
export function endpointUrlsOf(slice: KubeObject): readonly string[] {
  const { status } = slice as ApiExportEndpointSlice; // validated by kcp's schema
  return [...new Set((status?.endpoints ?? []).map(({ url }) => trimTrailingSlashes(url)))].toSorted();
}
