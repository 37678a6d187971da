import { readFile } from "node:fs/promises";
import { CreateSecretCommand, DeleteSecretCommand } from "@aws-sdk/client-secrets-manager";
import { namesOf, type StageNames } from "../../infra/names.ts";
import { resolveLogicalCluster } from "../../lib/kcp/logical-cluster.ts";
import { createKubeClient } from "../../lib/kube/rest-client.ts";
import { createUndiciTransport } from "../../lib/kube/undici-transport.ts";
import { clusterNames, tenantWorkspace, type World } from "../e2e/world.ts";
import type { AwsClients } from "./aws-clients.ts";
import type { Cdk, Outputs } from "./cdk.ts";

/** An image that nobody pulls: the relay runs as a local process. */
const relayImage = "registry.invalid/tmc-relay:test";

/** The app that is deployed, as `cdk.json` has it, with the Node that runs the tests. */
const app = `"${process.execPath}" infra/app.ts`;

export type DeploymentOptions = Readonly<{
  stage: string;
  world: World;
  aws: AwsClients;
  cdk: Cdk;
  /** Settings of the stage besides those that the world needs. */
  settings?: Readonly<Record<string, string>>;
}>;

/** A stage of the real app on an endpoint, beside a kcp and clusters that run elsewhere. */
export interface Deployment {
  readonly names: StageNames;
  /** The tenant's logical cluster, which keys and secrets carry. */
  readonly tenantCluster: string;
  /** The synthesised app as it was deployed last. */
  readonly assembly: string;
  readonly outputs: Outputs;
  /** Puts the kubeconfig of a cluster where the functions look for it. */
  offerCredentials(registration: string, kubeconfig: string): Promise<void>;
  /** Deploys once more with other settings. */
  redeploy(settings: Readonly<Record<string, string>>): Promise<void>;
  /** Removes every stack and every secret; calling it again is harmless. */
  destroy(): Promise<void>;
}

/** Puts the secrets in their places and deploys every stack. */
export async function deployStage(options: DeploymentOptions): Promise<Deployment> {
  const { stage, world, aws, cdk } = options;
  const names = namesOf(stage);
  const secrets: string[] = [];
  const put = async (Name: string, SecretString: string): Promise<void> => {
    await aws.secrets.send(new CreateSecretCommand({ Name, SecretString }));
    secrets.push(Name);
  };
  const tenantCluster = await readTenantCluster(world);
  const offerCredentials = (registration: string, kubeconfig: string): Promise<void> =>
    put(`tmc/${tenantCluster}/${registration}`, kubeconfig);
  const removeSecrets = async (): Promise<void> => {
    for (const SecretId of secrets.splice(0)) {
      await aws.secrets.send(new DeleteSecretCommand({ SecretId, ForceDeleteWithoutRecovery: true }));
    }
  };
  const settings: Readonly<Record<string, string>> = {
    stage,
    workspaces: tenantWorkspace,
    kcpSecret: `tmc-${stage}-kcp`,
    // The clusters are on this machine, and no other address of it is any business of a tenant's.
    allowedEndpoints: "127.0.0.1/32",
    "relay.image": relayImage,
    removal: "destroy",
    ...options.settings,
  };
  const synth = (context: Readonly<Record<string, string>>): Promise<string> =>
    cdk.synth({ app, context, folder: world.folder });

  await put(`tmc-${stage}-kcp`, await readFile(world.kcpKubeconfig, "utf8"));
  for (const name of clusterNames) await offerCredentials(name, await readFile(world.clusterKubeconfigs[name], "utf8"));
  let assembly = await synth(settings);
  let outputs = await cdk.deploy(assembly);
  let destroyed = false;
  return {
    names,
    tenantCluster,
    get assembly() {
      return assembly;
    },
    get outputs() {
      return outputs;
    },
    offerCredentials,
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

async function readTenantCluster({ parts: { kcp } }: World): Promise<string> {
  const transport = createUndiciTransport(kcp.endpoint);
  const client = createKubeClient({ endpoint: kcp.endpoint, transport, userAgent: "tmc-e2e" });
  try {
    return (await resolveLogicalCluster(client, tenantWorkspace)).name;
  } finally {
    await client.close();
  }
}
