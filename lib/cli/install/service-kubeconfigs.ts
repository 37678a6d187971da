import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { accountNamespace, type ServiceRole, serviceAccounts } from "../../api/export-access.ts";
import { decideRenewal, parseToken, requestToken, type WrittenKubeconfig } from "../../install/account-token.ts";
import { managedTypes } from "../../install/managed-object.ts";

import { ignoreNotFound } from "../../install/unbind.ts";

/** The kubeconfig file of a service. */
export type ServiceKubeconfig = Readonly<{
  service: ServiceRole;
  path: string;
  /** Why the file was written or, in a dry run, would be written; undefined when the existing file is kept. */
  reason: string | undefined;
}>;

export type ServiceKubeconfigOptions = Readonly<{
  /** Client in the provider workspace, which contains the APIExport. */
  provider: KubeClient;
  /** The address and the CA of the server, without a workspace path. */
  endpoint: Endpoint;
  /** Path of the provider workspace. */
  path: string;
  folder: string;
  lifetimeSeconds: number;
  /** Only decides, without requesting a token or writing a file. */
  dryRun: boolean;
  clock: Clock;
}>;

/**
 * Writes a kubeconfig for each service account, readable only by its owner, unless the existing file is still usable.
 *
 * The context points to the provider workspace, where the service finds the URLs of the virtual workspaces.
 */
export async function writeServiceKubeconfigs(
  options: ServiceKubeconfigOptions,
): Promise<readonly ServiceKubeconfig[]> {
  const { provider, endpoint, folder, lifetimeSeconds, clock } = options;
  const server = `${endpoint.server}/clusters/${options.path}`;
  const written: ServiceKubeconfig[] = [];
  for (const service of ["relay", "worker"] as const) {
    const account = serviceAccounts[service];
    const present = await provider
      .get<KubeObject>({ type: managedTypes.ServiceAccount, namespace: accountNamespace, name: account })
      .catch(ignoreNotFound);
    const path = join(folder, `${service}.kubeconfig`);
    const reason = decideRenewal({
      written: await readWritten(path),
      server,
      ca: endpoint.ca,
      uid: present?.metadata.uid ?? "",
      nowMs: clock.now(),
    });
    if (reason !== undefined && !options.dryRun) {
      const token = await requestToken(provider, { account, lifetimeSeconds });
      const { ca, serverName } = endpoint;
      await writeKubeconfig(path, { contexts: [{ name: account, endpoint: { server, ca, serverName }, token }] });
    }
    written.push({ service, path, reason });
  }
  return written;
}

/** Throws if the operator's kubeconfig skips TLS verification, because the services' kubeconfigs would inherit that. */
export function requireVerifiedServer({ insecureSkipTlsVerify }: Endpoint): void {
  if (insecureSkipTlsVerify !== true) return;
  throw new ControllerError(
    "invalid",
    "the kubeconfig skips TLS verification (insecure-skip-tls-verify), which the kubeconfigs of the services must not; use --no-kubeconfigs to write none",
  );
}

/** Reads a kubeconfig that a previous run wrote; undefined when it is missing or unreadable. */
async function readWritten(path: string): Promise<WrittenKubeconfig | undefined> {
  try {
    const { endpoint } = parseKubeconfig(await readFile(path, "utf8"), { allow: "data-only" });
    const token = await endpoint.token?.();
    return { server: endpoint.server, ca: endpoint.ca, token: token === undefined ? undefined : parseToken(token) };
  } catch {
    return undefined;
  }
}
