import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import type { Template } from "aws-cdk-lib/assertions";
import { FargateTaskDefinition } from "aws-cdk-lib/aws-ecs";
import { describe, expect, it, vi } from "vitest";
import { addStacks } from "../../infra/add-stacks.ts";
import { assertReservedConcurrency } from "../../infra/constructs/concurrency.ts";
import { builtRelayImage } from "../../infra/constructs/relay-image.ts";
import { functionNames } from "../../infra/names.ts";
import { parseSettings } from "../../infra/settings.ts";
import { policiesOf, rightsOf } from "./policies.ts";
import { leastSettings, listOf, objectOf, resourcesOf, synthesize, textOf } from "./synthesized.ts";

// A synth takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const network = {
  "vpc.id": "vpc-0123456789abcdef0",
  "vpc.subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
  "vpc.availabilityZones": "eu-west-1a,eu-west-1b",
};
const typesOf = (template: Template): readonly string[] => [
  ...new Set(resourcesOf(template).map(({ type }) => type.replace(/^AWS::/, ""))),
];
const actionsOf = (template: Template): readonly string[] =>
  policiesOf(template).flatMap(({ statements }) => statements.flatMap(({ actions }) => actions));

describe("settings", () => {
  it("removal=destroy leaves nothing behind", () => {
    const { core, relay, observability } = synthesize({ removal: "destroy" });
    const kept = [core, relay, observability].flatMap((template) => resourcesOf(template));
    expect(kept.filter(({ deletion }) => deletion?.startsWith("Retain"))).toEqual([]);
  });

  it("relay.mode=external creates a managed policy for a relay elsewhere, and no relay", () => {
    const made = synthesize({ "relay.mode": "external" });
    expect(typesOf(made.relay)).toEqual(["IAM::ManagedPolicy"]);
    const statements = policiesOf(made.relay).flatMap((policy) => policy.statements);
    expect(
      statements.flatMap(({ actions, resources }) =>
        actions.map((action) => `${action} ${resources.map((each) => textOf(each, [made.core, made.relay])).join()}`),
      ),
    ).toEqual([
      "sqs:GetQueueAttributes tmc-test-work.fifo",
      "sqs:GetQueueUrl tmc-test-work.fifo",
      "sqs:SendMessage tmc-test-work.fifo",
      "secretsmanager:GetSecretValue arn:<Partition>:secretsmanager:<Region>:<AccountId>:secret:tmc-test-kcp-??????",
      "cloudwatch:PutMetricData *",
    ]);
    expect(JSON.stringify(made.relay.toJSON())).toContain('{"StringEquals":{"cloudwatch:namespace":"TMC"}}');
    const alarms = resourcesOf(made.observability, "AWS::CloudWatch::Alarm").map(({ properties }) => properties);
    expect(alarms.find(({ AlarmName }) => AlarmName === "tmc-test-relay-blind")).toMatchObject({
      TreatMissingData: "breaching",
    });
  });

  it("concurrency.reserve reserves the maximum concurrency of each queue", () => {
    const { core } = synthesize({ concurrency: { reserve: true, reconcile: 50 } });
    const reserved = resourcesOf(core, "AWS::Lambda::Function").map(({ properties }) => [
      properties.FunctionName,
      properties.ReservedConcurrentExecutions,
    ]);
    expect(Object.fromEntries(reserved)).toMatchObject({
      "tmc-test-reconcile": 50,
      "tmc-test-forward": 5,
      "tmc-test-probe": 10,
    });
    const most = resourcesOf(core, "AWS::Lambda::EventSourceMapping").map(({ properties }) => properties.ScalingConfig);
    expect(most).toContainEqual({ MaximumConcurrency: 50 });
  });

  it("vpc.id puts the relay into an existing network, and vpc.functions also the functions", () => {
    const { core, relay } = synthesize({ ...network, "vpc.functions": true });
    expect(typesOf(relay)).not.toContain("EC2::VPC");
    expect(resourcesOf(relay, "AWS::ECS::Service")[0]?.properties).toMatchObject({
      NetworkConfiguration: {
        AwsvpcConfiguration: { AssignPublicIp: "DISABLED", Subnets: network["vpc.subnets"].split(",") },
      },
    });
    const inside = resourcesOf(core, "AWS::Lambda::Function").map(({ properties }) => objectOf(properties.VpcConfig));
    expect(inside.map(({ SubnetIds }) => SubnetIds)).toEqual(
      functionNames.map(() => network["vpc.subnets"].split(",")),
    );
  });

  it("an ARN as kcpSecret is used unchanged in permissions and environment", () => {
    const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hub/kubeconfig-AbCdEf";
    const { core } = synthesize({ kcpSecret: arn });
    const resync = resourcesOf(core, "AWS::Lambda::Function").find(
      ({ properties }) => properties.FunctionName === "tmc-test-resync",
    );
    expect(resync?.properties.Environment).toMatchObject({ Variables: { TMC_KCP_SECRET: arn } });
    const [role] = listOf(objectOf(resync?.properties.Role)["Fn::GetAtt"]);
    expect(rightsOf(String(role), [core])).toContain(`secretsmanager:GetSecretValue ${arn}`);
  });

  it("kmsKeyArns lets every reader of secrets decrypt them, only through Secrets Manager, and no other function", () => {
    const keys = [
      "arn:aws:kms:eu-west-1:123456789012:key/1b2f0c9e-0000-4000-8000-000000000000",
      "arn:aws:kms:eu-west-1:123456789012:key/mrk-0123456789abcdef",
    ];
    const { core, relay } = synthesize({ kmsKeyArns: keys });
    const decrypts = (role: unknown): readonly string[] => {
      const [id] = listOf(objectOf(role)["Fn::GetAtt"]);
      return rightsOf(String(id), [core, relay]).filter((right) => right.startsWith("kms:"));
    };
    const expected = keys.map((key) => `kms:Decrypt ${key}`);
    for (const { properties } of resourcesOf(core, "AWS::Lambda::Function")) {
      const isReader = properties.FunctionName !== "tmc-test-forward"; // forward reads no secret
      expect(decrypts(properties.Role), String(properties.FunctionName)).toEqual(isReader ? expected : []);
    }
    const [task] = resourcesOf(relay, "AWS::ECS::TaskDefinition");
    expect(decrypts(task?.properties.TaskRoleArn)).toEqual(expected);
    const external = synthesize({ kmsKeyArns: keys, "relay.mode": "external" });
    expect(actionsOf(external.relay)).toContain("kms:Decrypt");
    for (const template of [core, relay, external.relay]) {
      const statements = JSON.stringify(template.toJSON()).match(/"kms:ViaService"/g) ?? [];
      const decrypting = JSON.stringify(template.toJSON()).match(/"kms:Decrypt"/g) ?? [];
      expect(statements.length).toBe(decrypting.length);
    }
    expect(actionsOf(synthesize().core).filter((action) => action.startsWith("kms:"))).toEqual([]);
  });

  describe("relay.kcpSecret", () => {
    const settings = { kcpSecret: "hub/worker", "relay.kcpSecret": "hub/relay" };
    const secretsAmong = (rights: readonly string[]): readonly string[] =>
      rights.flatMap((right) => /^secretsmanager:\S+ .*:secret:(.*)$/.exec(right)?.[1] ?? []);

    it("the relay can read only relay.kcpSecret, and the functions only kcpSecret", () => {
      const { core, relay } = synthesize(settings);
      const [task] = resourcesOf(relay, "AWS::ECS::TaskDefinition");
      const [role] = listOf(objectOf(task?.properties.TaskRoleArn)["Fn::GetAtt"]);
      expect(secretsAmong(rightsOf(String(role), [core, relay]))).toEqual(["hub/relay-??????"]);
      const [container] = listOf(task?.properties.ContainerDefinitions).map(objectOf);
      expect(container?.Environment).toContainEqual({ Name: "TMC_KCP_SECRET", Value: "hub/relay" });
      for (const { properties } of resourcesOf(core, "AWS::Lambda::Function")) {
        const isReader = properties.FunctionName !== "tmc-test-forward"; // forward never reads kcp
        const [own] = listOf(objectOf(properties.Role)["Fn::GetAtt"]);
        const secrets = secretsAmong(rightsOf(String(own), [core])).filter((name) => name !== "tmc/test/*");
        expect(secrets, String(properties.FunctionName)).toEqual(isReader ? ["hub/worker-??????"] : []);
        const { TMC_KCP_SECRET: secret } = objectOf(objectOf(properties.Environment).Variables);
        expect(secret, String(properties.FunctionName)).toBe(isReader ? "hub/worker" : undefined);
      }
    });

    it("an external relay can read only relay.kcpSecret", () => {
      const { relay, core } = synthesize({ ...settings, "relay.mode": "external" });
      const resources = policiesOf(relay)
        .flatMap(({ statements }) => statements)
        .flatMap((statement) => statement.resources.map((each) => textOf(each, [core, relay])));
      expect(resources.filter((resource) => resource.includes(":secret:"))).toEqual([
        "arn:<Partition>:secretsmanager:<Region>:<AccountId>:secret:hub/relay-??????",
      ]);
    });
  });

  it("apiExport sets the export instead of workspaces for functions and relay", () => {
    const { core, relay } = synthesize({ apiExport: "root:tmc:tmc.kcp.io", workspaces: [] });
    const texts = [core, relay].map((stack) => JSON.stringify(stack));
    expect(texts.map((text) => text.includes('"root:tmc:tmc.kcp.io"'))).toEqual([true, true]);
    expect(texts.map((text) => text.includes("TMC_WORKSPACES"))).toEqual([false, false]);
  });

  it("relay.watchClusters lets the relay read the credentials of clusters, and sets their providers", () => {
    for (const mode of ["fargate", "external"]) {
      const settings = { "relay.mode": mode, allowedEndpoints: "10.20.0.0/16" };
      const [without, made] = [synthesize(settings), synthesize({ ...settings, "relay.watchClusters": true })];
      expect(actionsOf(without.relay).filter((action) => /^(?:eks|sts):/.test(action))).toEqual([]);
      expect(actionsOf(made.relay)).toEqual(expect.arrayContaining(["eks:DescribeCluster", "sts:AssumeRole"]));
      expect(JSON.stringify(made.relay.toJSON())).toContain(":secret:tmc/test/*");
      if (mode === "external") continue;
      const [task] = resourcesOf(made.relay, "AWS::ECS::TaskDefinition");
      expect(objectOf(listOf(task?.properties.ContainerDefinitions)[0]).Environment).toEqual(
        expect.arrayContaining([
          { Name: "TMC_WATCH_CLUSTERS", Value: "true" },
          { Name: "TMC_CREDENTIAL_PROVIDERS", Value: "eks,secretsmanager,kcp-secret" },
          { Name: "TMC_ALLOWED_ENDPOINTS", Value: "10.20.0.0/16" },
        ]),
      );
    }
  });

  it("sync=false disables sync in functions and relay", () => {
    const { core, relay } = synthesize({ sync: false });
    const text = JSON.stringify([core.toJSON(), relay.toJSON()]);
    expect(text).toContain('"TMC_SYNC":"false"');
    expect(text).toContain('{"Name":"TMC_SYNC","Value":"false"}');
    expect(text).not.toContain('"TMC_SYNC":"true"');
  });

  it("hub=kubernetes has no workspaces", () => {
    const { core } = synthesize({ hub: "kubernetes", workspaces: [] });
    for (const { properties } of resourcesOf(core, "AWS::Lambda::Function")) {
      expect(objectOf(properties.Environment).Variables).not.toHaveProperty("TMC_WORKSPACES");
    }
  });

  it("credentialProviders grants only the permissions of the chosen providers", () => {
    const { core } = synthesize({ credentialProviders: "kcp-secret" });
    expect(actionsOf(core).filter((action) => /^(?:eks|sts):/.test(action))).toEqual([]);
    expect(JSON.stringify(core.toJSON())).not.toContain(":secret:tmc/");
  });

  it("two stages of an account may read no secret of a cluster of each other", () => {
    const readable = (stage: string): readonly string[] => {
      const { core, relay } = synthesize({ stage, "relay.watchClusters": true });
      const text = JSON.stringify([core.toJSON(), relay.toJSON()]);
      return [...new Set([...text.matchAll(/:secret:(tmc\/[^"]*)/g)].map(([, name = ""]) => name))];
    };
    expect([readable("dev"), readable("prod")]).toEqual([["tmc/dev/*"], ["tmc/prod/*"]]);
  });

  it("hubId sets the id of the upstream for functions and relay, and by default the upstream has its own", () => {
    const ids = (settings: object): readonly boolean[] => {
      const { core, relay } = synthesize({ "relay.watchClusters": true, ...settings });
      return [core, relay].map((stack) => JSON.stringify(stack.toJSON()).includes("TMC_HUB_ID"));
    };
    expect([ids({}), ids({ hubId: "prod" })]).toEqual([
      [false, false],
      [true, true],
    ]);
  });

  it("relay.image in ECR lets the tasks pull only that image", () => {
    const image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/tmc/relay:1.2.3";
    const { relay } = synthesize({ "relay.image": image });
    const [task] = resourcesOf(relay, "AWS::ECS::TaskDefinition");
    const [role] = listOf(objectOf(task?.properties.ExecutionRoleArn)["Fn::GetAtt"]);
    const repository = "arn:aws:ecr:eu-west-1:123456789012:repository/tmc/relay";
    expect(rightsOf(String(role), [relay])).toEqual([
      `ecr:BatchCheckLayerAvailability ${repository}`,
      `ecr:BatchGetImage ${repository}`,
      "ecr:GetAuthorizationToken *",
      `ecr:GetDownloadUrlForLayer ${repository}`,
    ]);
  });
});

describe("errors of the synth", () => {
  const inEmptyFolder = (run: (folder: string) => void): void => {
    const folder = mkdtempSync(join(tmpdir(), "tmc-infra-"));
    try {
      run(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it("the synth names all missing bundles at once, and how to build them", () => {
    inEmptyFolder((folder) => {
      const settings = parseSettings(leastSettings);
      const add = () => addStacks(new App({ autoSynth: false }), { settings, bundles: folder, imageFolder: folder });
      expect(add).toThrow(
        `functions: no bundle of reconcile, forward, heartbeat, probe, resync, health in ${folder}: run npm run build first`,
      );
    });
  });

  it("the synth reports a missing relay bundle, and how to build it", () => {
    inEmptyFolder((folder) => {
      writeFileSync(join(folder, "Dockerfile"), "FROM scratch\n");
      expect(() => builtRelayImage(folder)).toThrow(
        `relay: no dist/relay.js in ${folder}: run npm run build first, or set relay.image`,
      );
    });
  });

  it("the deployment builds the target relay of the Dockerfile, which needs only the bundled relay", () => {
    inEmptyFolder((folder) => {
      writeFileSync(join(folder, "Dockerfile"), "FROM scratch AS relay\nFROM scratch AS controller\n");
      mkdirSync(join(folder, "dist/package"), { recursive: true });
      for (const file of ["dist/relay.js", "dist/package/tmc.js"]) writeFileSync(join(folder, file), "");
      const app = new App({ outdir: join(folder, "cdk.out") });
      const definition = new FargateTaskDefinition(new Stack(app, "Relay"), "Task");
      definition.addContainer("relay", { image: builtRelayImage(folder) });
      const assets: unknown = JSON.parse(readFileSync(join(app.synth().directory, "Relay.assets.json"), "utf8"));
      const [image] = Object.values(objectOf(objectOf(assets).dockerImages));
      const { directory, dockerBuildTarget } = objectOf(objectOf(image).source);
      expect(dockerBuildTarget).toBe("relay");
      expect(readdirSync(join(folder, "cdk.out", String(directory)), { recursive: true }).toSorted()).toEqual([
        "Dockerfile",
        "dist",
        "dist/relay.js",
      ]);
    });
  });

  it("a reserved concurrency below the maximum concurrency of a queue is rejected", () => {
    expect(() => assertReservedConcurrency("tmc-test-probe", 10, 9)).toThrow(
      "functions: tmc-test-probe: reserved concurrency 9 is below the maximum concurrency 10 of its queue",
    );
    expect(() => assertReservedConcurrency("tmc-test-probe", 10, 10)).not.toThrow();
  });
});
