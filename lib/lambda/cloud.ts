import type { KubeClient } from "@tmc/kube/client.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import { type WorkloadType, workloadKindsWith } from "../api/workload-kinds.ts";
import type { AwsCredentials } from "../credentials/aws-sign.ts";
import type { OpenTransport } from "../credentials/connections.ts";
import { functionTransports } from "../credentials/function-transport.ts";
import type { SecretsManager } from "../credentials/secrets-manager.ts";
import type { Environment } from "../engine/environment.ts";
import { hubRequestRecorder } from "../observe/recorders.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { readCustomWorkloads } from "../upstream/custom-types.ts";
import { createExportHub, type ExportHub, findExport } from "../upstream/export/hub.ts";
import { openSecretHub, type SecretHubOptions } from "../upstream/open-hub.ts";
import type { Tools } from "./function.ts";

/** The way to the hub, for functions that read it. */
export type HubCloud = Readonly<{
  secretsManager: SecretsManager;
  /** How the hub is reached. @default `node:https` */
  openHubTransport?: SecretHubOptions["openTransport"] | undefined;
}>;

/** The way to the hub and to the queues. */
export type QueueCloud = HubCloud & Readonly<{ sqs: SqsClient }>;

/** The same, and the way to the clusters, for functions that look at them. */
export type WorkCloud = QueueCloud &
  Readonly<{
    awsCredentials: AwsCredentials;
    /** How clusters are reached. @default `node:https`, to servers that the rules for tenants allow */
    openTransport?: OpenTransport | undefined;
  }>;

/** The hub as functions have it. */
export type OpenedHub = Readonly<{
  /** At a root below which each logical cluster is found by its name. */
  client: KubeClient;
  /** At the server's root, as the operator's kubeconfig has it. */
  root: KubeClient;
  /** Where all tenants of an export are looked after. */
  exportHub?: ExportHub | undefined;
}>;

/** What ends without a deploy: the hub is back, or somebody has renewed the credentials that it refuses. */
const passing: ReadonlySet<Fault | undefined> = new Set(["unreachable", "throttled", "unauthorized"]);

/**
 * Opens the hub with the kubeconfig of the operator's secret; each of its requests is counted. Where an export is named, its
 * tenants are reached through the virtual workspaces that serve them, as the same user. An export that is not there fails it.
 */
export async function openHub(
  { secretsManager, openHubTransport }: HubCloud,
  { host, log, metrics, environment }: Tools & Readonly<{ environment: Pick<Environment, "kcpSecret" | "apiExport"> }>,
): Promise<OpenedHub> {
  const { clock, random } = host;
  const openTransport = openHubTransport ?? ((endpoint) => createHttpsTransport(endpoint, { clock }));
  const { kcpSecret: secret, apiExport } = environment;
  const open = async (server?: string): Promise<KubeClient> => {
    const client = await openSecretHub({ secretsManager, secret, server, openTransport, clock, random });
    return countedClient(client, hubRequestRecorder(metrics));
  };
  const client = await open();
  if (apiExport === undefined) return { client, root: client };
  const exportHub = createExportHub({ provider: client, export: apiExport, openEndpoint: open, clock, random });
  await findExport(exportHub, apiExport).catch((error: unknown) => {
    // Asked again for each key, which then comes back by itself; a start that fails has the queue give up whole batches.
    if (!passing.has(faultOf(error))) throw error;
    log.warn("export cannot be read yet", { error });
  });
  return { client: exportHub.client, root: client, exportHub };
}

/** How clusters of tenants are reached, unless a test has its own way. */
export function clusterTransports(
  { openTransport }: Pick<WorkCloud, "openTransport">,
  { allowedEndpoints }: Pick<Environment, "allowedEndpoints">,
): OpenTransport {
  return openTransport ?? functionTransports({ allowedRanges: allowedEndpoints });
}

/**
 * Every type of workload that is looked after, with those that an operator has added to the export. Where these cannot be read,
 * the process goes on with the types that it knows by itself, and says so: whatever it does not know another process does,
 * and resync comes back to it.
 */
export async function knownWorkloads(
  { root }: Pick<OpenedHub, "root">,
  { log, environment: { apiExport } }: Tools & Readonly<{ environment: Pick<Environment, "apiExport"> }>,
): Promise<readonly WorkloadType[]> {
  if (apiExport === undefined) return workloadKindsWith();
  try {
    return workloadKindsWith(await readCustomWorkloads(root, apiExport));
  } catch (error) {
    if (faultOf(error) === undefined) throw error;
    log.warn("types of the export are not known", { error });
    return workloadKindsWith();
  }
}
