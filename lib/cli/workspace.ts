import { existsSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { loadCliKubeconfig, NoKubeconfigError } from "@tmc/kube/kubeconfig/cli-kubeconfig.ts";
import type { ResolvedContext } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { type Command, Option } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { workspaces } from "../upstream/kcp-types.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";
import { reconciledTypes, recordResource } from "../upstream/watched-resources.ts";
import { type CliIo, UsageError } from "./cli-io.ts";
import { commandName } from "./names.ts";

/** The options that select the kcp workspace, named as in kubectl. */
export type WorkspaceOptions = Readonly<{
  kubeconfig?: string | undefined;
  context?: string | undefined;
  workspace?: string | undefined;
}>;

/** Adds the options that select the kcp workspace to a command. */
export function withWorkspaceOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--kubeconfig <path>",
        "Path to the kubeconfig for kcp (default: $KUBECONFIG, or ~/.kube/config)",
      ).helpGroup("Connection options:"),
    )
    .addOption(new Option("--context <name>", "Context of the kubeconfig").helpGroup("Connection options:"))
    .addOption(
      new Option(
        "--workspace <path>",
        "Path of the kcp workspace, such as root:demo (default: the workspace of the context)",
      ).helpGroup("Connection options:"),
    );
}

/** A kcp workspace, or a plain Kubernetes cluster that serves TMC's API. */
export interface OpenWorkspace {
  readonly client: KubeClient;
  /** The namespace of the kubeconfig context; `default` when the context has none. */
  readonly namespace: string;
  registrations(labelSelector?: string): Promise<readonly ClusterRegistration[]>;
  registration(name: string): Promise<ClusterRegistration>;
  placements(labelSelector?: string): Promise<readonly WorkloadPlacement[]>;
  placement(name: string): Promise<WorkloadPlacement>;
  /** Lists the sync records of one namespace, or of all namespaces. */
  syncRecords(namespace?: string): Promise<readonly WorkloadSync[]>;
}

/** The resource types of TMC that commands read and write. */
export const resourceTypes: Readonly<Record<"registrations" | "placements" | "syncRecords", ResourceType>> = {
  registrations: reconciledTypes.ClusterRegistration,
  placements: reconciledTypes.WorkloadPlacement,
  syncRecords: recordResource.type,
};

/** Runs a function in the workspace that the options select, and closes the connections afterwards. */
export async function inWorkspace<T>(
  io: CliIo,
  options: WorkspaceOptions,
  work: (workspace: OpenWorkspace) => Promise<T>,
): Promise<T> {
  const { client, namespace } = await openClient(io, options);
  try {
    return await work(workspaceFor(client, namespace));
  } catch (error) {
    throw await withAdvice(error, client);
  } finally {
    await client.close();
  }
}

/** Creates a Workspace from a client that is scoped to it. */
export function workspaceFor(client: KubeClient, namespace = "default"): OpenWorkspace {
  return {
    client,
    namespace,
    registrations: async (labelSelector) =>
      (await client.listAll<ClusterRegistration>({ type: resourceTypes.registrations }, { labelSelector })).items,
    registration: (name) => client.get<ClusterRegistration>({ type: resourceTypes.registrations, name }),
    placements: async (labelSelector) =>
      (await client.listAll<WorkloadPlacement>({ type: resourceTypes.placements }, { labelSelector })).items,
    placement: (name) => client.get<WorkloadPlacement>({ type: resourceTypes.placements, name }),
    syncRecords: async (within) =>
      (await client.listAll<WorkloadSync>({ type: resourceTypes.syncRecords, namespace: within })).items,
  };
}

async function openClient(
  io: CliIo,
  options: WorkspaceOptions,
): Promise<Readonly<{ client: KubeClient; namespace: string | undefined }>> {
  const path = workspacePath(options);
  const { endpoint, namespace } = await openContext(io, options);
  const client = createKubeClient({ endpoint, transport: createHttpsTransport(endpoint), clock: io.clock });
  return { client: path === undefined ? client : client.at(`/clusters/${path}`), namespace };
}

/** Returns the workspace path from the options; undefined when --workspace is not set. */
export function workspacePath({ workspace }: WorkspaceOptions): string | undefined {
  const path = workspace?.replace(/^:/, "");
  if (path !== undefined && !isWorkspaceAddress(path)) {
    throw new UsageError(`--workspace "${workspace}": not a workspace path such as root:org:team`);
  }
  return path;
}

/** Returns the server and the credentials of the kubeconfig context. */
export async function openEndpoint(io: CliIo, options: WorkspaceOptions): Promise<Endpoint> {
  return (await openContext(io, options)).endpoint;
}

/** Loads the kubeconfig context that the options select. */
export async function openContext(io: CliIo, { kubeconfig, context }: WorkspaceOptions): Promise<ResolvedContext> {
  return loadCliKubeconfig({ file: kubeconfig, paths: io.env.KUBECONFIG, context }).catch((error: unknown) => {
    if (!(error instanceof NoKubeconfigError)) throw error;
    const local = localKubeconfig(io, "kcp");
    const advice =
      local === undefined ? "set --kubeconfig or KUBECONFIG" : `for tmc local, run: export KUBECONFIG=${local}`;
    throw new ControllerError("invalid", `${error.message}; ${advice}`, { cause: error });
  });
}

/** Returns the path of a kubeconfig that `tmc local` writes into the working directory; undefined if it is not there. */
export function localKubeconfig({ directory }: CliIo, name: string): string | undefined {
  const path = join(localFolder, `${name}.kubeconfig`);
  return existsSync(join(directory, path)) ? path : undefined;
}

/** The same for a cluster, if the options select the kcp of that `tmc local`: a cluster of another kcp may have the same name. */
export function localClusterKubeconfig(
  io: CliIo,
  { kubeconfig = io.env.KUBECONFIG ?? "" }: WorkspaceOptions,
  cluster: string,
): string | undefined {
  const local = localKubeconfig(io, "kcp");
  const paths = kubeconfig.split(delimiter).map((path) => resolve(io.directory, path));
  if (local === undefined || !paths.includes(resolve(io.directory, local))) return undefined;
  return localKubeconfig(io, cluster);
}

/** The default of `tmc local --dir`. */
const localFolder = ".tmc";

/** Adds advice for the user to an error of the server, where a remedy is known. */
async function withAdvice(error: unknown, client: KubeClient): Promise<unknown> {
  if (!(error instanceof ApiError)) return error;
  const { server } = client;
  const advised = (message: string): ControllerError => new ControllerError(error.fault, message, { cause: error });
  const isUnknownType = error.status === 404 && error.body?.details?.name === undefined;
  if (isUnknownType) {
    const remedy = `bind the APIExport in the workspace (${commandName()} bind), or install the CRDs (${commandName()} manifests)`;
    const child = await firstChildWorkspace(client);
    const other = child === undefined ? "" : `select another workspace, such as --workspace ${child}, `;
    return advised(`${server}: the server does not serve TMC's API; ${other}${remedy}`);
  }
  if (error.status === 401) return advised(`${server}: the server rejects the credentials of the kubeconfig`);
  if (error.status === 403 && server.includes("/clusters/")) {
    return advised(`${error.message} (the workspace may not exist, or you have no access to it)`);
  }
  return error;
}

/** Returns the path of a workspace below the one of a client; undefined if there is none, or if the user may not list them. */
async function firstChildWorkspace(client: KubeClient): Promise<string | undefined> {
  const [, path] = /\/clusters\/([^/]+)$/.exec(client.server) ?? [];
  if (path === undefined) return undefined;
  const { items } = await client.list({ type: workspaces }).catch((error: unknown) => {
    if (faultOf(error) === undefined) throw error;
    return { items: [] };
  });
  const names = items.map(({ metadata }) => metadata.name ?? "").toSorted();
  return names.length === 0 ? undefined : `${path}:${names[0]}`;
}
