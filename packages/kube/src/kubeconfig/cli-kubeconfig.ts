import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { oneLine } from "../errors.ts";
import { ControllerError } from "../fault.ts";
import { type ResolvedContext, type SelectedContext, selectContext, stringOf, tokenOf } from "./kubeconfig.ts";
import { type KubeconfigFile, mergeKubeconfigs } from "./merge-kubeconfigs.ts";
import { parseServerAddress } from "./server-address.ts";

export type CliKubeconfigOptions = Readonly<{
  /** The file of --kubeconfig; it must exist, and no other file is read. */
  file?: string | undefined;
  /** The value of the variable KUBECONFIG: paths joined as in PATH. Missing files are ignored. @default `~/.kube/config` */
  paths?: string | undefined;
  /** @default the current context */
  context?: string | undefined;
}>;

/** No kubeconfig file exists; the message names the expected paths. */
export class NoKubeconfigError extends ControllerError {}

/**
 * Loads the user's own kubeconfig as kubectl does: it merges several files and runs exec plugins and OIDC logins.
 *
 * Only for commands that a user started. `@kubernetes/client-node` is imported here and not earlier, because its import
 * takes a fifth of a second.
 */
export async function loadCliKubeconfig(options: CliKubeconfigOptions = {}): Promise<ResolvedContext> {
  const { bufferFromFileOrString, KubeConfig } = await import("@kubernetes/client-node");
  const selected = selectContext(mergeKubeconfigs(await readFiles(options)), options.context);
  const config = new KubeConfig();
  try {
    // Only the entries of the context: a fault in another one does not matter.
    config.loadFromString(formatSelected(selected));
  } catch (error) {
    // The library's message may quote the file, which contains secrets.
    const why = error instanceof Error && "code" in error ? `: ${String(error.code)}` : "";
    throw new ControllerError("invalid", `kubeconfig: context "${selected.contextName}": cannot be loaded${why}`);
  }
  const name = selected.contextName;
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new ControllerError("invalid", `kubeconfig: context "${name}": cannot be loaded`);
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
  const isTokenFile = stringOf(selected.user, "tokenFile") !== undefined; // the library does not know the field
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
      token: isTokenFile
        ? tokenOf(selected.user, { allow: "files" })
        : // Called for each request: the library caches the token until it expires, and then runs the login again.
          bearerOf(first) === undefined
          ? undefined
          : async () => bearerOf(await credentials()) ?? "",
      insecureSkipTlsVerify: cluster.skipTLSVerify === true ? true : undefined,
      serverName: cluster.tlsServerName,
      impersonate: impersonated ? { user: impersonated } : undefined,
    },
  };
}

/** Reads the files that kubectl would read: one explicit file, or those of the list that exist. */
async function readFiles({ file, paths }: CliKubeconfigOptions): Promise<readonly KubeconfigFile[]> {
  const listed = paths ? paths.split(delimiter) : [join(homedir(), ".kube", "config")];
  const candidates = file === undefined ? [...new Set(listed.filter((path) => path !== ""))] : [file];
  const found: KubeconfigFile[] = [];
  for (const path of candidates) {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      const code = error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
      if (code === "ENOENT" && file === undefined) return undefined;
      throw new ControllerError("invalid", `kubeconfig "${path}": ${code === "ENOENT" ? "no such file" : code}`);
    });
    if (text !== undefined) found.push({ path, text });
  }
  if (found.length > 0) return found;
  const names = candidates.map((path) => `"${path}"`).join(", ");
  throw new NoKubeconfigError(
    "invalid",
    candidates.length === 1 ? `kubeconfig ${names}: no such file` : `no kubeconfig found: ${names || "no path given"}`,
  );
}

/** A kubeconfig with one context; JSON is YAML too. */
function formatSelected({ contextName, context, clusterName, cluster, userName, user }: SelectedContext): string {
  return JSON.stringify({
    "current-context": contextName,
    contexts: [{ name: contextName, context }],
    clusters: [{ name: clusterName, cluster }],
    users: userName === undefined ? [] : [{ name: userName, user }],
  });
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
