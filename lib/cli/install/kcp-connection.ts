import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import type { OpenEndpoint } from "../../upstream/export/tenants.ts";
import { clientOf } from "../../upstream/logical-cluster.ts";
import { type CliIo, UsageError } from "../cli-io.ts";
import { openEndpoint, type WorkspaceOptions, workspacePath } from "../workspace.ts";

/** Clients for kcp, for the commands that install TMC. */
export type KcpConnection = Readonly<{
  /** Client at the root URL of the server. */
  kcp: KubeClient;
  /** Path of the workspace: from --workspace, the default, or the kubeconfig context. */
  path: string;
  /** Client in that workspace. */
  client: KubeClient;
  endpoint: Endpoint;
  /** Opens a client for a URL of an APIExportEndpointSlice, which may be on another server. */
  openEndpoint: OpenEndpoint;
}>;

/** Runs a function with a connection to the kcp that the options select, and closes the connections afterwards. */
export async function withKcp<T>(
  io: CliIo,
  options: WorkspaceOptions & Readonly<{ defaultWorkspace?: string }>,
  work: (connection: KcpConnection) => Promise<T>,
): Promise<T> {
  const named = workspacePath(options) ?? options.defaultWorkspace;
  const endpoint = await openEndpoint(io, options);
  const { origin, pathname } = new URL(endpoint.server);
  const path = named ?? /^\/clusters\/([^/]+)\/?$/.exec(pathname)?.[1];
  if (path === undefined) {
    throw new UsageError("the kubeconfig context has no workspace; set --workspace, for example to root:demo");
  }
  const opened: KubeClient[] = [];
  const open = (server: string): KubeClient => {
    const target = { ...endpoint, server };
    const client = createKubeClient({ endpoint: target, transport: createHttpsTransport(target), clock: io.clock });
    opened.push(client);
    return client;
  };
  const kcp = open(origin);
  try {
    return await work({
      kcp,
      path,
      client: clientOf(kcp, path),
      endpoint: { ...endpoint, server: origin },
      openEndpoint: (url) => {
        const address = new URL(url);
        return address.origin === origin ? kcp.at(address.pathname) : open(url);
      },
    });
  } catch (error) {
    throw withAdvice(error, path);
  } finally {
    await Promise.all(opened.map((client) => client.close()));
  }
}

/** Adds advice for the user to an error of the server, where a remedy is known. */
function withAdvice(error: unknown, path: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const advised = (message: string): ControllerError => new ControllerError(error.fault, message, { cause: error });
  if (error.status === 401) return advised("the server rejects the credentials of the kubeconfig");
  if (error.status === 404 && error.body?.details?.name === undefined) {
    return advised(`${error.message} (is the server a kcp, and does the workspace ${path} exist?)`);
  }
  if (error.status === 403)
    return advised(`${error.message} (the workspace may not exist, or you have no access to it)`);
  return error;
}
