import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { dump } from "js-yaml";
import type { Endpoint } from "./transport.ts";

/** One context to be written, with a cluster and a user of its own. */
export type WrittenContext = Readonly<{
  name: string;
  endpoint: Pick<Endpoint, "server" | "ca" | "certificate" | "key" | "serverName">;
  token?: string | undefined;
  namespace?: string | undefined;
}>;

export type WrittenKubeconfig = Readonly<{
  contexts: readonly WrittenContext[];
  /** @default the first one */
  currentContext?: string | undefined;
}>;

const base64 = (pem: string): string => Buffer.from(pem).toString("base64");

/** Gives a kubeconfig's YAML, with all certificates and tokens in it: it works wherever it is copied. */
export function formatKubeconfig({ contexts, currentContext }: WrittenKubeconfig): string {
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

/** Writes a kubeconfig that only its owner can read; whoever reads the path meanwhile gets the old one or the new one. */
export async function writeKubeconfig(path: string, kubeconfig: WrittenKubeconfig): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const half = `${path}.${randomUUID()}.part`;
  try {
    await writeFile(half, formatKubeconfig(kubeconfig), { mode: 0o600 });
    await rename(half, path);
  } catch (error) {
    await rm(half, { force: true });
    throw error;
  }
}
