import type { KubeClient } from "@tmc/kube/client.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import { allWorkloadTypes, type WorkloadType } from "../api/workload-kinds.ts";
import type { AwsCredentials } from "../credentials/aws-sign.ts";
import type { OpenTransport } from "../credentials/connections.ts";
import { functionTransports } from "../credentials/function-transport.ts";
import type { SecretsManager } from "../credentials/secrets-manager.ts";
import type { Environment } from "../engine/environment.ts";
import { upstreamRequestRecorder } from "../observe/recorders.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { readCustomWorkloads } from "../upstream/custom-types.ts";
import { createExportHub, type ExportHub, findExport } from "../upstream/export/hub.ts";
import { openSecretHub, type SecretHubOptions } from "../upstream/open-hub.ts";
import type { FunctionTools } from "./function.ts";

/** Clients of a function that reads the upstream. */
export type UpstreamClients = Readonly<{
  secretsManager: SecretsManager;
  /** Transport to the upstream. @default `node:https` */
  openHubTransport?: SecretHubOptions["openTransport"] | undefined;
}>;

/** Clients of a function that uses the upstream and the queues. */
export type QueueClients = UpstreamClients & Readonly<{ sqs: SqsClient }>;

/** Clients of a function that also connects to clusters. */
export type ReconcileClients = QueueClients &
  Readonly<{
    awsCredentials: AwsCredentials;
    /** Transport to clusters. @default `node:https`, restricted to allowed endpoints */
    openTransport?: OpenTransport | undefined;
  }>;

export type UpstreamHub = Readonly<{
  /** Has each logical cluster below its root, by name. */
  client: KubeClient;
  /** Has the server URL of the operator's kubeconfig. */
  rootClient: KubeClient;
  /** Set if all tenants of an APIExport are reconciled. */
  exportHub?: ExportHub | undefined;
}>;

/** Faults that end without a deployment: the upstream is reachable again, or its credentials were renewed. */
const transientFaults: ReadonlySet<Fault | undefined> = new Set(["unreachable", "throttled", "unauthorized"]);

/** Whether a function may start despite an error of the upstream, and read it again for each key. */
export const endsWithoutDeployment = (error: unknown): boolean => transientFaults.has(faultOf(error));

/**
 * Opens the upstream with the kubeconfig of the operator's secret, with request metrics. With an APIExport, the tenants are
 * reached through its virtual workspaces, as the same user. Throws if the APIExport does not exist.
 */
export async function openUpstreamHub(
  { secretsManager, openHubTransport }: UpstreamClients,
  {
    host,
    log,
    metrics,
    environment,
  }: FunctionTools & Readonly<{ environment: Pick<Environment, "kcpSecret" | "apiExport"> }>,
): Promise<UpstreamHub> {
  const { clock, random } = host;
  const openTransport = openHubTransport ?? ((endpoint) => createHttpsTransport(endpoint, { clock }));
  const { kcpSecret: secret, apiExport } = environment;
  const open = async (server?: string): Promise<KubeClient> => {
    const client = await openSecretHub({ secretsManager, secret, server, openTransport, clock, random });
    return countedClient(client, upstreamRequestRecorder(metrics));
  };
  const client = await open();
  if (apiExport === undefined) return { client, rootClient: client };
  const exportHub = createExportHub({ provider: client, export: apiExport, openEndpoint: open, clock, random });
  await findExport(exportHub, apiExport).catch((error: unknown) => {
    // Not fatal: every key reads the export again and is retried. A failed start would make SQS dead-letter whole batches.
    if (!endsWithoutDeployment(error)) throw error;
    log.warn("export cannot be read yet", { error });
  });
  return { client: exportHub.client, rootClient: client, exportHub };
}

export function clusterTransports(
  { openTransport }: Pick<ReconcileClients, "openTransport">,
  { allowedEndpoints }: Pick<Environment, "allowedEndpoints">,
): OpenTransport {
  return openTransport ?? functionTransports({ allowedRanges: allowedEndpoints });
}

/**
 * Reads the workload types: the builtin ones and those that an operator added to the APIExport. If the latter cannot be read,
 * the function logs a warning and continues with the builtin types; other processes, and the next resync, handle the rest.
 */
export async function readWorkloadTypes(
  { rootClient }: Pick<UpstreamHub, "rootClient">,
  { log, environment: { apiExport } }: FunctionTools & Readonly<{ environment: Pick<Environment, "apiExport"> }>,
): Promise<readonly WorkloadType[]> {
  if (apiExport === undefined) return allWorkloadTypes();
  try {
    return allWorkloadTypes(await readCustomWorkloads(rootClient, apiExport));
  } catch (error) {
    if (faultOf(error) === undefined) throw error;
    log.warn("custom workload types cannot be read", { error });
    return allWorkloadTypes();
  }
}
