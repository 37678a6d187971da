import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { Context } from "aws-lambda";
import type { Host } from "../../lib/lambda/host.ts";
import type { ReconcileClients } from "../../lib/lambda/upstream.ts";
import type { WorkKey } from "../../lib/model/key.ts";
import { formatBody, messageGroupOf, type WorkMessage } from "../../lib/queue/work-message.ts";
import { recordingSqs, type Sent } from "../functions/recording-sqs.ts";
import { fakeSecretsManager } from "../lib/credentials/fake-secrets-manager.ts";
import { startTenants, type Tenants } from "../lib/upstream/tenants.ts";
import { createSkippingClock } from "./skipping-clock.ts";

/** Secrets that no log line may contain. */
export const hubToken = "hub-token-4f1f2b3c";
export const clusterToken = "cluster-token-9a8b7c6d";

const kubeconfig = `apiVersion: v1
kind: Config
current-context: kcp
contexts: [{ name: kcp, context: { cluster: kcp, user: tmc } }]
clusters: [{ name: kcp, cluster: { server: "https://kcp.example.com/clusters/root" } }]
users: [{ name: tmc, user: { token: ${hubToken} } }]
`;

/** The name of the secret of a registration, for a function with this environment. */
export const secretNameOf = (cluster: string, registration: string): string =>
  `tmc/test/kcp/${cluster}/${registration}`;

/** A function's process in a test: its environment can be changed and its lines read. */
export type TestHost = Host & Readonly<{ variables: Record<string, string | undefined>; lines: readonly Line[] }>;
export type Line = Readonly<Record<string, unknown>>;

export type FunctionsEnvironment = Readonly<{
  tenants: Tenants;
  /** The logical cluster of the first workspace, and a client in it. */
  cluster: string;
  client: KubeClient;
  clusters: ReadonlyMap<string, EmbeddedCluster>;
  secrets: ReturnType<typeof fakeSecretsManager>;
  sqs: ReturnType<typeof recordingSqs>;
  cloud: ReconcileClients;
  /** The time of the functions, of kcp and of the clusters. */
  clock: Clock;
  /** Takes delayed messages, at most the given number, and skips their delay. */
  takeDelayed(most: number): readonly Sent[];
  host(variables?: Readonly<Record<string, string | undefined>>, overrides?: Partial<Host>): TestHost;
  /** All log lines of all functions, as text. */
  written(): string;
  stop(): Promise<void>;
}>;

/** Starts an embedded kcp with TMC's kinds, two embedded clusters, secrets and queues. */
export async function startFunctionsEnvironment(
  workspaces: readonly string[] = ["root:demo"],
): Promise<FunctionsEnvironment> {
  const clock = createSkippingClock();
  const tenants = await startTenants(workspaces, {
    clock,
    users: [{ token: hubToken, name: "tmc", groups: ["system:kcp:admin"] }],
  });
  const clusters = new Map<string, EmbeddedCluster>();
  for (const name of ["east", "west"])
    clusters.set(name, await startEmbeddedCluster({ name, listen: false, adminToken: clusterToken, clock }));
  const [cluster = ""] = tenants.clusters;
  const secrets = fakeSecretsManager([["tmc/kcp", kubeconfig]]);
  for (const name of clusters.keys()) {
    for (const each of tenants.clusters) {
      const text = JSON.stringify({ server: `https://${name}.example.com`, token: clusterToken });
      secrets.secrets.set(secretNameOf(each, name), text);
    }
  }
  const sqs = recordingSqs(clock.now);
  const all: string[] = [];
  return {
    tenants,
    cluster,
    client: tenants.at(cluster),
    clusters,
    secrets,
    sqs,
    cloud: {
      sqs: sqs.sqs,
      secretsManager: secrets.secretsManager,
      awsCredentials: async () => ({ accessKeyId: "AKIA", secretAccessKey: "key" }),
      openHubTransport: () => tenants.kcp.transport(),
      openTransport: (_endpoint, { key }) => {
        const found = clusters.get(key.name);
        if (found === undefined) throw new Error(`nothing leads to ${key.name}`);
        return found.transport();
      },
    },
    clock,
    takeDelayed: (most) => {
      const taken = sqs.take("delay", most);
      for (const { sentMs, delaySeconds } of taken) clock.skipTo(sentMs + delaySeconds * 1000);
      return taken;
    },
    host: (variables = {}, overrides = {}) => {
      const lines: Line[] = [];
      return {
        variables: { ...environmentOf(workspaces), ...variables },
        version: "1.2.3",
        clock,
        random: () => 0.5,
        write: (line) => {
          all.push(line);
          lines.push(JSON.parse(line) as Line);
        },
        uptimeMs: () => 100,
        ...overrides,
        lines,
      };
    },
    written: () => all.join(""),
    stop: async () => {
      for (const each of clusters.values()) await each.stop();
      await tenants.stop();
    },
  };
}

const urlOf = (queue: string): string => `https://sqs.eu-west-1.amazonaws.com/000000000000/${queue}`;

function environmentOf(workspaces: readonly string[]): Record<string, string> {
  return {
    TMC_STAGE: "test",
    TMC_HUB_ID: "kcp",
    TMC_LOG_LEVEL: "4",
    TMC_KCP_SECRET: "tmc/kcp",
    TMC_WORKSPACES: workspaces.join(","),
    TMC_WORK_QUEUE_URL: urlOf("work.fifo"),
    TMC_DELAY_QUEUE_URL: urlOf("delay"),
    TMC_DEAD_LETTERS_URL: urlOf("dead.fifo"),
    TMC_HEARTBEAT_QUEUE_URL: urlOf("heartbeat"),
    TMC_RESYNC_QUEUE_URL: urlOf("resync"),
  };
}

/** The context of an invocation with the given remaining time. */
export function contextOf(remainingMs = 20_000): Context {
  const endMs = Date.now() + remainingMs;
  return {
    awsRequestId: "request-1",
    functionName: "tmc",
    functionVersion: "1",
    invokedFunctionArn: "",
    memoryLimitInMB: "512",
    logGroupName: "",
    logStreamName: "",
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, endMs - Date.now()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}

/** A message of the work queue. */
export function messageOf(key: WorkKey, more: Partial<WorkMessage> = {}): Pick<Sent, "body" | "groupId" | "sentMs"> {
  return {
    body: formatBody({ key, reason: "changed", resourceVersion: "1", ...more }),
    groupId: messageGroupOf(key),
    sentMs: Date.now(),
  };
}

/** The messages of a function's log lines, without metrics. */
export function saidIn({ lines }: TestHost): readonly string[] {
  return lines.flatMap(({ message }) => (typeof message === "string" ? [message] : []));
}

/** A Deployment of two replicas for the namespace `shop`. */
export function aDeployment(name: string) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "shop", labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "nginx:1.27" }] } },
    },
  };
}
