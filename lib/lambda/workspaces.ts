import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { listByPages } from "@tmc/kube/informer/paged-list.ts";
import { createTrimmer } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { Environment } from "../engine/environment.ts";
import { forEachConcurrently } from "../model/concurrency.ts";
import type { ReconciledKind } from "../model/key.ts";
import type { Log } from "../observe/log.ts";
import type { ExportEndpoint } from "../upstream/export/endpoints.ts";
import type { ExportHub } from "../upstream/export/hub.ts";
import {
  clientOf,
  type LogicalCluster,
  logicalClusterIn,
  plainKubernetes,
  resolveLogicalCluster,
} from "../upstream/logical-cluster.ts";
import { reconciledTypes } from "../upstream/watched-resources.ts";
import type { UpstreamHub } from "./upstream.ts";

/** A failed list. `workspace` is the path of a workspace, or the URL of a virtual workspace of all tenants. */
export type ListFailure = Readonly<{ workspace: string; error: unknown }>;

export type WorkspaceListing = Readonly<{
  found: readonly Readonly<{ logicalCluster: string; objects: readonly KubeObject[] }>[];
  /** Number of workspaces, or virtual workspaces, that could be read. */
  readCount: number;
  failures: readonly ListFailure[];
}>;

/** Whole objects, or only their metadata, if names are enough. */
export type ListForm = "whole" | "metadata";

/** One page of a list at one source. */
export type WorkspacePage = Pick<WorkspaceListing, "found"> &
  Readonly<{
    /** The continue token of the next page; undefined for the last page. */
    token: string | undefined;
  }>;

export type PageRequest = Readonly<{
  type: ResourceType;
  form: ListForm;
  /** Whether the type may be missing, or hidden from TMC; it is then empty. */
  isOptional: boolean;
  token?: string | undefined;
}>;

/** Lists objects in all workspaces that the operator configured. */
export interface WorkspaceLister {
  /** The workspaces, or the URLs of the virtual workspaces of all tenants; each logical cluster is in one of them. */
  sources(signal: AbortSignal): Promise<readonly string[]>;
  /** Lists one page of a type at one source. */
  page(source: string, request: PageRequest, signal: AbortSignal): Promise<WorkspacePage>;
  /** Lists a kind in all workspaces, a few at a time. A workspace that is missing or fails does not affect the others. */
  list(kind: ReconciledKind, form: ListForm, signal: AbortSignal): Promise<WorkspaceListing>;
  /** Lists a type that a workspace may not serve; it is then empty there. */
  listType(type: ResourceType, form: ListForm, signal: AbortSignal): Promise<WorkspaceListing>;
}

/** Bounds the load on the upstream: each list is several pages. */
const maxConcurrentLists = 4;
/** For metadata only, which is small. */
const pageSize = 1_000;
/** For whole objects. */
const wholePageSize = 250;

/** Creates the lister for the configured workspaces, or for all tenants of the configured APIExport. */
export function createWorkspaceLister(
  { client, exportHub }: UpstreamHub,
  environment: Pick<Environment, "hub" | "workspaces">,
): WorkspaceLister {
  return exportHub === undefined ? listerOfWorkspaces(client, environment) : listerOfExport(exportHub);
}

/** Caches the logical cluster of each workspace. After a failure it is resolved again, because the workspace may have been recreated. */
function listerOfWorkspaces(
  client: KubeClient,
  { hub, workspaces }: Pick<Environment, "hub" | "workspaces">,
): WorkspaceLister {
  const known = new Map<string, LogicalCluster>();
  const resolve = async (workspace: string, signal: AbortSignal): Promise<LogicalCluster> => {
    const found = known.get(workspace) ?? (await resolveLogicalCluster(client, workspace, signal));
    known.set(workspace, found);
    return found;
  };
  const listWith = (list: typeof listIn, request: ListRequest): Promise<WorkspaceListing> => {
    const listed = new Set<string>();
    return readSources(hub === "kubernetes" ? [""] : workspaces, async (workspace) => {
      try {
        const { name } = hub === "kubernetes" ? plainKubernetes : await resolve(workspace, request.signal);
        if (listed.has(name)) return []; // a path and a name can denote the same workspace
        listed.add(name);
        return [{ logicalCluster: name, objects: await list(clientOf(client, name), request) }];
      } catch (error) {
        known.delete(workspace);
        throw error;
      }
    });
  };
  const isPlain = hub === "kubernetes";
  return {
    sources: async (signal) => {
      if (isPlain) return [""];
      const names = new Set<string>();
      const sources: string[] = [];
      await forEachConcurrently(workspaces, maxConcurrentLists, async (workspace) => {
        // A workspace that cannot be resolved stays a source: its pages then fail with the reason.
        const name = await resolve(workspace, signal).then(
          (found) => found.name,
          () => workspace,
        );
        if (!names.has(name)) sources.push(workspace);
        names.add(name);
      });
      return sources;
    },
    page: async (source, request, signal) => {
      try {
        const { name } = isPlain ? plainKubernetes : await resolve(source, signal);
        const { objects, token } = await readPage(clientOf(client, name), request, signal);
        return { found: [{ logicalCluster: name, objects }], token };
      } catch (error) {
        known.delete(source);
        throw error;
      }
    },
    list: (kind, form, signal) => listWith(listIn, { type: reconciledTypes[kind], form, signal }),
    listType: (type, form, signal) => listWith(listWhereServed, { type, form, signal }),
  };
}

/** One list per endpoint and kind, however many tenants there are. */
function listerOfExport(hub: Pick<ExportHub, "endpoints" | "refresh">): WorkspaceLister {
  const listType: WorkspaceLister["listType"] = async (type, form, signal) => {
    await hub.refresh(signal);
    const endpoints = new Map<string, ExportEndpoint>(hub.endpoints().map((endpoint) => [endpoint.url, endpoint]));
    return readSources([...endpoints.keys()], async (url) => {
      const allTenants = endpoints.get(url)?.at("*");
      const objects = allTenants === undefined ? [] : await listWhereServed(allTenants, { type, form, signal });
      return [...Map.groupBy(objects, logicalClusterIn)].map(([logicalCluster, own]) => ({
        logicalCluster: logicalCluster,
        objects: own,
      }));
    });
  };
  const endpointOf = (url: string): ExportEndpoint | undefined =>
    hub.endpoints().find((endpoint) => endpoint.url === url);
  return {
    sources: async (signal) => {
      await hub.refresh(signal);
      return [...new Set(hub.endpoints().map(({ url }) => url))];
    },
    page: async (source, request, signal) => {
      const allTenants = endpointOf(source)?.at("*");
      // The endpoint went since the sources were read: its tenants are at another one.
      if (allTenants === undefined) return { found: [], token: undefined };
      const { objects, token } = await readPage(allTenants, { ...request, isOptional: true }, signal);
      const found = [...Map.groupBy(objects, logicalClusterIn)].map(([logicalCluster, own]) => ({
        logicalCluster,
        objects: own,
      }));
      return { found, token };
    },
    list: (kind, form, signal) => listType(reconciledTypes[kind], form, signal),
    listType,
  };
}

async function readPage(
  client: KubeClient,
  { type, form, isOptional, token }: PageRequest,
  signal: AbortSignal,
): Promise<Readonly<{ objects: readonly KubeObject[]; token: string | undefined }>> {
  try {
    const { items, metadata } = await (form === "metadata"
      ? client.metadata.list({ type }, { limit: pageSize, continue: token, signal })
      : client.list({ type }, { limit: wholePageSize, continue: token, signal }));
    return { objects: items, token: metadata.continue || undefined };
  } catch (error) {
    const fault = faultOf(error);
    // As in the relay: a tenant need not serve a type, nor let TMC read it.
    if (!isOptional || (fault !== "not-found" && fault !== "forbidden")) throw error;
    return { objects: [], token: undefined };
  }
}

type ListRequest = Readonly<{ type: ResourceType; form: ListForm; signal: AbortSignal }>;

async function listIn(client: KubeClient, { type, form, signal }: ListRequest): Promise<readonly KubeObject[]> {
  const collection = { type };
  const { items } =
    form === "metadata"
      ? await client.metadata.listAll(collection, { limit: pageSize, signal })
      : await listByPages(client, { transform: createTrimmer() }, collection, { signal });
  return items;
}

/** A virtual workspace does not serve a type that no tenant has; that is not a failure. */
async function listWhereServed(client: KubeClient, request: ListRequest): Promise<readonly KubeObject[]> {
  try {
    return await listIn(client, request);
  } catch (error) {
    if (faultOf(error) !== "not-found") throw error;
    return [];
  }
}

async function readSources(
  sources: readonly string[],
  read: (source: string) => Promise<WorkspaceListing["found"]>,
): Promise<WorkspaceListing> {
  const found: WorkspaceListing["found"][number][] = [];
  const failures: ListFailure[] = [];
  await forEachConcurrently(sources, maxConcurrentLists, async (workspace) => {
    try {
      found.push(...(await read(workspace)));
    } catch (error) {
      failures.push({ workspace, error });
    }
  });
  return { found, readCount: sources.length - failures.length, failures };
}

/** Logs failed lists; throws if all of them failed. */
export function reportListFailures(
  log: Log,
  { readCount, failures }: Pick<WorkspaceListing, "readCount" | "failures">,
): void {
  const [first] = failures;
  if (first !== undefined && readCount === 0) {
    if (failures.length === 1) throw first.error;
    throw new AggregateError(
      failures.map(({ error }) => error),
      "no workspace could be read",
    );
  }
  for (const { workspace, error } of failures) log.warn("workspace cannot be read", { workspace, error });
}
