import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import { createSlimmer } from "@tmc/kube/slim-object.ts";
import type { Environment } from "../engine/environment.ts";
import { forEachConcurrently } from "../model/concurrency.ts";
import type { ReconciledKind } from "../model/key.ts";
import type { Log } from "../observe/log.ts";
import type { ExportEndpoint } from "../upstream/export/endpoints.ts";
import type { ExportHub } from "../upstream/export/hub.ts";
import {
  clientOf,
  clusterOf,
  type LogicalCluster,
  plainHub,
  resolveLogicalCluster,
} from "../upstream/logical-cluster.ts";
import { reconciledTypes } from "../upstream/reconciled-types.ts";
import type { OpenedHub } from "./cloud.ts";

/** A place that could not be read, and why: a workspace, or an endpoint of all tenants. */
export type PlaceProblem = Readonly<{ workspace: string; error: unknown }>;

/** What was read of a kind. */
export type FleetList = Readonly<{
  found: readonly Readonly<{ logicalCluster: string; objects: readonly KubeObject[] }>[];
  /** How many places could be read. */
  read: number;
  problems: readonly PlaceProblem[];
}>;

/** Whole objects, or only their metadata where names will do. */
export type FleetForm = "whole" | "metadata";

/** Everything that the operator has looked after. */
export interface Fleet {
  /** Lists a kind everywhere, a few places at a time. A place that is not there, or that fails, holds up no other. */
  list(kind: ReconciledKind, form: FleetForm, signal: AbortSignal): Promise<FleetList>;
  /** The same of a type that a place need not serve: then there is nothing of it there. */
  listType(type: ResourceType, form: FleetForm, signal: AbortSignal): Promise<FleetList>;
}

/** Each is a few pages of a hub that has other work. */
const placesAtOnce = 4;
/** Names only: objects of this size come a thousand to the page. */
const pageSize = 1_000;

/** Creates the fleet of the workspaces that were named, or of all tenants of the export that was. */
export function createFleet(
  { client, exportHub }: OpenedHub,
  environment: Pick<Environment, "hub" | "workspaces">,
): Fleet {
  return exportHub === undefined ? fleetOfWorkspaces(client, environment) : fleetOfExport(exportHub);
}

/**
 * The fleet over a client at the hub's root. The logical cluster of a workspace is asked for once and kept; after a
 * failure there it is asked for again, for the workspace may have been made anew.
 */
function fleetOfWorkspaces(client: KubeClient, { hub, workspaces }: Pick<Environment, "hub" | "workspaces">): Fleet {
  const known = new Map<string, LogicalCluster>();
  const resolve = async (workspace: string, signal: AbortSignal): Promise<LogicalCluster> => {
    const found = known.get(workspace) ?? (await resolveLogicalCluster(client, workspace, signal));
    known.set(workspace, found);
    return found;
  };
  const listWith = (list: typeof listIn, wanted: Wanted): Promise<FleetList> => {
    const begun = new Set<string>();
    return readAll(hub === "kubernetes" ? [""] : workspaces, async (workspace) => {
      try {
        const { name } = hub === "kubernetes" ? plainHub : await resolve(workspace, wanted.signal);
        if (begun.has(name)) return []; // a path and a name may lead to the same one
        begun.add(name);
        return [{ logicalCluster: name, objects: await list(clientOf(client, name), wanted) }];
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

/** The fleet of an export: one list per endpoint and kind, however many tenants there are. */
function fleetOfExport(hub: Pick<ExportHub, "endpoints" | "refresh">): Fleet {
  const listType: Fleet["listType"] = async (type, form, signal) => {
    await hub.refresh(signal);
    const endpoints = new Map<string, ExportEndpoint>(hub.endpoints().map((each) => [each.url, each]));
    return readAll([...endpoints.keys()], async (url) => {
      const everywhere = endpoints.get(url)?.at("*");
      const objects = everywhere === undefined ? [] : await listWhereServed(everywhere, { type, form, signal });
      return [...Map.groupBy(objects, clusterOf)].map(([logicalCluster, own]) => ({
        logicalCluster: logicalCluster,
        objects: own,
      }));
    });
  };
  return { list: (kind, form, signal) => listType(reconciledTypes[kind], form, signal), listType };
}

type Wanted = Readonly<{ type: ResourceType; form: FleetForm; signal: AbortSignal }>;

async function listIn(client: KubeClient, { type, form, signal }: Wanted): Promise<readonly KubeObject[]> {
  const collection = { type };
  const { items } =
    form === "metadata"
      ? await client.metadata.listAll(collection, { limit: pageSize, signal })
      : await pageByPage(client, createSlimmer()).listAll(collection, { signal });
  return items;
}

/** A type that no tenant has yet, or any more, is not served at all; that is no failure. */
async function listWhereServed(client: KubeClient, wanted: Wanted): Promise<readonly KubeObject[]> {
  try {
    return await listIn(client, wanted);
  } catch (error) {
    if (faultOf(error) !== "not-found") throw error;
    return [];
  }
}

async function readAll(
  places: readonly string[],
  read: (place: string) => Promise<FleetList["found"]>,
): Promise<FleetList> {
  const found: FleetList["found"][number][] = [];
  const problems: PlaceProblem[] = [];
  await forEachConcurrently(places, placesAtOnce, async (workspace) => {
    try {
      found.push(...(await read(workspace)));
    } catch (error) {
      problems.push({ workspace, error });
    }
  });
  return { found, read: places.length - problems.length, problems };
}

/** Logs where something could not be read; when that is everywhere, the whole has failed. */
export function reportProblems(log: Log, { read, problems }: Pick<FleetList, "read" | "problems">): void {
  const [first] = problems;
  if (first !== undefined && read === 0) {
    if (problems.length === 1) throw first.error;
    throw new AggregateError(
      problems.map(({ error }) => error),
      "no workspace could be read",
    );
  }
  for (const { workspace, error } of problems) log.warn("workspace cannot be read", { workspace, error });
}
