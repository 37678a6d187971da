import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { DescribeLogGroupsCommand } from "@aws-sdk/client-cloudwatch-logs";
import { CreateAccessKeyCommand, CreateUserCommand } from "@aws-sdk/client-iam";
import { ListFunctionsCommand } from "@aws-sdk/client-lambda";
import { GetQueueUrlCommand, ListQueuesCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { isAlive } from "../real/build-lock.ts";
import { eventually } from "../support/eventually.ts";
import { type AwsClients, createAwsClients } from "./aws-clients.ts";
import { createCdk } from "./cdk.ts";
import { checkDeployment } from "./deployment-check.ts";
import { clientConfig } from "./endpoint.ts";
import { createGate, sqsCalls } from "./gate.ts";

const endpoint = inject("awsEndpoint");

describe("the endpoint", () => {
  let aws: AwsClients;
  let folder: string;

  beforeAll(async () => {
    aws = createAwsClients(endpoint);
    folder = await mkdtemp(join(tmpdir(), "tmc-aws-"));
  });
  afterAll(async () => {
    aws[Symbol.dispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it.skipIf(!endpoint.own)("rejects unknown access keys and users without permissions", async () => {
    const UserName = "nobody";
    await aws.iam.send(new CreateUserCommand({ UserName }));
    const { AccessKey } = await aws.iam.send(new CreateAccessKeyCommand({ UserName }));
    const { AccessKeyId: accessKeyId = "", SecretAccessKey: secretAccessKey = "" } = AccessKey ?? {};
    const strangers = {
      "no rights": { accessKeyId, secretAccessKey },
      "no key": { accessKeyId: "AKIANOBODY", secretAccessKey },
    };
    for (const [who, credentials] of Object.entries(strangers)) {
      const sqs = new SQSClient({ ...clientConfig(endpoint), credentials, maxAttempts: 1 });
      await expect(sqs.send(new ListQueuesCommand({})), who).rejects.toThrow();
      sqs.destroy();
    }
  });

  it("deploys an app from its template, runs it, and leaves no resource after its destruction", async () => {
    const cdk = createCdk(endpoint, folder);
    await cdk.bootstrap();
    const assembly = await cdk.synth({ app: `"${process.execPath}" test/aws/sample/app.ts`, context: {}, folder });
    await cdk.deploy(assembly);
    const { findings, compared } = await checkDeployment(aws, assembly);
    expect(findings).toEqual([]);
    expect(compared).toBeGreaterThan(30);

    if (endpoint.own) {
      const gate = createGate(endpoint);
      const { QueueUrl } = await aws.sqs.send(new GetQueueUrlCommand({ QueueName: "sample-work.fifo" }));
      const send = (id: string) =>
        new SendMessageCommand({ QueueUrl, MessageBody: "{}", MessageGroupId: id, MessageDeduplicationId: id });
      await aws.sqs.send(send("one"));
      const runs = async () => (await gate.invocations()).filter(({ function: name }) => name === "sample-empty");
      await eventually(async () => ((await runs()).length === 1 ? undefined : "the function has not run"), 20_000);

      await gate.refuse([sqsCalls]);
      const impatient = new SQSClient({ ...clientConfig(endpoint), maxAttempts: 1 });
      await expect(impatient.send(send("two"))).rejects.toThrow();
      impatient.destroy();
      await gate.refuse([]);
      await aws.sqs.send(send("two"));
      await eventually(
        async () => ((await runs()).length === 2 ? undefined : "the function has not run again"),
        20_000,
      );
    }

    await cdk.destroy(assembly);
    const { QueueUrls = [] } = await aws.sqs.send(new ListQueuesCommand({ QueueNamePrefix: "sample-" }));
    const { Functions = [] } = await aws.lambda.send(new ListFunctionsCommand({}));
    const { logGroups = [] } = await aws.logs.send(new DescribeLogGroupsCommand({ logGroupNamePrefix: "/sample/" }));
    expect({ QueueUrls, functions: Functions.map(({ FunctionName }) => FunctionName), logGroups }).toEqual({
      QueueUrls: [],
      functions: [],
      logGroups: [],
    });
  });

  it("ends when its parent process is killed", async () => {
    const program = fileURLToPath(new URL("keep-endpoint.ts", import.meta.url));
    const { AWS_ENDPOINT_URL: _, ...environment } = process.env;
    const starter = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"], env: environment });
    const [line] = (await once(createInterface(starter.stdout), "line")) as [string];
    const group = Number(line);
    expect(isAlive(group)).toBe(true);
    starter.kill("SIGKILL");
    await eventually(async () => (isAlive(group) ? `process group ${group} is still there` : undefined), 10_000);
  });
});
