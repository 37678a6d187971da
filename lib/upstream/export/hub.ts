import type { KubeClient } from "@tmc/kube/client.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { TenantNotBound } from "../../model/tenant-errors.ts";
import { type ExportAddress, formatExportAddress } from "./address.ts";
import { createExportEndpoints, type ExportEndpoint, type ExportEndpointsOptions } from "./endpoints.ts";
import { explainRefusal } from "./explain-refusal.ts";

/** All tenants of an export, each reached through the virtual workspace that serves it. */
export interface ExportHub {
  /**
   * A client at a root below which each tenant is found by the name of its logical cluster: `at("/clusters/<name>")`. Any
   * other path is one of the provider's server.
   */
  readonly client: KubeClient;
  /** The endpoints that are known now. */
  endpoints(): readonly ExportEndpoint[];
  /** Reads the endpoints again; what is known stays where that cannot be done. */
  refresh(signal: AbortSignal): Promise<void>;
  /** Takes the endpoints that a watch has seen, in place of reading them now and then. */
  take(urls: readonly string[]): Promise<void>;
  /** Notes where a tenant was seen; undefined for one that has gone. */
  placed(logicalCluster: string, url: string | undefined): void;
  /** Ends the connections to other servers than the provider's. */
  close(): Promise<void>;
}

/** However many calls find nobody, the slice is read no more often for it. */
const shortestRereadMs = 5_000;
/** Thousands of keys may be queued for a tenant that goes: they ask once, and not each. Who binds anew is not kept waiting. */
const unboundMs = 2_000;

/** Creates the hub of an export; its endpoints are read when they are first needed. */
export function createExportHub(options: ExportEndpointsOptions): ExportHub {
  const { provider, clock } = options;
  const endpoints = createExportEndpoints(options);
  /** Where each tenant answered last. */
  const places = new Map<string, string>();
  /** Tenants that were just found to have no binding, until when that is believed. */
  const unbound = new Map<string, number>();

  const inOrder = (logicalCluster: string): readonly ExportEndpoint[] => {
    const all = endpoints.current() ?? [];
    const known = places.get(logicalCluster);
    return all.toSorted((one, other) => Number(other.url === known) - Number(one.url === known));
  };
  const known = async (signal: AbortSignal | undefined): Promise<void> => {
    if (endpoints.current() === undefined) await endpoints.refresh(signal ?? neverAborted);
    // What is known will do until the new is there.
    else if (endpoints.isStale()) endpoints.refresh(neverAborted).catch(() => {});
  };
  const first = async (logicalCluster: string, signal: AbortSignal | undefined): Promise<KubeClient> => {
    await known(signal);
    const [endpoint] = inOrder(logicalCluster);
    if (endpoint === undefined) throw new TenantNotBound(logicalCluster);
    return endpoint.at(logicalCluster);
  };

  /** Makes a call where the tenant is. A refusal may mean that it is elsewhere; nothing else is tried a second time. */
  const call = async <T>(
    { logicalCluster, type, name, signal }: Question,
    run: (client: KubeClient) => Promise<T>,
  ): Promise<T> => {
    if (clock.now() < (unbound.get(logicalCluster) ?? 0)) throw new TenantNotBound(logicalCluster);
    unbound.delete(logicalCluster);
    await known(signal);
    const tried = new Set<string>();
    let refusal: unknown;
    for (let isReread = false; ; isReread = true) {
      for (const { url, at } of inOrder(logicalCluster).filter((each) => !tried.has(each.url))) {
        tried.add(url);
        try {
          const answer = await run(at(logicalCluster));
          places.set(logicalCluster, url);
          return answer;
        } catch (error) {
          if (!isElsewhere(error, name)) {
            if (isAnswer(error)) places.set(logicalCluster, url);
            throw error;
          }
          refusal ??= error;
        }
      }
      if (isReread) break;
      await endpoints.refresh(signal ?? neverAborted, shortestRereadMs);
    }
    const explained =
      refusal === undefined
        ? new TenantNotBound(logicalCluster)
        : await explainRefusal({ refusal, logicalCluster, type, endpoints: inOrder(logicalCluster), signal });
    if (explained instanceof TenantNotBound) unbound.set(logicalCluster, clock.now() + unboundMs);
    throw explained;
  };

  const tenantClient = (logicalCluster: string): KubeClient => {
    const reads = (of: (client: KubeClient) => KubeClient["metadata"]): KubeClient["metadata"] => ({
      get: (address, rest) => call({ logicalCluster, ...address, ...rest }, (client) => of(client).get(address, rest)),
      list: (collection, rest) =>
        call({ logicalCluster, ...collection, ...rest }, (client) => of(client).list(collection, rest)),
      listAll: (collection, rest) =>
        call({ logicalCluster, ...collection, ...rest }, (client) => of(client).listAll(collection, rest)),
      watch: async function* (collection, rest) {
        yield* of(await first(logicalCluster, rest?.signal)).watch(collection, rest);
      },
    });
    return {
      server: `${provider.server}/clusters/${logicalCluster}`,
      ...reads((client) => client),
      metadata: reads((client) => client.metadata),
      create: (collection, object, rest) =>
        call({ logicalCluster, ...collection, ...rest }, (client) => client.create(collection, object, rest)),
      update: (address, object, rest) =>
        call({ logicalCluster, ...address, ...rest }, (client) => client.update(address, object, rest)),
      patch: (address, patch, rest) =>
        call({ logicalCluster, ...address, ...rest }, (client) => client.patch(address, patch, rest)),
      delete: (address, rest) =>
        call({ logicalCluster, ...address, ...rest }, (client) => client.delete(address, rest)),
      deleteAll: (collection, rest) =>
        call({ logicalCluster, ...collection, ...rest }, (client) => client.deleteAll(collection, rest)),
      raw: async (method, path, rest) => (await first(logicalCluster, rest?.signal)).raw(method, path, rest),
      at: clientAt,
      close,
    };
  };
  const clientAt = (path: string): KubeClient => {
    // A name has no colon; what has one is a workspace's path, and leads to the provider's own server.
    const [, logicalCluster] = /^\/clusters\/([^/:*]+)\/?$/.exec(path) ?? [];
    return logicalCluster === undefined ? provider.at(path) : tenantClient(logicalCluster);
  };
  /** Of a client: for every client that shares its connections. */
  const close = async (): Promise<void> => {
    await endpoints.close();
    await provider.close();
  };

  return {
    client: { ...provider, at: clientAt, close },
    endpoints: () => endpoints.current() ?? [],
    refresh: (signal) => endpoints.refresh(signal),
    take: endpoints.take,
    placed: (logicalCluster, url) => {
      unbound.delete(logicalCluster);
      if (url === undefined) places.delete(logicalCluster);
      else places.set(logicalCluster, url);
    },
    close: endpoints.close,
  };
}

/**
 * Reads an export's endpoints for the first time. A workspace that is not there and one that may not be seen look the same
 * from outside; both end as the fault "invalid" in one line.
 */
export async function findExport(
  hub: Pick<ExportHub, "refresh">,
  address: ExportAddress,
  signal: AbortSignal = neverAborted,
): Promise<void> {
  await hub.refresh(signal).catch((error: unknown) => {
    const fault = faultOf(error);
    if (fault !== "not-found" && fault !== "forbidden") throw error;
    const words = `export "${formatExportAddress(address)}": there is no such workspace, or we have no access to it`;
    throw new ControllerError("invalid", words, { cause: error });
  });
}

type Question = Readonly<{
  logicalCluster: string;
  type: ResourceType;
  name?: string | undefined;
  signal?: AbortSignal | undefined;
}>;

/** Whether an error may mean that the tenant is served elsewhere: refused, or not even its type is known. */
function isElsewhere(error: unknown, name: string | undefined): boolean {
  if (!(error instanceof ApiError)) return false;
  const named = error.body?.details?.name;
  return error.status === 403 || (error.status === 404 && (named === undefined || named !== name));
}

/** Whether the right server has spoken: what it says of the object is about that tenant's. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status === undefined) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}
