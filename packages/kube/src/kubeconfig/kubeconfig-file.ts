import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { dump } from "js-yaml";
import type { Endpoint } from "../transport/transport.ts";

/** One context to write, with its own cluster and user entry. */
export type KubeconfigContext = Readonly<{
  name: string;
  endpoint: Pick<Endpoint, "server" | "ca" | "certificate" | "key" | "serverName">;
  token?: string | undefined;
  namespace?: string | undefined;
}>;

export type KubeconfigContent = Readonly<{
  contexts: readonly KubeconfigContext[];
  /** @default the first one */
  currentContext?: string | undefined;
}>;

const base64 = (pem: string): string => Buffer.from(pem).toString("base64");

/** Formats a kubeconfig as YAML. Certificates and tokens are embedded, so that the file can be copied. */
export function formatKubeconfig({ contexts, currentContext }: KubeconfigContent): string {
  return dump(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": currentContext ?? contexts[0]?.name ?? "",
      contexts: contexts.map(({ name, namespace }) => ({
        name,
        context: { cluster: name, user: name, ...(namespace !== undefined && { namespace }) },
      })),
      clusters: contexts.map(({ name, endpoint }) => ({
        name,
        cluster: {
          server: endpoint.server,
          ...(endpoint.ca !== undefined && { "certificate-authority-data": base64(endpoint.ca) }),
          ...(endpoint.serverName !== undefined && { "tls-server-name": endpoint.serverName }),
        },
      })),
      users: contexts.map(({ name, endpoint, token }) => ({
        name,
        user: {
          ...(endpoint.certificate !== undefined && { "client-certificate-data": base64(endpoint.certificate) }),
          ...(endpoint.key !== undefined && { "client-key-data": base64(endpoint.key) }),
          ...(token !== undefined && { token }),
        },
      })),
    },
    { lineWidth: -1 },
  );
}

/**
 * Creates a directory and its parents. Node's recursive `mkdir` never returns if the system reports that a path does not
 * exist although its parent does, as it does below `/proc`.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await isDirectory(parent))) throw error;
    await makeDirectory(parent);
    await mkdir(path);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** Writes a kubeconfig that only its owner can read. The file is replaced atomically. */
export async function writeKubeconfig(path: string, kubeconfig: KubeconfigContent): Promise<void> {
  await makeDirectory(dirname(path));
  const half = `${path}.${randomUUID()}.part`;
  try {
    await writeFile(half, formatKubeconfig(kubeconfig), { mode: 0o600 });
    await rename(half, path);
  } catch (error) {
    await rm(half, { force: true });
    throw error;
  }
}
