import type { Template } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, it } from "vitest";
import { type FunctionName, functionNames } from "../../infra/names.ts";
import { type EnvironmentName, readEnvironment } from "../../lib/engine/environment.ts";
import { policiesOf, rightsOf } from "./policies.ts";
import { listOf, objectOf, type Resource, resourcesOf, type Synthesized, synthesize, textOf } from "./synthesized.ts";

let made: Synthesized;
let templates: readonly Template[];
beforeAll(() => {
  made = synthesize({ allowedEndpoints: "10.20.0.0/16" });
  templates = [made.core, made.relay, made.observability];
}, 120_000);

const functionOf = (name: FunctionName): Resource => {
  const all = resourcesOf(made.core, "AWS::Lambda::Function");
  const found = all.find(({ properties }) => properties.FunctionName === `tmc-test-${name}`);
  if (found === undefined) throw new Error(`no function ${name}`);
  return found;
};
const queuesOf = () => resourcesOf(made.core, "AWS::SQS::Queue");
const queueOf = (name: string): Resource => {
  const found = queuesOf().find(({ properties }) => properties.QueueName === `tmc-test-${name}`);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
};
const mappingOf = (name: FunctionName): Resource => {
  const all = resourcesOf(made.core, "AWS::Lambda::EventSourceMapping");
  const found = all.find(({ properties }) => objectOf(properties.FunctionName).Ref === functionOf(name).id);
  if (found === undefined) throw new Error(`no queue feeds ${name}`);
  return found;
};

describe("the stacks", () => {
  it("the stacks are named after the stage", () => {
    expect(made.stackNames).toEqual(["Tmc-test-Core", "Tmc-test-Observability", "Tmc-test-Relay"]);
  });

  it("the stacks are synthesized without lookups, so that no account is needed", () => {
    expect(made.missing).toEqual([]);
  });

  it("the stacks share only the work queue", () => {
    const exports = templates.flatMap((template) =>
      Object.values(objectOf(template.toJSON().Outputs)).filter((output) => "Export" in objectOf(output)),
    );
    expect(exports.map((output) => textOf(objectOf(output).Value, templates))).toEqual([
      "tmc-test-work.fifo",
      "tmc-test-work.fifo",
    ]);
  });
});

describe("queues", () => {
  it("the queues are encrypted and deny requests without TLS", () => {
    const policies = resourcesOf(made.core, "AWS::SQS::QueuePolicy");
    for (const { id, properties } of queuesOf()) {
      expect(properties.SqsManagedSseEnabled, id).toBe(true);
      const policy = policies.find((each) =>
        listOf(each.properties.Queues).some((queue) => objectOf(queue).Ref === id),
      );
      expect(objectOf(policy?.properties.PolicyDocument).Statement, id).toContainEqual(
        expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
      );
    }
  });

  it("the FIFO queues deduplicate and limit throughput per message group", () => {
    for (const name of ["work.fifo", "dead-letters.fifo"]) {
      expect(queueOf(name).properties).toMatchObject({
        FifoQueue: true,
        ContentBasedDeduplication: false,
        DeduplicationScope: "messageGroup",
        FifoThroughputLimit: "perMessageGroupId",
      });
    }
  });

  it.each([
    ["work.fifo", "dead-letters.fifo"],
    ["delay", "delay-dead-letters"],
  ])("throttled receives dead-letter no message of %s; %s keeps the others for 14 days", (from, to) => {
    expect(queueOf(from).properties.RedrivePolicy).toEqual({
      deadLetterTargetArn: { "Fn::GetAtt": [queueOf(to).id, "Arn"] },
      maxReceiveCount: 1_000,
    });
    expect(queueOf(to).properties.MessageRetentionPeriod).toBe(14 * 24 * 3600);
    expect(queueOf(to).properties.FifoQueue).toBe(queueOf(from).properties.FifoQueue);
  });

  it("a heartbeat whose probe dies twice is dead-lettered before it expires", () => {
    const { MessageRetentionPeriod, VisibilityTimeout, RedrivePolicy } = queueOf("heartbeat").properties;
    expect(RedrivePolicy).toEqual({
      deadLetterTargetArn: { "Fn::GetAtt": [queueOf("heartbeat-dead-letters").id, "Arn"] },
      maxReceiveCount: 2,
    });
    const longestDelaySeconds = 59;
    expect(longestDelaySeconds + 2 * Number(VisibilityTimeout)).toBeLessThan(Number(MessageRetentionPeriod));
    expect(queueOf("heartbeat-dead-letters").properties.MessageRetentionPeriod).toBe(24 * 3600);
  });

  it("the continuation of a resync outlives an invocation that dies with it", () => {
    const { MessageRetentionPeriod, VisibilityTimeout } = queueOf("resync").properties;
    expect(Number(MessageRetentionPeriod)).toBeGreaterThan(2 * Number(VisibilityTimeout));
  });

  it("the core stack has seven queues", () => {
    expect(
      queuesOf()
        .map(({ properties }) => properties.QueueName)
        .toSorted(),
    ).toEqual([
      "tmc-test-dead-letters.fifo",
      "tmc-test-delay",
      "tmc-test-delay-dead-letters",
      "tmc-test-heartbeat",
      "tmc-test-heartbeat-dead-letters",
      "tmc-test-resync",
      "tmc-test-work.fifo",
    ]);
  });

  it("only dead-letter queues are retained when a stack is deleted, but not if its creation failed", () => {
    const kept = templates
      .flatMap((template) => resourcesOf(template))
      .filter(({ deletion }) => deletion === "RetainExceptOnCreate");
    expect(kept.map(({ properties }) => properties.QueueName)).toEqual([
      "tmc-test-dead-letters.fifo",
      "tmc-test-delay-dead-letters",
    ]);
  });
});

describe("functions", () => {
  it.each(functionNames)("%s runs Node 24 on arm64 from its own bundle", (name) => {
    const { properties } = functionOf(name);
    expect(properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Handler: "index.handler",
      // Resync works for a bounded time, on a full vCPU, and continues in another invocation.
      ...(name === "resync" ? { Timeout: 300, MemorySize: 1_769 } : { Timeout: 20, MemorySize: 512 }),
    });
    const codes = functionNames.map((each) => objectOf(functionOf(each).properties.Code).S3Key);
    expect(new Set(codes).size).toBe(functionNames.length);
  });

  it.each(functionNames)("%s writes JSON lines to its own log group with a retention", (name) => {
    const log = objectOf(functionOf(name).properties.LoggingConfig);
    expect(log.LogFormat).toBe("JSON");
    const group = resourcesOf(made.core, "AWS::Logs::LogGroup").find(({ id }) => id === objectOf(log.LogGroup).Ref);
    expect(group?.properties).toMatchObject({ LogGroupName: `/tmc/test/${name}`, RetentionInDays: 30 });
    expect(group?.deletion).toBe("Delete");
  });

  it.each([
    ["reconcile", "Allow"],
    ["forward", "Allow"],
    ["probe", "Allow"],
    ["heartbeat", "Terminate"],
    ["resync", "Allow"],
    ["health", "Terminate"],
  ] as const)("recursive loop detection of %s is %s", (name, loop) => {
    expect(functionOf(name).properties.RecursiveLoop).toBe(loop);
  });

  it.each([
    ["reconcile", "work.fifo", 10, 20, ["ReportBatchItemFailures"]],
    ["forward", "delay", 10, 5, ["ReportBatchItemFailures"]],
    ["probe", "heartbeat", 1, 10, undefined],
    ["resync", "resync", 1, 2, undefined],
  ] as const)(
    "%s receives messages of %s in batches of %i with a maximum concurrency of %i",
    (name, queue, size, most, answers) => {
      const { properties } = mappingOf(name);
      expect(properties.EventSourceArn).toEqual({ "Fn::GetAtt": [queueOf(queue).id, "Arn"] });
      expect(properties.BatchSize).toBe(size);
      expect(properties.ScalingConfig).toEqual({ MaximumConcurrency: most });
      expect(properties.FunctionResponseTypes).toEqual(answers);
      const { VisibilityTimeout } = queueOf(queue).properties;
      // A key whose function died, and every newer change of it, waits for the visibility timeout.
      expect(Number(VisibilityTimeout)).toBe(10 + Number(functionOf(name).properties.Timeout));
    },
  );

  it.each([
    ["heartbeat", "rate(1 minute)", 0],
    ["resync", "rate(30 minutes)", 2],
  ] as const)("%s is scheduled at %s", (name, rate, retries) => {
    const { id } = functionOf(name);
    const schedule = resourcesOf(made.core, "AWS::Scheduler::Schedule").find(
      ({ properties }) => properties.Name === `tmc-test-${name}`,
    );
    expect(schedule?.properties).toMatchObject({ ScheduleExpression: rate, FlexibleTimeWindow: { Mode: "OFF" } });
    const target = objectOf(schedule?.properties.Target);
    expect(target.Arn).toEqual({ "Fn::GetAtt": [id, "Arn"] });
    expect(rightsOf(String(listOf(objectOf(target.RoleArn)["Fn::GetAtt"])[0]), templates)).toEqual([
      `lambda:InvokeFunction tmc-test-${name}`,
    ]);
    const config = resourcesOf(made.core, "AWS::Lambda::EventInvokeConfig").find(
      ({ properties }) => objectOf(properties.FunctionName).Ref === id,
    );
    expect(config?.properties.MaximumRetryAttempts).toBe(retries);
  });

  it("the functions reserve no concurrency by default", () => {
    for (const name of functionNames)
      expect(functionOf(name).properties).not.toHaveProperty("ReservedConcurrentExecutions");
  });
});

const hub = ["TMC_HUB", "TMC_KCP_SECRET", "TMC_WORKSPACES"];
const clusters = [
  "TMC_ALLOWED_ENDPOINTS",
  "TMC_CREDENTIAL_PROVIDERS",
  "TMC_HEARTBEAT_SECONDS",
  "TMC_SYNC",
  "TMC_MAX_DELETIONS",
  "TMC_MAX_DELETIONS_PERCENT",
];
const hubReads = ["hub", "kcpSecret", "workspaces"] as const;
const clusterReads = [
  "allowedEndpoints",
  "credentialProviders",
  "heartbeatSeconds",
  "sync",
  "maxDeletions",
  "maxDeletionsPercent",
] as const;
const queues = ["TMC_WORK_QUEUE_URL", "TMC_DELAY_QUEUE_URL", "TMC_DEAD_LETTERS_URL", "TMC_TENANT_EVENTS_PER_SECOND"];
const queueReads = ["workQueueUrl", "delayQueueUrl", "deadLettersUrl", "tenantEventsPerSecond"] as const;
type Expected = Readonly<{ variables: readonly string[]; reads: readonly EnvironmentName[] }>;
const environments: Readonly<Record<FunctionName | "relay", Expected>> = {
  reconcile: {
    variables: [...hub, ...clusters, ...queues],
    reads: [...hubReads, ...clusterReads, ...queueReads],
  },
  forward: {
    variables: ["TMC_WORK_QUEUE_URL", "TMC_DELAY_QUEUE_URL"],
    reads: ["workQueueUrl", "delayQueueUrl"],
  },
  heartbeat: {
    variables: [...hub, "TMC_HEARTBEAT_SECONDS", "TMC_HEARTBEAT_QUEUE_URL"],
    reads: [...hubReads, "heartbeatSeconds", "heartbeatQueueUrl"],
  },
  probe: {
    variables: [...hub, ...clusters, ...queues],
    reads: [...hubReads, ...clusterReads, ...queueReads],
  },
  resync: {
    variables: [...hub, "TMC_DELAY_QUEUE_URL", "TMC_RESYNC_QUEUE_URL", "TMC_RESYNC_SECONDS", "TMC_SYNC"],
    reads: [...hubReads, "delayQueueUrl", "resyncQueueUrl", "resyncSeconds", "sync"],
  },
  health: {
    variables: [...hub, "TMC_WORK_QUEUE_URL", "TMC_DELAY_QUEUE_URL", "TMC_DEAD_LETTERS_URL", "TMC_HEARTBEAT_QUEUE_URL"],
    reads: [...hubReads, "workQueueUrl", "delayQueueUrl", "deadLettersUrl", "heartbeatQueueUrl"],
  },
  relay: {
    variables: [...hub, "TMC_WORK_QUEUE_URL", "TMC_TENANT_EVENTS_PER_SECOND", "TMC_SYNC"],
    reads: [...hubReads, "workQueueUrl", "tenantEventsPerSecond", "sync"],
  },
};
/** The expected value of each variable; for a queue, its name. */
const values: Readonly<Record<string, string>> = {
  TMC_STAGE: "test",
  TMC_LOG_LEVEL: "2",
  TMC_HUB: "kcp",
  TMC_KCP_SECRET: "tmc-test-kcp",
  TMC_WORKSPACES: "root:org:team",
  TMC_WORK_QUEUE_URL: "tmc-test-work.fifo",
  TMC_DELAY_QUEUE_URL: "tmc-test-delay",
  TMC_DEAD_LETTERS_URL: "tmc-test-dead-letters.fifo",
  TMC_HEARTBEAT_QUEUE_URL: "tmc-test-heartbeat",
  TMC_RESYNC_QUEUE_URL: "tmc-test-resync",
  TMC_HEARTBEAT_SECONDS: "60",
  TMC_RESYNC_SECONDS: "1800",
  TMC_TENANT_EVENTS_PER_SECOND: "100",
  TMC_SYNC: "true",
  TMC_MAX_DELETIONS: "100",
  TMC_MAX_DELETIONS_PERCENT: "30",
  TMC_CREDENTIAL_PROVIDERS: "eks,secretsmanager,kcp-secret",
  TMC_ALLOWED_ENDPOINTS: "10.20.0.0/16",
};

const containerOf = () => objectOf(listOf(taskOf().properties.ContainerDefinitions)[0]);
const taskOf = (): Resource => {
  const [task] = resourcesOf(made.relay, "AWS::ECS::TaskDefinition");
  if (task === undefined) throw new Error("no task");
  return task;
};
const environmentOf = (part: FunctionName | "relay"): Readonly<Record<string, string>> => {
  const given =
    part === "relay"
      ? listOf(containerOf().Environment).map((each): [string, unknown] => [
          String(objectOf(each).Name),
          objectOf(each).Value,
        ])
      : Object.entries(objectOf(objectOf(functionOf(part).properties.Environment).Variables));
  return Object.fromEntries(given.map(([name, value]) => [name, textOf(value, templates)]));
};

describe("environments", () => {
  it.each(Object.entries(environments))(
    "the environment of %s has exactly the variables that it reads",
    (part, { variables, reads }) => {
      const names = ["TMC_STAGE", "TMC_LOG_LEVEL", ...variables].toSorted();
      const environment = environmentOf(
        part === "relay" ? part : (functionNames.find((name) => name === part) ?? "relay"),
      );
      expect(environment).toEqual(Object.fromEntries(names.map((name) => [name, values[name]])));
      const live = Object.entries(environment).map(([name, value]) => [
        name,
        name.endsWith("_URL") ? `https://sqs.example/${value}` : value,
      ]);
      expect(() => readEnvironment(Object.fromEntries(live), ["stage", "logLevel", ...reads])).not.toThrow();
    },
  );
});

const account = "<Region>:<AccountId>";
const kcpSecret = `secretsmanager:GetSecretValue arn:<Partition>:secretsmanager:${account}:secret:tmc-test-kcp-??????`;
const consume = (queue: string): string[] =>
  ["ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl", "ReceiveMessage"].map(
    (action) => `sqs:${action} tmc-test-${queue}`,
  );
const send = (...queues: string[]): string[] =>
  queues.flatMap((queue) =>
    ["GetQueueAttributes", "GetQueueUrl", "SendMessage"].map((action) => `sqs:${action} tmc-test-${queue}`),
  );
const credentials = [
  `secretsmanager:GetSecretValue arn:<Partition>:secretsmanager:${account}:secret:tmc/test/*`,
  "eks:DescribeCluster arn:<Partition>:eks:*:<AccountId>:cluster/*",
  "sts:AssumeRole arn:<Partition>:iam::*:role/tmc/*",
];
const rights: Readonly<Record<FunctionName, readonly string[]>> = {
  reconcile: [...consume("work.fifo"), ...send("work.fifo", "delay", "dead-letters.fifo"), kcpSecret, ...credentials],
  forward: [...consume("delay"), ...send("work.fifo", "delay")],
  heartbeat: [kcpSecret, ...send("heartbeat")],
  probe: [...consume("heartbeat"), ...send("work.fifo", "delay", "dead-letters.fifo"), kcpSecret, ...credentials],
  resync: [kcpSecret, ...consume("resync"), ...send("delay", "resync")],
  health: [
    kcpSecret,
    ...["work.fifo", "delay", "dead-letters.fifo", "heartbeat"].map(
      (queue) => `sqs:GetQueueAttributes tmc-test-${queue}`,
    ),
  ],
};

describe("permissions", () => {
  it.each(Object.entries(rights))("%s has only the permissions that it needs", (name, expected) => {
    const all = resourcesOf(made.core, "AWS::Lambda::Function");
    const { properties } = all.find((each) => each.properties.FunctionName === `tmc-test-${name}`) ?? {};
    const [role] = listOf(objectOf(properties?.Role)["Fn::GetAtt"]);
    expect(rightsOf(String(role), templates)).toEqual([...new Set(expected)].toSorted());
  });

  it("the relay may only read its kubeconfig and send keys", () => {
    const [role] = listOf(objectOf(taskOf().properties.TaskRoleArn)["Fn::GetAtt"]);
    expect(rightsOf(String(role), templates)).toEqual([kcpSecret, ...send("work.fifo")].toSorted());
  });

  it("permissions have wildcards only for resources that do not exist yet", () => {
    const wide = templates
      .flatMap((template) => policiesOf(template))
      .flatMap(({ statements }) => statements)
      .flatMap(({ actions, resources }) => [...actions, ...resources.map((resource) => textOf(resource, templates))])
      .filter((text) => text.includes("*"));
    expect([...new Set(wide)].toSorted()).toEqual(credentials.map((right) => right.split(" ")[1]).toSorted());
  });

  it("every function has its own role, and every role trusts only its service", () => {
    const roles = functionNames.map((name) => JSON.stringify(functionOf(name).properties.Role));
    expect(new Set(roles).size).toBe(functionNames.length);
    for (const { id, properties } of templates.flatMap((template) => resourcesOf(template, "AWS::IAM::Role"))) {
      expect(JSON.stringify(properties.AssumeRolePolicyDocument), id).toMatch(
        /"(?:lambda|scheduler|ecs-tasks)\.amazonaws\.com"/,
      );
      expect(properties.ManagedPolicyArns, id).toBeUndefined();
    }
  });
});

describe("the relay", () => {
  it("the relay has two small arm64 tasks that overlap during a deployment", () => {
    expect(taskOf().properties).toMatchObject({
      Cpu: "256",
      Memory: "512",
      RuntimePlatform: { CpuArchitecture: "ARM64", OperatingSystemFamily: "LINUX" },
    });
    const [service] = resourcesOf(made.relay, "AWS::ECS::Service");
    expect(service?.properties).toMatchObject({
      DesiredCount: 2,
      DeploymentConfiguration: {
        MinimumHealthyPercent: 100,
        MaximumPercent: 200,
        DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      },
      NetworkConfiguration: { AwsvpcConfiguration: { AssignPublicIp: "ENABLED" } },
    });
  });

  it("the relay container has a read-only file system, no capabilities, and time to flush", () => {
    expect(containerOf()).toMatchObject({
      ReadonlyRootFilesystem: true,
      User: "1000:1000",
      LinuxParameters: { Capabilities: { Drop: ["ALL"] } },
      StopTimeout: 60,
      Image: "registry.example/tmc/relay:1.2.3",
    });
    expect(containerOf()).not.toHaveProperty("Secrets");
  });

  it("a relay that never becomes ready fails its deployment, and one that loses the upstream is not restarted", () => {
    const { Command, StartPeriod } = objectOf(containerOf().HealthCheck);
    expect(listOf(Command).join(" ")).toContain("http://127.0.0.1:8081/startupz");
    expect(StartPeriod, "a relay lists everything first").toBe(300);
  });

  it("the relay accepts no connections and needs no NAT gateway", () => {
    for (const { properties } of resourcesOf(made.relay, "AWS::EC2::SecurityGroup")) {
      expect(properties).not.toHaveProperty("SecurityGroupIngress");
    }
    expect(resourcesOf(made.relay, "AWS::EC2::NatGateway")).toEqual([]);
    expect(resourcesOf(made.relay, "AWS::Lambda::Function")).toEqual([]);
  });
});
