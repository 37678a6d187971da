import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { accountNamespace, type ServiceRole, serviceAccounts } from "../api/export-access.ts";
import { decideRenewal, parseToken, requestToken, type WrittenFacts } from "../install/account-token.ts";
import { managedTypes } from "../install/managed-object.ts";

import { unlessGone } from "../install/unbind.ts";

/** The kubeconfig of a service, and what became of it. */
export type ServiceKubeconfig = Readonly<{
  service: ServiceRole;
  path: string;
  /** Why it was written, or would be; undefined when the one that is there stays. */
  why: string | undefined;
}>;

export type ServiceKubeconfigOptions = Readonly<{
  /** In the workspace that holds the export. */
  provider: KubeClient;
  /** The server as the operator reaches it, without a path. */
  endpoint: Endpoint;
  /** The workspace that holds the export. */
  path: string;
  folder: string;
  lifetimeSeconds: number;
  /** Decide only. */
  dryRun: boolean;
  clock: Clock;
}>;

/**
 * Writes a kubeconfig for each of our service accounts, readable to its owner alone, where there is none that will do.
 *
 * Its context is in the workspace that holds the export: from there its user finds the virtual workspaces.
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
      .catch(unlessGone);
    const path = join(folder, `${service}.kubeconfig`);
    const why = decideRenewal({
      written: await readWritten(path),
      server,
      ca: endpoint.ca,
      uid: present?.metadata.uid ?? "",
      nowMs: clock.now(),
    });
    if (why !== undefined && !options.dryRun) {
      const token = await requestToken(provider, { account, lifetimeSeconds });
      const { ca, serverName } = endpoint;
      await writeKubeconfig(path, { contexts: [{ name: account, endpoint: { server, ca, serverName }, token }] });
    }
    written.push({ service, path, why });
  }
  return written;
}

/** Fails where a kubeconfig cannot be made of the operator's own. */
export function demandCheckedServer({ insecureSkipTlsVerify }: Endpoint): void {
  if (insecureSkipTlsVerify !== true) return;
  throw new ControllerError(
    "invalid",
    "the kubeconfig does not check the server, and what runs on its own must; --no-kubeconfigs writes none",
  );
}

/** What a kubeconfig of ours says; undefined for one that is missing or not to be read. */
async function readWritten(path: string): Promise<WrittenFacts | undefined> {
  try {
    const { endpoint } = parseKubeconfig(await readFile(path, "utf8"), { allow: "data-only" });
    const token = await endpoint.token?.();
    return { server: endpoint.server, ca: endpoint.ca, token: token === undefined ? undefined : parseToken(token) };
  } catch {
    return undefined;
  }
}
