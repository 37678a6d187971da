import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import type { OpenEndpoint } from "../upstream/export/tenants.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { type CliIo, UsageError } from "./cli-io.ts";
import { openEndpoint, type WorkspaceOptions, workspacePath } from "./workspace.ts";

/** A kcp as the commands that set it up see it. */
export type KcpConnection = Readonly<{
  /** At the server's root. */
  kcp: KubeClient;
  /** The workspace that was named, or that the kubeconfig's context is in. */
  path: string;
  /** In that workspace. */
  client: KubeClient;
  endpoint: Endpoint;
  /** For the addresses that endpoint slices give, which may be those of other servers. */
  openEndpoint: OpenEndpoint;
}>;

/** Does something with the kcp that the options name, and ends the connections after it. */
export async function inKcp<T>(
  io: CliIo,
  options: WorkspaceOptions & Readonly<{ defaultWorkspace?: string }>,
  work: (connection: KcpConnection) => Promise<T>,
): Promise<T> {
  const named = workspacePath(options) ?? options.defaultWorkspace;
  const endpoint = await openEndpoint(io, options);
  const { origin, pathname } = new URL(endpoint.server);
  const path = named ?? /^\/clusters\/([^/]+)\/?$/.exec(pathname)?.[1];
  if (path === undefined) {
    throw new UsageError("the kubeconfig's context is in no workspace; --workspace says which, such as root:demo");
  }
  const opened: KubeClient[] = [];
  const open = (server: string): KubeClient => {
    const to = { ...endpoint, server };
    const made = createKubeClient({ endpoint: to, transport: createHttpsTransport(to), clock: io.clock });
    opened.push(made);
    return made;
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
    throw inWords(error, path);
  } finally {
    await Promise.all(opened.map((client) => client.close()));
  }
}

/** What a server said, with what a person can do about it where that is known. */
function inWords(error: unknown, path: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const said = (words: string): ControllerError => new ControllerError(error.fault, words, { cause: error });
  if (error.status === 401) return said("the server does not accept the kubeconfig's credentials");
  if (error.status === 404 && error.body?.details?.name === undefined) {
    return said(`${error.message} (is it a kcp, and is there a workspace ${path}?)`);
  }
  if (error.status === 403) return said(`${error.message} (the workspace may not exist, or you have no access to it)`);
  return error;
}
