import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DescribeStackResourcesCommand } from "@aws-sdk/client-cloudformation";
import { findFreePorts } from "../real/ports.ts";
import { startSupervised } from "../real/supervised-process.ts";
import { eventually } from "../support/eventually.ts";
import type { AwsClients } from "./aws-clients.ts";
import { type AwsEndpoint, environmentOf } from "./endpoint.ts";
import { createUserLike } from "./role-user.ts";

const program = fileURLToPath(new URL("../../dist/relay.js", import.meta.url));

/** A relay that runs by itself, as a task of the service would. */
export interface RelayProcess {
  /** Whether it answers that it is ready. */
  isReady(): Promise<boolean>;
  /** The value of one of its metrics, summed over its series. */
  metric(name: string): Promise<number>;
  output(): Promise<string>;
  ended(): string | undefined;
  readonly exit: Promise<number | null>;
  untilReady(limitMs: number): Promise<void>;
  /** SIGTERM, as ECS ends a task. */
  terminate(): void;
  kill(): Promise<void>;
}

/** What a task of the relay would be given: its environment, and the rights of its role. */
export interface RelayIdentity {
  readonly environment: Readonly<Record<string, string>>;
  /** Takes back what was made for it. */
  remove(): Promise<void>;
}

/** Reads what the live task definition says, and makes a user with the live rights of its role. */
export async function createRelayIdentity(aws: AwsClients, stack: string): Promise<RelayIdentity> {
  const task = await readTask(aws, stack);
  const { credentials, remove } = await createUserLike(aws, task.role);
  const keys = { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey };
  return { environment: { ...task.environment, ...keys }, remove };
}

export type RelayOptions = Readonly<{ endpoint: AwsEndpoint; identity: RelayIdentity; folder: string }>;

/** Starts a relay as a task would run it, but for its ports: two of them share this machine. */
export async function startRelay({ endpoint, identity, folder }: RelayOptions): Promise<RelayProcess> {
  const [metricsPort = 0, healthPort = 0] = await findFreePorts(2);
  const logFile = join(folder, `relay-${randomUUID()}.log`);
  const supervised = startSupervised({
    name: "relay",
    command: process.execPath,
    args: [program],
    logFile,
    env: {
      ...environmentOf(endpoint),
      ...identity.environment,
      TMC_METRICS_PORT: String(metricsPort),
      TMC_HEALTH_PORT: String(healthPort),
    },
  });
  const output = (): Promise<string> => readFile(logFile, "utf8");
  const ask = async (port: number, path: string): Promise<Response | undefined> =>
    fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  const isReady = async (): Promise<boolean> => (await ask(healthPort, "/readyz"))?.status === 200;
  return {
    isReady,
    metric: async (name) => {
      const text = (await (await ask(metricsPort, "/metrics"))?.text()) ?? "";
      return text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    output,
    ended: supervised.ended,
    exit: supervised.exit,
    untilReady: (limitMs) =>
      eventually(async () => {
        if (supervised.ended() !== undefined) throw new Error(`relay: ${supervised.ended()}: ${await output()}`);
        return (await isReady()) ? undefined : `the relay is not ready: ${(await output()).slice(-500)}`;
      }, limitMs),
    terminate: () => process.kill(supervised.group, "SIGTERM"),
    kill: supervised.kill,
  };
}

type Task = Readonly<{ environment: Readonly<Record<string, string>>; role: string }>;

async function readTask(aws: AwsClients, stack: string): Promise<Task> {
  const { StackResources = [] } = await aws.cloudFormation.send(
    new DescribeStackResourcesCommand({ StackName: stack }),
  );
  const taskDefinition = StackResources.find(({ ResourceType }) => ResourceType === "AWS::ECS::TaskDefinition");
  const input = { taskDefinition: taskDefinition?.PhysicalResourceId };
  const target = "AmazonEC2ContainerServiceV20141113.DescribeTaskDefinition";
  const answer = (await aws.call({ service: "ecs", target, input })) as TaskAnswer; // ECS's own form
  const { containerDefinitions, taskRoleArn } = answer.taskDefinition;
  const pairs = containerDefinitions.flatMap(({ environment }) => environment.map(({ name, value }) => [name, value]));
  return { environment: Object.fromEntries(pairs), role: taskRoleArn.split("/").at(-1) ?? "" };
}

type TaskAnswer = Readonly<{
  taskDefinition: Readonly<{
    taskRoleArn: string;
    containerDefinitions: readonly Readonly<{ environment: readonly Readonly<{ name: string; value: string }>[] }>[];
  }>;
}>;
