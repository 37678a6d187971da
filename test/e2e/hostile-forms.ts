import type { LookupFunction } from "node:net";
import type { EmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { exportName, exportWorkspace } from "../../lib/api/group.ts";
import { createController } from "../../lib/controller/controller.ts";
import { functionTransports } from "../../lib/credentials/function-transport.ts";
import { pooledTransports } from "../../lib/credentials/pooled-transport.ts";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import { createLog } from "../../lib/observe/log.ts";
import { createMetrics } from "../../lib/observe/metrics.ts";
import { eventOf, recordingSqs } from "../functions/recording-sqs.ts";
import { fakeSecretsManager } from "../lib/credentials/fake-secrets-manager.ts";
import { contextOf, messageOf } from "../support/functions-environment.ts";

export type FormOptions = Readonly<{
  kcp: EmbeddedKcp;
  /** Client at the root of the server with unlimited permissions, so that only TMC separates the tenants. */
  client: KubeClient;
  /** Whether the operator allows private endpoints. */
  isOpen: boolean;
  resolve: LookupFunction;
  /** The secrets in AWS Secrets Manager. */
  secrets: readonly (readonly [name: string, text: string])[];
}>;

/** TMC for all tenants of an export, as a controller or as a function. */
export interface Form {
  /** Reconciles the registrations of a logical cluster at least once. */
  reconcile(cluster: string, names: readonly string[]): Promise<void>;
  /** Everything that it wrote outside kcp so far: log, metrics and queue messages. */
  said(): string;
  stop(): Promise<void>;
}

const address = { path: exportWorkspace, name: exportName };
const oneServer = (): never => {
  throw new Error("there is one server");
};

/** Everything in one process. */
export async function startControllerForm({ client, isOpen, resolve }: FormOptions): Promise<Form> {
  let lines = "";
  const metrics = createMetrics();
  const controller = createController({
    client,
    hubId: "kcp",
    workspaces: undefined,
    apiExport: { address, openEndpoint: oneServer },
    openTransport: pooledTransports({ allowPrivateEndpoints: isOpen }, resolve),
    settings: { allowPrivateEndpoints: isOpen },
    log: createLog({
      level: 10,
      clock: systemClock,
      write: (line) => {
        lines += line;
      },
    }),
    metrics,
  });
  await controller.start();
  return {
    reconcile: async (logicalCluster, names) => {
      for (const name of names) await controller.reconcile({ logicalCluster, kind: "ClusterRegistration", name });
      await controller.whenSettled();
    },
    said: () => lines + metrics.render(),
    stop: () => controller.stop(),
  };
}

/** The function that works on keys, as it is deployed, with queues and secrets in memory. */
export async function startFunctionForm({ kcp, isOpen, resolve, secrets }: FormOptions): Promise<Form> {
  let lines = "";
  const sqs = recordingSqs();
  const hub = { server: "https://kcp.example.com/clusters/root" };
  const kubeconfig = formatKubeconfig({ contexts: [{ name: "kcp", endpoint: hub, token: kcp.adminToken }] });
  const allowed = isOpen ? "0.0.0.0/0,::/0" : "";
  const urlOf = (queue: string): string => `https://sqs.eu-west-1.amazonaws.com/000000000000/${queue}`;
  const handler = createReconcileFunction(
    {
      variables: {
        TMC_STAGE: "test",
        TMC_HUB_ID: "kcp",
        TMC_LOG_LEVEL: "10",
        TMC_KCP_SECRET: "tmc/kcp",
        TMC_API_EXPORT: `${exportWorkspace}:${exportName}`,
        TMC_WORK_QUEUE_URL: urlOf("work.fifo"),
        TMC_DELAY_QUEUE_URL: urlOf("delay"),
        TMC_DEAD_LETTERS_URL: urlOf("dead.fifo"),
        TMC_ALLOWED_ENDPOINTS: allowed,
      },
      version: "test",
      clock: systemClock,
      random: () => 0.5,
      write: (line) => {
        lines += line;
      },
      uptimeMs: () => 0,
    },
    {
      sqs: sqs.sqs,
      secretsManager: fakeSecretsManager([...secrets, ["tmc/kcp", kubeconfig]]).secretsManager,
      awsCredentials: async () => ({ accessKeyId: "AKIA", secretAccessKey: "key" }),
      openHubTransport: () => kcp.transport(),
      openTransport: functionTransports({ allowedRanges: allowed.split(",").filter((range) => range !== "") }, resolve),
    },
  );
  return {
    reconcile: async (logicalCluster, names) => {
      for (const name of names) {
        const message = messageOf({ logicalCluster, kind: "ClusterRegistration", name });
        const { batchItemFailures } = await handler(eventOf([message]), contextOf());
        if (batchItemFailures.length > 0) throw new Error(`${name}: its message comes back`);
      }
    },
    said: () => {
      const sent = ["work.fifo", "delay", "dead.fifo"].flatMap((queue) => sqs.in(queue));
      return lines + JSON.stringify(sent);
    },
    stop: async () => {},
  };
}
