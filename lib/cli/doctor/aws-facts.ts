import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { isRecord } from "@tmc/kube/json.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import type { CallAws } from "../../credentials/aws-call.ts";
import { type AwsCredentials, awsDomain } from "../../credentials/aws-sign.ts";
import type { SecretsManager } from "../../credentials/secrets-manager.ts";
import { readableCause } from "../../queue/retry-policy.ts";
import { openSecretHub } from "../../upstream/open-hub.ts";
import type { AwsFacts, DoctorSettings, FactRead } from "./aws-checks.ts";

/** Access to AWS, the upstream and this machine. Tests pass their own. */
export type DoctorTools = Readonly<{
  clock: Clock;
  region: string;
  credentials: AwsCredentials;
  callAws: CallAws;
  secretsManager: SecretsManager;
  /** Returns the version of Docker; fails if it is missing or does not run. */
  dockerVersion: () => Promise<string>;
  /** @default `node:https` */
  openTransport?: ((endpoint: Endpoint) => Transport) | undefined;
}>;

/** Reads what a deployment with these settings depends on. Each fact fails by itself. */
export async function readAwsFacts(settings: DoctorSettings, tools: DoctorTools): Promise<AwsFacts> {
  const { kcpSecret, relaySecret } = settings;
  const [quota, bootstrap, functions, relay, docker] = await Promise.all([
    attempt(() => readQuota(tools)),
    attempt(() => readBootstrapVersion(tools)),
    readUpstream(kcpSecret, tools),
    relaySecret === kcpSecret ? undefined : readUpstream(relaySecret, tools),
    settings.buildsImage ? attempt(tools.dockerVersion) : undefined,
  ]);
  const secrets = [
    { name: kcpSecret, users: relay === undefined ? "functions and relay" : "functions", content: functions.content },
    ...(relay === undefined ? [] : [{ name: relaySecret, users: "relay", content: relay.content }]),
  ];
  const { concurrency, isReserved } = settings;
  const { region } = tools;
  return { region, concurrency, isReserved, quota, bootstrap, secrets, upstream: functions.upstream, docker };
}

async function attempt<T>(read: () => Promise<T>): Promise<FactRead<T>> {
  try {
    return { value: await read() };
  } catch (error) {
    return { reason: readableCause(error) };
  }
}

async function readQuota({
  callAws,
  credentials,
  region,
}: DoctorTools): Promise<{ total: number; unreserved: number }> {
  const hostname = `lambda.${region}.${awsDomain(region)}`;
  const request = { method: "GET", hostname, path: "/2016-08-19/account-settings/" } as const;
  const body: unknown = JSON.parse(
    await callAws(request, { identity: await credentials(), service: "lambda", region }),
  );
  const limit = isRecord(body) ? body.AccountLimit : undefined;
  if (!isRecord(limit)) throw new Error("the response has no limits");
  const { ConcurrentExecutions: total, UnreservedConcurrentExecutions: unreserved } = limit;
  if (typeof total !== "number" || typeof unreserved !== "number") throw new Error("the response has no limits");
  return { total, unreserved };
}

/** Reads the version from the outputs of the stack that `cdk bootstrap` creates. */
async function readBootstrapVersion({ callAws, credentials, region }: DoctorTools): Promise<number | undefined> {
  const hostname = `cloudformation.${region}.${awsDomain(region)}`;
  const query = { Action: "DescribeStacks", StackName: "CDKToolkit", Version: "2010-05-15" };
  try {
    const text = await callAws(
      { method: "GET", hostname, path: "/", query },
      { identity: await credentials(), service: "cloudformation", region },
    );
    const outputs =
      text.match(/<member>(?:(?!<\/member>).)*BootstrapVersion(?:(?!<\/member>).)*<\/member>/s)?.[0] ?? "";
    const [, version] = /<OutputValue>(\d+)<\/OutputValue>/.exec(outputs) ?? [];
    return version === undefined ? undefined : Number(version);
  } catch (error) {
    // CloudFormation answers a ValidationError for a stack that does not exist.
    if (faultOf(error) === "invalid") return undefined;
    throw error;
  }
}

type UpstreamFacts = Readonly<{ content: AwsFacts["secrets"][number]["content"]; upstream: AwsFacts["upstream"] }>;

/** Reads a kubeconfig secret and asks its server whether it is ready. */
async function readUpstream(
  secret: string,
  { secretsManager, clock, openTransport }: DoctorTools,
): Promise<UpstreamFacts> {
  const open = openTransport ?? ((endpoint: Endpoint) => createHttpsTransport(endpoint, { clock }));
  const opened = await attempt(() => openSecretHub({ secretsManager, secret, openTransport: open, clock }));
  if ("reason" in opened) return { content: opened, upstream: undefined };
  const client = opened.value;
  try {
    const server = new URL(client.server).origin;
    const upstream = await attempt(async () => {
      const { status } = await client.at("/").raw("GET", "/readyz");
      return { server, status };
    });
    return { content: { value: { server } }, upstream };
  } finally {
    await client.close();
  }
}
