import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AwsFacts, decideAwsChecks, parseDoctorSettings } from "../../../../lib/cli/doctor/aws-checks.ts";
import { type DoctorTools, readAwsFacts } from "../../../../lib/cli/doctor/aws-facts.ts";
import { concurrencyDemand, defaultConcurrency } from "../../../../lib/engine/settings.ts";
import { fakeSecretsManager } from "../../credentials/fake-secrets-manager.ts";
import { startTenants, type Tenants } from "../../upstream/tenants.ts";
import { tmc } from "../support.ts";

const good: AwsFacts = {
  region: "eu-west-1",
  concurrency: defaultConcurrency,
  isReserved: false,
  quota: { value: { total: 1_000, unreserved: 1_000 } },
  bootstrap: { value: 28 },
  secrets: [
    { name: "tmc-prod-kcp", users: "functions and relay", content: { value: { server: "https://kcp.example.com" } } },
  ],
  upstream: { value: { server: "https://kcp.example.com", status: 200 } },
  docker: { value: "28.0.1" },
};

describe("decideAwsChecks", () => {
  it("passes an account that has everything", () => {
    expect(decideAwsChecks(good).map(({ name, result }) => `${name} ${result}`)).toEqual([
      "concurrency ok",
      "bootstrap ok",
      "secret tmc-prod-kcp ok",
      "upstream ok",
      "docker ok",
    ]);
  });

  const rows: Record<string, { facts: Partial<AwsFacts>; says: string }> = {
    "a new account with ten concurrent executions": {
      facts: { quota: { value: { total: 10, unreserved: 10 } } },
      says: "concurrency failed the functions use up to 39 concurrent executions, and the account has 10",
    },
    "reservations that leave less than 100": {
      facts: { isReserved: true, quota: { value: { total: 120, unreserved: 120 } } },
      says: "concurrency failed concurrency.reserve reserves 35",
    },
    "a quota that cannot be read": {
      facts: { quota: { reason: "aws lambda in eu-west-1: 403" } },
      says: "concurrency warning the quota of the account is unknown: aws lambda in eu-west-1: 403",
    },
    "a region that is not bootstrapped": {
      facts: { bootstrap: { value: undefined } },
      says: "bootstrap failed eu-west-1 is not bootstrapped: run npm run cdk -- bootstrap",
    },
    "an old bootstrap stack": {
      facts: { bootstrap: { value: 5 } },
      says: "bootstrap failed version 5 is older than 6",
    },
    "a missing secret": {
      facts: {
        secrets: [{ name: "tmc-prod-kcp", users: "functions", content: { reason: "ResourceNotFoundException" } }],
        upstream: undefined,
      },
      says: "secret tmc-prod-kcp failed functions cannot start: ResourceNotFoundException",
    },
    "a kcp that does not respond": {
      facts: { upstream: { reason: "connect ECONNREFUSED" } },
      says: "upstream failed not reachable from this machine: connect ECONNREFUSED",
    },
    "a kcp that rejects the token": {
      facts: { upstream: { value: { server: "https://kcp.example.com", status: 401 } } },
      says: "upstream failed https://kcp.example.com rejects the credentials (401)",
    },
    "no Docker, but an image to build": {
      facts: { docker: { reason: "spawn docker ENOENT" } },
      says: "docker failed the image of the relay cannot be built: spawn docker ENOENT; set relay.image",
    },
  };
  it.each(Object.entries(rows))("reports %s", (_, { facts, says }) => {
    const texts = decideAwsChecks({ ...good, ...facts }).map(
      ({ name, result, detail }) => `${name} ${result} ${detail}`,
    );
    expect(texts.filter((text) => text.startsWith(says))).toHaveLength(1);
  });

  it("the smallest concurrency fits an account with ten concurrent executions", () => {
    expect(concurrencyDemand({ reconcile: 2, forward: 2, probe: 2 })).toBe(10);
  });
});

describe("parseDoctorSettings", () => {
  it("derives the secrets from the stage, and expects an image to be built", () => {
    expect(parseDoctorSettings('{"stage":"prod"}', "tmc.config.json")).toEqual({
      kcpSecret: "tmc-prod-kcp",
      relaySecret: "tmc-prod-kcp",
      concurrency: { reconcile: 20, forward: 5, probe: 10 },
      isReserved: false,
      buildsImage: true,
    });
  });

  it("reads nested settings and paths", () => {
    const text = JSON.stringify({
      kcpSecret: "hub/worker",
      relay: { kcpSecret: "hub/relay", image: "registry/relay:1" },
      "concurrency.reconcile": "50",
      concurrency: { reserve: true },
    });
    expect(parseDoctorSettings(text, "tmc.config.json")).toEqual({
      kcpSecret: "hub/worker",
      relaySecret: "hub/relay",
      concurrency: { reconcile: 50, forward: 5, probe: 10 },
      isReserved: true,
      buildsImage: false,
    });
  });

  it("names the file that is not JSON", () => {
    expect(() => parseDoctorSettings("{", "x.json")).toThrow("x.json is not JSON");
  });
});

describe("readAwsFacts", () => {
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await startTenants(["root:demo"], { listen: true });
  });
  afterAll(() => tenants.stop());
  const kubeconfig = () => JSON.stringify({ server: tenants.kcp.endpoint().server, token: tenants.kcp.adminToken });
  const stacks = `<DescribeStacksResponse><Outputs><member><OutputKey>BucketName</OutputKey><OutputValue>x</OutputValue></member>
    <member><OutputKey>BootstrapVersion</OutputKey><OutputValue>28</OutputValue></member></Outputs></DescribeStacksResponse>`;
  const tools = (more: Partial<DoctorTools> = {}): DoctorTools => ({
    clock: systemClock,
    region: "eu-west-1",
    credentials: async () => ({ accessKeyId: "AKIA", secretAccessKey: "key" }),
    callAws: async ({ hostname }) => {
      if (hostname === "cloudformation.eu-west-1.amazonaws.com") return stacks;
      if (hostname !== "lambda.eu-west-1.amazonaws.com") throw new Error(`unexpected call to ${hostname}`);
      return JSON.stringify({ AccountLimit: { ConcurrentExecutions: 10, UnreservedConcurrentExecutions: 10 } });
    },
    secretsManager: fakeSecretsManager([["tmc-dev-kcp", kubeconfig()]]).secretsManager,
    dockerVersion: async () => "28.0.1",
    openTransport: () => tenants.kcp.transport(),
    ...more,
  });
  const settings = parseDoctorSettings("{}", "tmc.config.json");

  it("reads the quota, the bootstrap version, the secret and the upstream", async () => {
    const facts = await readAwsFacts(settings, tools());
    expect(facts).toMatchObject({
      quota: { value: { total: 10, unreserved: 10 } },
      bootstrap: { value: 28 },
      secrets: [{ name: "tmc-dev-kcp", users: "functions and relay", content: { value: expect.anything() } }],
      upstream: { value: { status: 200 } },
      docker: { value: "28.0.1" },
    });
    expect(JSON.stringify(facts)).not.toContain(tenants.kcp.adminToken);
  });

  it("reads every other fact if one cannot be read", async () => {
    const facts = await readAwsFacts(
      { ...settings, relaySecret: "other", buildsImage: false },
      tools({
        callAws: async () => {
          throw new ControllerError("invalid", "aws cloudformation in eu-west-1: 400 ValidationError");
        },
      }),
    );
    expect(facts).toMatchObject({
      quota: { reason: expect.stringContaining("ValidationError") },
      bootstrap: { value: undefined },
      secrets: [
        { users: "functions", content: { value: expect.anything() } },
        { name: "other", users: "relay", content: { reason: expect.stringContaining("secret other") } },
      ],
      docker: undefined,
    });
  });
});

describe("tmc doctor aws", () => {
  it("requires a region and a readable settings file", async () => {
    expect(await tmc(["doctor", "aws"])).toMatchObject({ code: 2, err: "tmc: --region is required, or AWS_REGION\n" });
    const { code, err } = await tmc(["doctor", "aws", "--region", "eu-west-1", "--config", "/nowhere.json"]);
    expect([code, err]).toEqual([2, "tmc: /nowhere.json cannot be read\n"]);
  });

  it("rejects settings that are not JSON", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tmc-doctor-"));
    const config = join(folder, "tmc.config.json");
    await writeFile(config, "[]");
    expect(await tmc(["doctor", "aws", "--region", "eu-west-1", "--config", config])).toMatchObject({
      code: 2,
      err: `tmc: ${config} must be a JSON object\n`,
    });
    await rm(folder, { recursive: true });
  });
});
