import { afterAll, afterEach, beforeAll, describe, inject } from "vitest";
import { startEmbeddedParts } from "../e2e/embedded-parts.ts";
import { engineCases } from "../e2e/engine-cases.ts";
import { type Tenant, tenantOf } from "../e2e/tenant.ts";
import { furnish, type World } from "../e2e/world.ts";
import { type AwsClients, createAwsClients } from "./aws-clients.ts";
import { createCdk } from "./cdk.ts";
import { createDeployedForm, type DeployedForm, readHealth } from "./deployed-form.ts";
import { type Deployment, deployStage } from "./deployment.ts";

const endpoint = inject("awsEndpoint");
/** What a killed function held comes back after six of its time-outs, which are 20 seconds each. */
const waitMs = 180_000;

describe("the engine as it is deployed", { timeout: 420_000 }, () => {
  let world: World;
  let tenant: Tenant;
  let aws: AwsClients;
  let deployment: Deployment;
  let form: DeployedForm;

  beforeAll(async () => {
    world = await furnish(await startEmbeddedParts());
    tenant = tenantOf(world.tenant, waitMs);
    aws = createAwsClients(endpoint);
    const cdk = createCdk(endpoint, world.folder);
    await cdk.bootstrap();
    // As often as a deployment allows it: a cluster is taken for dead after three rounds.
    deployment = await deployStage({ stage: "engine", world, aws, cdk, settings: { heartbeatSeconds: "10" } });
    form = createDeployedForm({ endpoint, aws, deployment, folder: world.folder, waitMs });
  }, 180_000);
  afterAll(async () => {
    await form?.stop();
    await deployment?.destroy();
    aws?.[Symbol.dispose]();
    await world?.stop();
  }, 120_000);
  afterEach(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const relay of form.relays()) {
      process.stderr.write(`${(await relay.output()).split("\n").slice(-25).join("\n")}\n`);
    }
    process.stderr.write(`${JSON.stringify(await readHealth(aws, deployment))}\n`);
  });

  engineCases(() => ({ world, tenant, form }), waitMs);
});
