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
import { reconciledTypes } from "../upstream/reconciled-types.ts";
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

/** Lists objects in all workspaces that the operator configured. */
export interface WorkspaceLister {
  /** Lists a kind in all workspaces, a few at a time. A workspace that is missing or fails does not affect the others. */
  list(kind: ReconciledKind, form: ListForm, signal: AbortSignal): Promise<WorkspaceListing>;
  /** Lists a type that a workspace may not serve; it is then empty there. */
  listType(type: ResourceType, form: ListForm, signal: AbortSignal): Promise<WorkspaceListing>;
}

/** Bounds the load on the upstream: each list is several pages. */
const maxConcurrentLists = 4;
/** For metadata only, which is small. */
const pageSize = 1_000;

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
  return {
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
  return { list: (kind, form, signal) => listType(reconciledTypes[kind], form, signal), listType };
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
