import { GetQueueUrlCommand, SetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, inject } from "vitest";
import { startEmbeddedParts } from "../e2e/embedded-parts.ts";
import { type E2eContext, type Environment, furnish, type Parts } from "../e2e/environment.ts";
import { type Tenant, tenantOf } from "../e2e/tenant.ts";

import { type AwsClients, createAwsClients } from "./aws-clients.ts";
import { createCdk } from "./cdk.ts";
import { createDeployedForm, type DeployedForm, type DeployedFormOptions, readHealth } from "./deployed-form.ts";
import { type DeployedApp, type Deployment, deployStage } from "./deployment.ts";

export type DeployedEnvironmentOptions = Readonly<{
  /** The name of the deployment. */
  stage: string;
  /** Its settings, besides those that the world needs. */
  settings?: Readonly<Record<string, string>>;
  waitMs: number;
  /** After how long messages come back that a killed function held; more than a function's 20 s. @default 120, as templates have it */
  visibilitySeconds?: number;
  /** @default those in memory */
  startParts?: () => Promise<Parts>;
}>;

/** A deployment for the tenant of a kcp, and the way it runs. */
export interface DeployedEnvironment extends E2eContext {
  readonly aws: AwsClients;
  readonly deployment: Deployment;
  readonly form: DeployedForm;
  /** Deploys once more with other settings, and has that run. */
  redeploy(settings: Readonly<Record<string, string>>): Promise<void>;
}

const endpoint = inject("awsEndpoint");

/** Sets the stage before the first case of a suite and clears it after the last; what a case finds there is then in place. */
export function useDeployedEnvironment(options: DeployedEnvironmentOptions): DeployedEnvironment {
  const { stage, settings = {}, waitMs, visibilitySeconds, startParts = startEmbeddedParts } = options;
  let world: Environment;
  let tenant: Tenant;
  let aws: AwsClients;
  let deployment: Deployment;
  let form: DeployedForm;
  const createForm = (): DeployedForm =>
    createDeployedForm({ endpoint, aws, deployment, folder: world.folder, waitMs });

  beforeAll(async () => {
    world = await furnish(await startParts());
    tenant = tenantOf(world.tenant, waitMs);
    aws = createAwsClients(endpoint);
    const cdk = createCdk(endpoint, world.folder);
    await cdk.bootstrap();
    deployment = await deployStage({ stage, world, aws, cdk, settings });
    if (visibilitySeconds !== undefined) await setVisibility(aws, deployment, visibilitySeconds);
    form = createForm();
  }, 180_000);
  afterAll(async () => {
    await form?.stop();
    await deployment?.destroy();
    aws?.[Symbol.dispose]();
    await world?.stop();
  }, 120_000);
  printOnFailure(() => (form === undefined ? undefined : { form, aws, deployment }));

  return {
    get world() {
      return world;
    },
    get tenant() {
      return tenant;
    },
    get aws() {
      return aws;
    },
    get deployment() {
      return deployment;
    },
    get form() {
      return form;
    },
    redeploy: async (changes) => {
      await form.stop();
      await deployment.redeploy({ ...settings, ...changes });
      form = createForm();
      await form.running();
    },
  };
}

async function setVisibility({ sqs }: AwsClients, { names }: Deployment, seconds: number): Promise<void> {
  for (const QueueName of [names.queues.work, names.queues.delay, names.queues.heartbeat]) {
    const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName }));
    const Attributes = { VisibilityTimeout: String(seconds) };
    await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
  }
}

type Running = Pick<DeployedFormOptions, "aws"> &
  Readonly<{ form: DeployedForm; deployment: Pick<DeployedApp, "names"> }>;

/** Shows the last lines of the relays and the health of a deployment after each case that fails. */
export function printOnFailure(running: () => Running | undefined): void {
  afterEach(async ({ task }) => {
    const present = running();
    if (task.result?.state !== "fail" || present === undefined) return;
    for (const relay of present.form.relays()) {
      process.stderr.write(`${(await relay.output()).split("\n").slice(-25).join("\n")}\n`);
    }
    const health = await readHealth(present.aws, present.deployment).catch((error: unknown) => String(error));
    process.stderr.write(`${JSON.stringify(health)}\n`);
  });
}
