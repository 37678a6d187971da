import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { TenantNotBound } from "../../model/tenant-errors.ts";
import { type ExportAddress, formatExportAddress } from "./address.ts";
import {
  createExportEndpoints,
  type ExportEndpoint,
  type ExportEndpoints,
  type ExportEndpointsOptions,
} from "./endpoints.ts";
import { explainForbidden } from "./explain-forbidden.ts";

/** Access to all tenants of an export, each through the virtual workspace of its shard. */
export interface ExportHub {
  /**
   * A client whose `at("/clusters/<name>")` is a client for the tenant with that logical cluster. Any other path is one of the
   * provider's server.
   */
  readonly client: KubeClient;
  /** The endpoints that are known now. */
  endpoints(): readonly ExportEndpoint[];
  /** Reads the endpoints again. If that fails, the known endpoints are kept. */
  refresh(signal: AbortSignal): Promise<void>;
  /** Sets the endpoints from a watch, instead of reading them now and then. */
  setEndpoints(urls: readonly string[]): Promise<void>;
  /** Records the endpoint that serves a tenant, as a watch has observed it; undefined for a tenant that is gone. */
  setEndpointOf(logicalCluster: string, url: string | undefined): void;
  /** Closes the connections to other servers than the provider's. */
  close(): Promise<void>;
}

/** Requests that no endpoint serves cause no more than one read of the slice in this time. */
const minRereadMs = 5_000;
/**
 * For how long a tenant counts as not bound. Thousands of keys may be queued for a tenant that unbinds: they cause one request, not one
 * each. The time is short because the tenant may bind again.
 */
const unboundTtlMs = 2_000;

/** Creates the hub of an export; its endpoints are read when they are first needed. */
export function createExportHub(options: ExportEndpointsOptions): ExportHub {
  const { provider } = options;
  const endpoints = createExportEndpoints(options);
  const router = createTenantRouter(endpoints, options.clock);

  const clientAt = (path: string): KubeClient => {
    // The name of a logical cluster has no colon. A workspace path has one, and belongs to the provider's server.
    const [, logicalCluster] = /^\/clusters\/([^/:*]+)\/?$/.exec(path) ?? [];
    if (logicalCluster === undefined) return provider.at(path);
    const server = `${provider.server}/clusters/${logicalCluster}`;
    return { server, ...tenantRequests(router, logicalCluster), at: clientAt, close };
  };
  /** Closes the connections of all clients of this hub, because they share them. */
  const close = async (): Promise<void> => {
    await endpoints.close();
    await provider.close();
  };

  return {
    client: { ...provider, at: clientAt, close },
    endpoints: () => endpoints.current() ?? [],
    refresh: (signal) => endpoints.refresh(signal),
    setEndpoints: endpoints.set,
    setEndpointOf: router.setEndpointOf,
    close: endpoints.close,
  };
}

/** Finds the endpoint that serves a tenant. */
interface TenantRouter extends Pick<ExportHub, "setEndpointOf"> {
  /** The client of the endpoint that most likely serves the tenant. */
  first(logicalCluster: string, signal: AbortSignal | undefined): Promise<KubeClient>;
  /** Sends a request to the endpoint of the tenant. Only a rejection is retried at other endpoints. */
  send<T>(request: TenantRequest, run: (client: KubeClient) => Promise<T>): Promise<T>;
}

type TenantRequest = Readonly<{
  logicalCluster: string;
  type: ResourceType;
  name?: string | undefined;
  signal?: AbortSignal | undefined;
}>;

function createTenantRouter(endpoints: ExportEndpoints, clock: Clock): TenantRouter {
  /** The URL that last answered for each tenant. */
  const urls = new Map<string, string>();
  /** Tenants without a binding, and until when they count as such. */
  const unbound = new Map<string, number>();

  const candidates = (logicalCluster: string): readonly ExportEndpoint[] => {
    const known = urls.get(logicalCluster);
    return (endpoints.current() ?? []).toSorted(
      (one, other) => Number(other.url === known) - Number(one.url === known),
    );
  };
  const ensureRead = async (signal: AbortSignal | undefined): Promise<void> => {
    if (endpoints.current() === undefined) await endpoints.refresh(signal ?? neverAborted);
    // The known endpoints are used until the new ones are read.
    else if (endpoints.isStale()) endpoints.refresh(neverAborted).catch(() => {});
  };

  const send = async <T>(
    { logicalCluster, type, name, signal }: TenantRequest,
    run: (client: KubeClient) => Promise<T>,
  ): Promise<T> => {
    if (clock.monotonicMs() < (unbound.get(logicalCluster) ?? 0)) throw new TenantNotBound(logicalCluster);
    unbound.delete(logicalCluster);
    await ensureRead(signal);
    const tried = new Set<string>();
    let rejection: unknown;
    for (let isReread = false; ; isReread = true) {
      for (const { url, at } of candidates(logicalCluster).filter((each) => !tried.has(each.url))) {
        tried.add(url);
        try {
          const answer = await run(at(logicalCluster));
          urls.set(logicalCluster, url);
          return answer;
        } catch (error) {
          if (!isServedElsewhere(error, name)) {
            if (isAnswer(error)) urls.set(logicalCluster, url);
            throw error;
          }
          rejection ??= error;
        }
      }
      if (isReread) break;
      await endpoints.refresh(signal ?? neverAborted, minRereadMs);
    }
    const explained =
      rejection === undefined
        ? new TenantNotBound(logicalCluster)
        : await explainForbidden({
            error: rejection,
            logicalCluster,
            type,
            endpoints: candidates(logicalCluster),
            signal,
          });
    if (explained instanceof TenantNotBound) unbound.set(logicalCluster, clock.monotonicMs() + unboundTtlMs);
    throw explained;
  };

  return {
    send,
    first: async (logicalCluster, signal) => {
      await ensureRead(signal);
      const [endpoint] = candidates(logicalCluster);
      if (endpoint === undefined) throw new TenantNotBound(logicalCluster);
      return endpoint.at(logicalCluster);
    },
    setEndpointOf: (logicalCluster, url) => {
      unbound.delete(logicalCluster);
      if (url === undefined) urls.delete(logicalCluster);
      else urls.set(logicalCluster, url);
    },
  };
}

/** The requests of a client for one tenant. */
function tenantRequests(
  { send, first }: TenantRouter,
  logicalCluster: string,
): Omit<KubeClient, "server" | "at" | "close"> {
  const reads = (of: (client: KubeClient) => KubeClient["metadata"]): KubeClient["metadata"] => ({
    get: (address, rest) => send({ logicalCluster, ...address, ...rest }, (client) => of(client).get(address, rest)),
    list: (collection, rest) =>
      send({ logicalCluster, ...collection, ...rest }, (client) => of(client).list(collection, rest)),
    listAll: (collection, rest) =>
      send({ logicalCluster, ...collection, ...rest }, (client) => of(client).listAll(collection, rest)),
    watch: async function* (collection, rest) {
      yield* of(await first(logicalCluster, rest?.signal)).watch(collection, rest);
    },
  });
  return {
    ...reads((client) => client),
    metadata: reads((client) => client.metadata),
    create: (collection, object, rest) =>
      send({ logicalCluster, ...collection, ...rest }, (client) => client.create(collection, object, rest)),
    update: (address, object, rest) =>
      send({ logicalCluster, ...address, ...rest }, (client) => client.update(address, object, rest)),
    patch: (address, patch, rest) =>
      send({ logicalCluster, ...address, ...rest }, (client) => client.patch(address, patch, rest)),
    delete: (address, rest) => send({ logicalCluster, ...address, ...rest }, (client) => client.delete(address, rest)),
    deleteAll: (collection, rest) =>
      send({ logicalCluster, ...collection, ...rest }, (client) => client.deleteAll(collection, rest)),
    raw: async (method, path, rest) => (await first(logicalCluster, rest?.signal)).raw(method, path, rest),
  };
}

/**
 * Reads the endpoints of an export for the first time. kcp answers the same for a workspace that does not exist and for one without
 * access; both become the fault "invalid" in one line.
 */
export async function findExport(
  hub: Pick<ExportHub, "refresh">,
  address: ExportAddress,
  signal: AbortSignal = neverAborted,
): Promise<void> {
  await hub.refresh(signal).catch((error: unknown) => {
    const fault = faultOf(error);
    if (fault !== "not-found" && fault !== "forbidden") throw error;
    const message = `export "${formatExportAddress(address)}": there is no such workspace, or we have no access to it`;
    throw new ControllerError("invalid", message, { cause: error });
  });
}

/** Whether another endpoint may serve the tenant: the request was rejected, or not even its type is known. */
function isServedElsewhere(error: unknown, name: string | undefined): boolean {
  if (!(error instanceof ApiError)) return false;
  const named = error.body?.details?.name;
  return error.status === 403 || (error.status === 404 && (named === undefined || named !== name));
}

/** Whether an error is an answer about the object, so that the endpoint does serve the tenant. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status === undefined) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}
