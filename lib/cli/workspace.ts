import { loadCliKubeconfig } from "@tmc/kube/cli-kubeconfig.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import type { ResolvedContext } from "@tmc/kube/kubeconfig.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { type Command, Option } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";
import { reconciledTypes } from "../upstream/reconciled-types.ts";
import { recordLane } from "../upstream/watched-resources.ts";
import { type CliIo, UsageError } from "./cli-io.ts";

/** Where a command works, in the options that kubectl has for it. */
export type WorkspaceOptions = Readonly<{
  kubeconfig?: string | undefined;
  context?: string | undefined;
  workspace?: string | undefined;
}>;

/** Adds the options that say where a command works. */
export function withWorkspaceOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--kubeconfig <path>", "the kubeconfig to use (otherwise $KUBECONFIG or ~/.kube/config)").helpGroup(
        "Where:",
      ),
    )
    .addOption(new Option("--context <name>", "the kubeconfig's context to use").helpGroup("Where:"))
    .addOption(new Option("--workspace <path>", "the kcp workspace to work in, such as root:demo").helpGroup("Where:"));
}

/** A workspace of a hub, or a plain cluster, as commands see it. */
export interface Workspace {
  readonly client: KubeClient;
  /** The namespace that the kubeconfig's context is in, and `default` when it is in none. */
  readonly namespace: string;
  clusters(): Promise<readonly ClusterRegistration[]>;
  cluster(name: string): Promise<ClusterRegistration>;
  placements(): Promise<readonly WorkloadPlacement[]>;
  placement(name: string): Promise<WorkloadPlacement>;
  /** TMC's records of placed workloads, of one namespace or of all. */
  records(namespace?: string): Promise<readonly WorkloadSync[]>;
}

/** The types that commands work with, the way URLs name them. */
export const resourceTypes: Readonly<Record<"clusters" | "placements" | "records", ResourceType>> = {
  clusters: reconciledTypes.ClusterRegistration,
  placements: reconciledTypes.WorkloadPlacement,
  records: recordLane.type,
};

/** Does something in the workspace that the options name, and ends the connections after it. */
export async function inWorkspace<T>(
  io: CliIo,
  options: WorkspaceOptions,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  const { client, namespace } = await openClient(io, options);
  try {
    return await work(workspaceOver(client, namespace));
  } catch (error) {
    throw inWords(error, client);
  } finally {
    await client.close();
  }
}

/** The workspace that a client is in. */
export function workspaceOver(client: KubeClient, namespace = "default"): Workspace {
  return {
    client,
    namespace,
    clusters: async () => (await client.listAll<ClusterRegistration>({ type: resourceTypes.clusters })).items,
    cluster: (name) => client.get<ClusterRegistration>({ type: resourceTypes.clusters, name }),
    placements: async () => (await client.listAll<WorkloadPlacement>({ type: resourceTypes.placements })).items,
    placement: (name) => client.get<WorkloadPlacement>({ type: resourceTypes.placements, name }),
    records: async (within) =>
      (await client.listAll<WorkloadSync>({ type: resourceTypes.records, namespace: within })).items,
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

/** The path of the workspace that the options name; undefined when they name none. */
export function workspacePath({ workspace }: WorkspaceOptions): string | undefined {
  const path = workspace?.replace(/^:/, "");
  if (path !== undefined && !isWorkspaceAddress(path)) {
    throw new UsageError(`--workspace "${workspace}": is not a path like root:org:team`);
  }
  return path;
}

/** Where the kubeconfig of the options leads, and as whom. */
export async function openEndpoint(io: CliIo, options: WorkspaceOptions): Promise<Endpoint> {
  return (await openContext(io, options)).endpoint;
}

/** The context that the options name, with the endpoint and the namespace that it has. */
export async function openContext(io: CliIo, { kubeconfig, context }: WorkspaceOptions): Promise<ResolvedContext> {
  const paths = kubeconfig ?? (io.env.KUBECONFIG || undefined);
  return loadCliKubeconfig({ paths, context }).catch((error: unknown) => {
    if (!(error instanceof Error) || !error.message.endsWith(": ENOENT")) throw error;
    const words = `${error.message.replace(/ENOENT$/, "there is no such file")}; --kubeconfig or KUBECONFIG names another`;
    throw new ControllerError("invalid", words, { cause: error });
  });
}

/** What a server said, with what a person can do about it where that is known. */
function inWords(error: unknown, { server }: KubeClient): unknown {
  if (!(error instanceof ApiError)) return error;
  const said = (words: string): ControllerError => new ControllerError(error.fault, words, { cause: error });
  const isUnknownType = error.status === 404 && error.body?.details?.name === undefined;
  if (isUnknownType) {
    return said(
      `${server}: TMC's kinds are not served there; bind its export in the workspace (tmc bind), or see tmc manifests`,
    );
  }
  if (error.status === 401) return said(`${server}: the server does not accept the kubeconfig's credentials`);
  if (error.status === 403 && server.includes("/clusters/")) {
    return said(`${error.message} (the workspace may not exist, or you have no access to it)`);
  }
  return error;
}
