import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted, unlessAborted } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseServerAddress } from "@tmc/kube/server-address.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { type EndpointSlice, endpointSlices } from "../kcp-types.ts";
import { clientOf } from "../logical-cluster.ts";
import type { ExportAddress } from "./address.ts";

/** One of the addresses at which an export's tenants are reached: the virtual workspace of a shard. */
export type ExportEndpoint = Readonly<{
  url: string;
  /** A client in one tenant's logical cluster, by its name; "*" is all of them, to list and watch. */
  at(logicalCluster: string): KubeClient;
}>;

/** Opens a client for an address on another server than the provider's, with the same credentials. */
export type OpenExportEndpoint = (url: string) => KubeClient | Promise<KubeClient>;

export type ExportEndpointsOptions = Readonly<{
  /** A client at the root of the server that has the export's workspace. */
  provider: KubeClient;
  export: ExportAddress;
  openEndpoint: OpenExportEndpoint;
  clock: Clock;
  random: () => number;
  /** Hears of an address that cannot be used; the others can. */
  onRefused?: ((url: string, error: unknown) => void) | undefined;
}>;

/** The endpoints of an export as they were last read. Shards come and go, so they are data that changes. */
export interface ExportEndpoints {
  /** Undefined before they have been read once. */
  current(): readonly ExportEndpoint[] | undefined;
  /** Reads them again where that was longer ago than the time given, and keeps what is known where they cannot be read. */
  refresh(signal: AbortSignal, olderThanMs?: number): Promise<void>;
  /** Takes what somebody who watches the slice has seen; they are read no more for their age from then on. */
  take(urls: readonly string[]): Promise<void>;
  /** Whether they ought to be read again for their age. */
  isStale(): boolean;
  /** Ends the connections to servers other than the provider's. */
  close(): Promise<void>;
}

const rememberMs = 60_000;
const rememberWhileDownMs = 10_000;

type Opened = ExportEndpoint & Readonly<{ close: () => Promise<void> }>;

/** Creates the endpoints of an export; none is known yet. */
export function createExportEndpoints(options: ExportEndpointsOptions): ExportEndpoints {
  const { provider, openEndpoint, clock, random, onRefused = () => {} } = options;
  let opened: readonly Opened[] | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let staleAtMs = Number.NEGATIVE_INFINITY;
  let isWatched = false;
  let reading: Promise<void> | undefined;
  /** Changes of the set happen one after the other. */
  let changing: Promise<void> = Promise.resolve();
  let closed = false;

  const open = async (url: string): Promise<Opened | undefined> => {
    try {
      const { origin, basePath } = requireHttps(url);
      const isOwn = origin === parseServerAddress(provider.server).origin;
      const client = isOwn ? provider : await openEndpoint(url);
      const at = (logicalCluster: string): KubeClient => client.at(`${basePath}/clusters/${logicalCluster}`);
      return { url, at, close: isOwn ? async () => {} : () => client.close() };
    } catch (error) {
      onRefused(url, error);
      return undefined;
    }
  };
  const change = (urls: readonly string[]): Promise<void> => {
    changing = changing.then(async () => {
      const before = opened ?? [];
      const wanted = await Promise.all(urls.map(async (url) => before.find((each) => each.url === url) ?? open(url)));
      opened = wanted.filter((each) => each !== undefined);
      const left = before.filter((each) => opened?.includes(each) !== true);
      // A failure to close is of no use to anyone.
      await Promise.allSettled((closed ? opened : left).map((each) => each.close()));
    });
    return changing;
  };

  const read = async (): Promise<void> => {
    try {
      const urls = await readEndpointUrls(provider, options.export);
      readAtMs = clock.now();
      staleAtMs = clock.now() + rememberMs * (0.8 + 0.4 * random());
      // A slice that is not there names no endpoint, and takes none away.
      if (urls !== undefined || opened === undefined) await change(urls ?? []);
    } catch (error) {
      staleAtMs = clock.now() + rememberWhileDownMs;
      if (opened === undefined) throw error;
    }
  };

  return {
    current: () => opened,
    isStale: () => !isWatched && clock.now() >= staleAtMs,
    refresh: async (signal = neverAborted, olderThanMs = 0) => {
      if (opened !== undefined && clock.now() - readAtMs < olderThanMs) return;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await unlessAborted(reading, signal);
    },
    take: (urls) => {
      isWatched = true;
      readAtMs = clock.now();
      return change(urls);
    },
    close: async () => {
      closed = true;
      await changing;
      await Promise.allSettled((opened ?? []).map((each) => each.close()));
    },
  };
}

/** The same credentials for another server; those that are for a name of the first one's certificate are not for that. */
export function endpointAt(endpoint: Endpoint, url: string): Endpoint {
  const { origin } = requireHttps(url);
  const isSame = origin === parseServerAddress(endpoint.server).origin;
  return { ...endpoint, server: url, ...(isSame ? {} : { serverName: undefined }) };
}

function requireHttps(url: string): ReturnType<typeof parseServerAddress> {
  const address = parseServerAddress(url);
  // Not even on this machine: the address is data, and credentials go there.
  if (address.protocol === "https:") return address;
  throw new ControllerError("invalid", `endpoint ${address.hostname}: is not https, and gets no credentials`);
}

/**
 * The addresses at which an export's tenants are reached, one for each shard that has any, in a fixed order; undefined when
 * there is no slice. None at all is normal after an installation.
 *
 * It lists rather than gets: the relay's user may do no more.
 */
export async function readEndpointUrls(
  provider: KubeClient,
  { path, name }: ExportAddress,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  const { items } = await clientOf(provider, path).listAll<EndpointSlice>({ type: endpointSlices }, { signal });
  const slice = items.find(({ metadata }) => metadata.name === name);
  return slice === undefined ? undefined : urlsOf(slice);
}

/** The addresses that a slice names. */
export function urlsOf(slice: KubeObject): readonly string[] {
  const { status } = slice as EndpointSlice; // kcp's own schema gives it this form
  return [...new Set((status?.endpoints ?? []).map(({ url }) => url.replace(/\/+$/, "")))].toSorted();
}
