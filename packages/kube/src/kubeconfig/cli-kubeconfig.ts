import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { oneLine } from "../errors.ts";
import { ControllerError } from "../fault.ts";
import type { ResolvedContext } from "./kubeconfig.ts";
import { parseServerAddress } from "./server-address.ts";

export type CliKubeconfigOptions = Readonly<{
  /** One path, or several joined as in the variable KUBECONFIG. @default `~/.kube/config` */
  paths?: string | undefined;
  /** @default the current context */
  context?: string | undefined;
}>;

/**
 * Loads the user's own kubeconfig as kubectl does: it merges several files and runs exec plugins and OIDC logins.
 *
 * Only for commands that a user started. `@kubernetes/client-node` is imported here and not earlier, because its import
 * takes a fifth of a second.
 */
export async function loadCliKubeconfig({ paths, context }: CliKubeconfigOptions = {}): Promise<ResolvedContext> {
  const { bufferFromFileOrString, KubeConfig } = await import("@kubernetes/client-node");
  const files = (paths ?? join(homedir(), ".kube", "config")).split(delimiter).filter((path) => path !== "");
  const config = new KubeConfig();
  for (const [index, path] of files.entries()) {
    try {
      if (index === 0) config.loadFromFile(path);
      else config.mergeConfig(loaded(KubeConfig, path));
    } catch (error) {
      // The library's message may quote the file, which contains secrets.
      const why = error instanceof Error && "code" in error ? String(error.code) : "is not a kubeconfig";
      throw new ControllerError("invalid", `kubeconfig "${path}": ${why}`);
    }
  }
  if (context !== undefined) config.setCurrentContext(context);
  const name = config.getCurrentContext();
  const cluster = config.getCurrentCluster();
  const names = config.getContexts().map((each) => `"${each.name}"`);
  if (!cluster) {
    throw new ControllerError("invalid", `kubeconfig: context "${name}": not found; there are ${names.join(", ")}`);
  }
  if (cluster.proxyUrl)
    throw new ControllerError("invalid", `kubeconfig: context "${name}": proxy-url is not supported`);
  const { origin, basePath } = parseServerAddress(cluster.server);

  const credentials = async (): Promise<RequestOptions> => {
    const options: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      const why = error instanceof Error ? oneLine(error.message) : "unknown failure";
      throw new ControllerError("unauthorized", `kubeconfig: context "${name}": login failed: ${why}`);
    }
    return options;
  };
  const first = await credentials();
  const user = config.getCurrentUser();
  const impersonated = user?.impersonateUser;
  return {
    context: name,
    namespace: config.getContextObject(name)?.namespace,
    endpoint: {
      server: origin + basePath,
      // Read from the cluster entry: the library omits the CA for a context without a user.
      ca: bufferFromFileOrString(cluster.caFile, cluster.caData)?.toString("utf8"),
      certificate: pemOf(first.cert),
      key: pemOf(first.key),
      // Called for each request: the library caches the token until it expires, and then runs the login again.
      token: bearerOf(first) === undefined ? undefined : async () => bearerOf(await credentials()) ?? "",
      insecureSkipTlsVerify: cluster.skipTLSVerify === true ? true : undefined,
      serverName: cluster.tlsServerName,
      impersonate: impersonated ? { user: impersonated } : undefined,
    },
  };
}

type Loader = new () => { loadFromFile(path: string): void };

function loaded<T extends Loader>(KubeConfig: T, path: string): InstanceType<T> {
  const config = new KubeConfig() as InstanceType<T>; // TypeScript does not infer the instance type of a generic constructor
  config.loadFromFile(path);
  return config;
}

function pemOf(value: RequestOptions["cert"] | RequestOptions["key"]): string | undefined {
  if (typeof value === "string") return value;
  return Buffer.isBuffer(value) ? value.toString("utf8") : undefined;
}

function bearerOf({ headers }: RequestOptions): string | undefined {
  if (headers === undefined || Array.isArray(headers) || !("Authorization" in headers)) return undefined;
  const value = headers.Authorization;
  return typeof value === "string" && value.startsWith("Bearer ") ? value.slice("Bearer ".length) : undefined;
}
