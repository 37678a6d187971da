import { readFile } from "node:fs/promises";
import { CreateSecretCommand, DeleteSecretCommand } from "@aws-sdk/client-secrets-manager";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { namesOf, type StageNames } from "../../infra/names.ts";
import { resolveLogicalCluster } from "../../lib/upstream/logical-cluster.ts";
import { clusterNames, type Environment, tenantWorkspace } from "../e2e/environment.ts";
import type { AwsClients } from "./aws-clients.ts";
import type { Cdk, Outputs } from "./cdk.ts";

/** An image that nobody pulls: the relay runs as a local process. */
const relayImage = "registry.invalid/tmc-relay:test";

/** The app that is deployed, as `cdk.json` has it, with the Node that runs the tests. */
const app = `"${process.execPath}" infra/app.ts`;

export type AppOptions = Readonly<{
  stage: string;
  /** A folder for what comes of it. */
  folder: string;
  aws: AwsClients;
  cdk: Cdk;
  /** The scope, and the other settings that differ between tests. */
  settings: Readonly<Record<string, string>>;
  /** What has to be in Secrets Manager before, by name. */
  secrets: Readonly<Record<string, string>>;
}>;

/** A stage of the real app on an endpoint. */
export interface DeployedApp {
  readonly names: StageNames;
  /** The synthesised app as it was deployed last. */
  readonly assembly: string;
  readonly outputs: Outputs;
  /** Makes one more secret, which goes with the stage. */
  addSecret(name: string, text: string): Promise<void>;
  /** Deploys once more with other settings. */
  redeploy(settings: Readonly<Record<string, string>>): Promise<void>;
  /** Removes every stack and every secret; calling it again is harmless. */
  destroy(): Promise<void>;
}

/** Puts the secrets in their places and deploys every stack. */
export async function deployApp(options: AppOptions): Promise<DeployedApp> {
  const { stage, folder, aws, cdk } = options;
  const secrets: string[] = [];
  const addSecret = async (Name: string, SecretString: string): Promise<void> => {
    await aws.secrets.send(new CreateSecretCommand({ Name, SecretString }));
    secrets.push(Name);
  };
  const removeSecrets = async (): Promise<void> => {
    for (const SecretId of secrets.splice(0)) {
      await aws.secrets.send(new DeleteSecretCommand({ SecretId, ForceDeleteWithoutRecovery: true }));
    }
  };
  const settings: Readonly<Record<string, string>> = {
    stage,
    // The clusters are on this machine, and no other address of it is any business of a tenant's.
    allowedEndpoints: "127.0.0.1/32",
    "relay.image": relayImage,
    removal: "destroy",
    ...options.settings,
  };
  const synth = (context: Readonly<Record<string, string>>): Promise<string> => cdk.synth({ app, context, folder });

  for (const [name, text] of Object.entries(options.secrets)) await addSecret(name, text);
  let assembly = await synth(settings);
  let outputs = await cdk.deploy(assembly);
  let destroyed = false;
  return {
    names: namesOf(stage),
    get assembly() {
      return assembly;
    },
    get outputs() {
      return outputs;
    },
    addSecret,
    redeploy: async (changes) => {
      assembly = await synth({ ...settings, ...changes });
      outputs = await cdk.deploy(assembly);
    },
    destroy: async () => {
      if (!destroyed) await cdk.destroy(assembly);
      destroyed = true;
      await removeSecrets();
    },
  };
}

export type DeploymentOptions = Pick<AppOptions, "stage" | "aws" | "cdk"> &
  Readonly<{
    world: Environment;
    /** Settings of the stage besides those that the world needs. */
    settings?: AppOptions["settings"];
  }>;

/** A stage for the workspace of one tenant; kcp and clusters run outside the endpoint. */
export interface Deployment extends DeployedApp {
  /** The tenant's logical cluster, which keys and secrets carry. */
  readonly tenantCluster: string;
  /** Stores the kubeconfig of a cluster in the secret that the functions read. */
  offerCredentials(registration: string, kubeconfig: string): Promise<void>;
}

/** Deploys a stage for the tenant of a world, with the kubeconfigs of all its parts. */
export async function deployStage({ world, ...options }: DeploymentOptions): Promise<Deployment> {
  const tenantCluster = await readTenantCluster(world);
  const secretOf = (registration: string): string => `tmc/${options.stage}/kcp/${tenantCluster}/${registration}`;
  const kcpSecret = `tmc-${options.stage}-kcp`;
  const secrets: Record<string, string> = { [kcpSecret]: await readFile(world.kcpKubeconfig, "utf8") };
  for (const name of clusterNames) secrets[secretOf(name)] = await readFile(world.clusterKubeconfigs[name], "utf8");
  const settings = { workspaces: tenantWorkspace, kcpSecret, hubId: "kcp", ...options.settings };
  const deployed = await deployApp({ ...options, folder: world.folder, settings, secrets });
  return Object.assign(deployed, {
    tenantCluster,
    offerCredentials: (registration: string, kubeconfig: string) =>
      deployed.addSecret(secretOf(registration), kubeconfig),
  });
}

async function readTenantCluster({ parts: { kcp } }: Environment): Promise<string> {
  const transport = createUndiciTransport(kcp.endpoint);
  const client = createKubeClient({ endpoint: kcp.endpoint, transport, userAgent: "tmc-e2e" });
  try {
    return (await resolveLogicalCluster(client, tenantWorkspace)).name;
  } finally {
    await client.close();
  }
}
