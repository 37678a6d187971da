import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { ListStacksCommand } from "@aws-sdk/client-cloudformation";
import { DescribeLogGroupsCommand } from "@aws-sdk/client-cloudwatch-logs";
import {
  GetRolePolicyCommand,
  ListRolePoliciesCommand,
  ListRolesCommand,
  PutRolePolicyCommand,
} from "@aws-sdk/client-iam";
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  ListEventSourceMappingsCommand,
  ListFunctionsCommand,
} from "@aws-sdk/client-lambda";
import { GetScheduleCommand, ListSchedulesCommand, UpdateScheduleCommand } from "@aws-sdk/client-scheduler";
import { ListSecretsCommand, PutSecretValueCommand } from "@aws-sdk/client-secrets-manager";
import {
  GetQueueAttributesCommand,
  ListQueuesCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from "@aws-sdk/client-sqs";
import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { bothRegions } from "../e2e/engine-cases.ts";
import { clusterNames, type Environment } from "../e2e/environment.ts";
import type { Tenant } from "../e2e/tenant.ts";
import { eventually } from "../support/eventually.ts";
import type { AwsClients } from "./aws-clients.ts";
import { changeEnvironment } from "./call-function.ts";
import { useDeployedEnvironment } from "./deployed-environment.ts";
import { type DeployedForm, readHealth } from "./deployed-form.ts";
import type { Deployment } from "./deployment.ts";
import { checkDeployment } from "./deployment-check.ts";
import { killFunctions } from "./function-processes.ts";
import { differences } from "./gaps.ts";
import { createGate, type Gate, sqsCalls } from "./gate.ts";
import { readStageLogs } from "./stage-logs.ts";
import { runTmc } from "./tmc-command.ts";

const endpoint = inject("awsEndpoint");
const stage = "deployed";
/** A schedule that comes round every minute is late by up to ten seconds here. */
const scheduleMs = 90_000;
const waitMs = 60_000;

describe.skipIf(!endpoint.own)("a deployment", { timeout: 240_000 }, () => {
  const present = useDeployedEnvironment({ stage, waitMs });
  let world: Environment;
  let tenant: Tenant;
  let aws: AwsClients;
  let gate: Gate;
  let deployment: Deployment;
  let form: DeployedForm;
  let workQueue: string;

  /** Runs of a function since a moment. */
  const runsOf = async (name: string, sinceMs: number): Promise<number> =>
    (await gate.invocations(sinceMs)).filter((run) => run.function === name).length;
  const placeMany = async (prefix: string, count: number): Promise<readonly string[]> => {
    const names = Array.from({ length: count }, (_, at) => `${prefix}-${at}`);
    await Promise.all(names.map((name) => tenant.place(name, bothRegions)));
    return names;
  };
  const tmc = (...args: readonly string[]): Promise<string> => runTmc(endpoint, [...args, "--queue-url", workQueue]);

  beforeAll(() => {
    ({ world, tenant, aws, deployment, form } = present);
    gate = createGate(endpoint);
    workQueue = deployment.outputs[`Tmc-${stage}-Core`]?.WorkQueueUrl ?? "";
  });
  afterEach(() => gate.refuse([]));

  it("matches its templates, except for what the endpoint is known to ignore", async () => {
    const { findings, compared } = await checkDeployment(aws, deployment.assembly);
    expect(findings.map(({ type, path }) => ({ type, path }))).toEqual(
      differences.map(({ type, path }) => ({ type, path })),
    );
    expect(compared).toBeGreaterThan(500);
  });

  it("sets clusters Ready and places workloads on them", async () => {
    await form.running();
    await tenant.register("us-east", { location: "us-east-1" }, { region: "us-east" });
    await tenant.register("us-west", { location: "us-west-2" }, { region: "us-west" });
    for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    await tenant.place("everywhere", { strategy: "Spread", ...bothRegions });
    await tenant.untilChosen("everywhere", ["us-east", "us-west"]);
    expect(await readHealth(aws, deployment)).toMatchObject({ ok: true, clusters: { ready: 2, total: 2 } });
  });

  it("probes clusters on the heartbeat schedule", async () => {
    const { heartbeat, probe } = deployment.names.functions;
    const since = Date.now();
    await eventually(async () => {
      const [planned, probed] = [await runsOf(heartbeat, since), await runsOf(probe, since)];
      return planned > 0 && probed > 0 ? undefined : `${planned} plans, ${probed} probes`;
    }, scheduleMs);
  });

  it("finds changes without a relay on the resync schedule", async () => {
    const { schedules, functions } = deployment.names;
    const calmDown = await hurry(aws, { schedule: schedules.resync, function: functions.resync });
    await Promise.all(form.relays().map((relay) => relay.kill()));
    await tenant.place("untold", bothRegions);
    const since = Date.now();
    await eventually(
      async () => ((await runsOf(functions.resync, since)) > 0 ? undefined : "no resync has run"),
      scheduleMs,
    );
    await tenant.untilDecided(["untold"]);
    await calmDown();
    await form.running();
  });

  it("delivers a change once with two relays, and continues when one of them dies", async () => {
    const { reconcile } = deployment.names.functions;
    await untilQuiet();
    const since = Date.now();
    const names = await placeMany("twice", 20);
    await tenant.untilDecided(names);
    await untilQuiet();
    const delivered = (await gate.invocations(since))
      .filter((run) => run.function === reconcile)
      .reduce((sum, { sentMs }) => sum + sentMs.length, 0);
    // If both relays' messages were consumed, it would be 40; keys that functions send are not counted.
    expect(delivered).toBeGreaterThanOrEqual(20);
    expect(delivered).toBeLessThan(25);

    await form.relays()[0]?.kill();
    expect(form.relays()).toHaveLength(1);
    await tenant.untilDecided(await placeMany("once", 10));
    await form.running();
  });

  it("loses no key during a redeployment", async () => {
    const names: string[] = [];
    let deployed = false;
    const deploying = deployment.redeploy({ logLevel: "3" }).finally(() => {
      deployed = true;
    });
    while (!deployed) {
      names.push(...(await placeMany(`load-${names.length}`, 3)));
      await delay(250); // some ten a second: a load, and no flood
    }
    await deploying;
    expect(names.length).toBeGreaterThan(20);
    await tenant.untilDecided(names);
    const configuration = new GetFunctionConfigurationCommand({ FunctionName: deployment.names.functions.reconcile });
    const { Environment } = await aws.lambda.send(configuration);
    expect(Environment?.Variables?.TMC_LOG_LEVEL).toBe("3");
  });

  it("loses no key during an SQS outage", async () => {
    await untilQuiet();
    await gate.refuse([sqsCalls]);
    const names = await placeMany("away", 30);
    await eventually(async () => ((await form.isReady()) ? "it is ready without SQS" : undefined), waitMs);
    expect((await tenant.placements()).filter(({ status }) => status === undefined).length).toBeGreaterThan(0);
    await gate.refuse([]);
    await tenant.untilDecided(names);
    await eventually(async () => ((await form.isReady()) ? undefined : "it is not ready again"), waitMs);
  });

  it("moves an unreadable message to the dead-letter queue with a reason", async () => {
    const letter = { MessageBody: "no work of ours", MessageGroupId: "strange", MessageDeduplicationId: "strange" };
    await aws.sqs.send(new SendMessageCommand({ QueueUrl: workQueue, ...letter }));
    await eventually(async () => {
      const list = await tmc("deadletters", "list");
      return list.includes("is not JSON") ? undefined : `dead letters: ${list}`;
    }, waitMs);
    expect((await readHealth(aws, deployment)).queues.deadLetters.visible).toBe(1);
  });

  it("dead-letters a key that no invocation could finish, and reconciles it after a redrive", async () => {
    const SecretId = `tmc-${stage}-kcp`;
    const setReceives = async (VisibilityTimeout: string, maxReceiveCount: number): Promise<void> => {
      const read = new GetQueueAttributesCommand({ QueueUrl: workQueue, AttributeNames: ["RedrivePolicy"] });
      const policy = JSON.parse((await aws.sqs.send(read)).Attributes?.RedrivePolicy ?? "{}") as object;
      const RedrivePolicy = JSON.stringify({ ...policy, maxReceiveCount });
      await aws.sqs.send(
        new SetQueueAttributesCommand({ QueueUrl: workQueue, Attributes: { VisibilityTimeout, RedrivePolicy } }),
      );
    };
    // Functions that cannot start count no failures, and the receives of the template would take eight hours.
    await setReceives("2", 5);
    await aws.secrets.send(new PutSecretValueCommand({ SecretId, SecretString: "no kubeconfig" }));
    await killFunctions(endpoint);
    await tenant.place("unlucky", bothRegions);
    await eventually(async () => {
      const list = await tmc("deadletters", "list");
      return list.includes("WorkloadPlacement/unlucky") ? undefined : `dead letters: ${list}`;
    }, waitMs);

    await aws.secrets.send(
      new PutSecretValueCommand({ SecretId, SecretString: await readFile(world.kcpKubeconfig, "utf8") }),
    );
    await setReceives("30", 1_000);
    expect((await tenant.placement("unlucky")).status).toBeUndefined();
    const key = `${deployment.tenantCluster}|WorkloadPlacement/unlucky`;
    expect(await tmc("deadletters", "redrive", "--key", key)).toBe("1 key sent to the work queue\n");
    await tenant.untilDecided(["unlucky"]);
    expect(await tmc("deadletters", "list")).not.toContain("unlucky");
  });

  it("is denied every action that its roles do not grant", async () => {
    const FunctionName = deployment.names.functions.resync;
    const { Role = "" } = await aws.lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    const RoleName = Role.split("/").at(-1) ?? "";
    const { PolicyNames: [PolicyName = ""] = [] } = await aws.iam.send(new ListRolePoliciesCommand({ RoleName }));
    const { PolicyDocument = "" } = await aws.iam.send(new GetRolePolicyCommand({ RoleName, PolicyName }));
    const granted = decodeURIComponent(PolicyDocument);
    const put = (document: string) =>
      aws.iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument: document }));
    const answerOf = async (): Promise<string> => {
      const { Payload = new Uint8Array() } = await aws.lambda.send(new InvokeCommand({ FunctionName }));
      return Buffer.from(Payload).toString("utf8");
    };
    expect(await answerOf()).toMatch(/"left": ?0\b/);
    await put(granted.replaceAll("sqs:SendMessage", "sqs:GetQueueUrl"));
    expect(await answerOf()).toContain("AccessDenied");
    await put(granted);
    expect(await answerOf()).toMatch(/"left": ?0\b/);
  });

  it("logs no secret", async () => {
    const { kcp, clusters } = world.parts;
    const tokens = [kcp.token, ...clusterNames.map((name) => clusters[name].token)];
    const texts = await Promise.all(form.relays().map((relay) => relay.output()));
    const text = [...texts, await readStageLogs(aws, stage)].join("\n");
    expect(text).toContain("function started");
    for (const token of tokens) expect(text.includes(token)).toBe(false);
    expect(text).not.toMatch(/BEGIN CERTIFICATE|certificate-authority-data|Bearer [A-Za-z0-9]/);
  });

  it("leaves no resource after cdk destroy", async () => {
    await form.stop();
    // The endpoint makes a log anew for a function that still writes: nothing more is delivered, and what runs ends.
    await gate.refuse(["AmazonSQS.ReceiveMessage"]);
    const { heartbeat } = deployment.names.functions;
    await eventually(async () => {
      const runs = await gate.invocations();
      const [latest, planned] = [runs.at(-1), runs.findLast((run) => run.function === heartbeat)];
      const sincePlanMs = Date.now() - (planned?.endMs ?? 0);
      // The schedule runs on until it is removed: its next minute must not come before that.
      if (sincePlanMs > 40_000) return "the next heartbeat is near";
      return Date.now() - (latest?.endMs ?? 0) > 1_500 ? undefined : `${latest?.function} has just run`;
    }, scheduleMs);
    await deployment.destroy();
    expect(await leftOf(aws)).toEqual({
      stacks: [],
      queues: [],
      functions: [],
      mappings: [],
      schedules: [],
      roles: [],
      logGroups: [],
      secrets: [],
    });
  });

  /** Nothing waits for a function any more. */
  async function untilQuiet(): Promise<void> {
    const { reconcile } = deployment.names.functions;
    await eventually(async () => {
      const latest = (await gate.invocations()).findLast((run) => run.function === reconcile)?.endMs ?? 0;
      const { work, delay: later } = (await readHealth(aws, deployment)).queues;
      const waiting = work.visible + work.inFlight + later.visible + later.inFlight + later.delayed;
      return Date.now() - latest > 1_500 && waiting === 0 ? undefined : `functions still run, ${waiting} keys wait`;
    }, waitMs);
  }
});

/**
 * Has a schedule come round every minute and its keys sent within some seconds; else a test would wait for minutes. The
 * answer makes it what it was.
 */
async function hurry(
  aws: AwsClients,
  names: Readonly<{ schedule: string; function: string }>,
): Promise<() => Promise<void>> {
  const { Name, Target, FlexibleTimeWindow, GroupName, ScheduleExpression } = await aws.scheduler.send(
    new GetScheduleCommand({ Name: names.schedule }),
  );
  const comeRound = async (expression: string | undefined): Promise<void> => {
    const schedule = { Name, GroupName, Target, FlexibleTimeWindow, ScheduleExpression: expression };
    await aws.scheduler.send(new UpdateScheduleCommand(schedule));
  };
  const calmDown = await changeEnvironment(aws, names.function, { TMC_RESYNC_SECONDS: "10" });
  await comeRound("rate(1 minute)");
  return async () => {
    await calmDown();
    await comeRound(ScheduleExpression);
  };
}

/** All that an account has and that carries the name of the stage, or of TMC. */
async function leftOf(aws: AwsClients): Promise<Readonly<Record<string, readonly (string | undefined)[]>>> {
  const isOurs = (name: string | undefined): boolean => /tmc/i.test(name ?? "");
  const [stacks, queues, functions, mappings, schedules, roles, logGroups, secrets] = await Promise.all([
    aws.cloudFormation.send(new ListStacksCommand({})),
    aws.sqs.send(new ListQueuesCommand({})),
    aws.lambda.send(new ListFunctionsCommand({})),
    aws.lambda.send(new ListEventSourceMappingsCommand({})),
    aws.scheduler.send(new ListSchedulesCommand({})),
    aws.iam.send(new ListRolesCommand({})),
    aws.logs.send(new DescribeLogGroupsCommand({})),
    aws.secrets.send(new ListSecretsCommand({})),
  ]);
  return {
    stacks: (stacks.StackSummaries ?? [])
      .filter(({ StackStatus }) => StackStatus !== "DELETE_COMPLETE")
      .map(({ StackName }) => StackName)
      .filter(isOurs),
    queues: (queues.QueueUrls ?? []).filter(isOurs),
    functions: (functions.Functions ?? []).map(({ FunctionName }) => FunctionName).filter(isOurs),
    mappings: (mappings.EventSourceMappings ?? []).map(({ FunctionArn }) => FunctionArn).filter(isOurs),
    schedules: (schedules.Schedules ?? []).map(({ Name }) => Name).filter(isOurs),
    roles: (roles.Roles ?? []).map(({ RoleName }) => RoleName).filter(isOurs),
    // The endpoint makes the log of a function anew that still writes while another stage is taken away: those are not of this one.
    logGroups: (logGroups.logGroups ?? [])
      .map(({ logGroupName }) => logGroupName)
      .filter((name) => isOurs(name) && (name?.startsWith(`/tmc/${stage}/`) || !name?.startsWith("/tmc/"))),
    secrets: (secrets.SecretList ?? []).map(({ Name }) => Name).filter(isOurs),
  };
}
