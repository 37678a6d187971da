import { GetFunctionConfigurationCommand } from "@aws-sdk/client-lambda";
import { GetSecretValueCommand, PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { KubeClient } from "@tmc/kube/client.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { accountNamespace, type ServiceRole, serviceAccounts } from "../../lib/api/export-access.ts";
import { exportName, exportWorkspace } from "../../lib/api/group.ts";
import { managedTypes } from "../../lib/install/managed-object.ts";
import { clusterFinalizer } from "../../lib/registration/reconcile.ts";
import { readEndpointUrls } from "../../lib/upstream/export/endpoints.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { eventually } from "../support/eventually.ts";
import { type AwsClients, createAwsClients } from "./aws-clients.ts";
import { callFunction } from "./call-function.ts";
import { createCdk } from "./cdk.ts";
import { printOnFailure } from "./deployed-environment.ts";
import { createDeployedForm, type DeployedForm, readHealth } from "./deployed-form.ts";
import { type DeployedApp, deployApp } from "./deployment.ts";
import { type AwsEndpoint, clientConfig } from "./endpoint.ts";
import { killFunctions } from "./function-processes.ts";
import { createGate, type Gate } from "./gate.ts";
import { createRelayIdentity } from "./relay-process.ts";
import { createUserLike } from "./role-user.ts";
import { readStageLogs } from "./stage-logs.ts";
import { bootstrapLine, startTenantsEnvironment, type Team, type TenantsEnvironment } from "./tenants-environment.ts";

const endpoint = inject("awsEndpoint");
const stage = "tenants";
const secrets = { worker: `tmc-${stage}-kcp`, relay: `tmc-${stage}-kcp-relay` } as const;
const apiExport = { path: exportWorkspace, name: exportName };
const inTenant = { secretRef: { namespace: "default", name: "kubeconfig" } };
const waitMs = 60_000;

describe.skipIf(!endpoint.own)("a deployment for all tenants of an export", { timeout: 120_000 }, () => {
  let world: TenantsEnvironment;
  let aws: AwsClients;
  let gate: Gate;
  let app: DeployedApp;
  let form: DeployedForm;
  const teams = new Map<string, Team>();
  const tokens: string[] = [];

  const team = (name: string): Team => {
    const found = teams.get(name);
    if (found === undefined) throw new Error(`no team ${name}`);
    return found;
  };
  const joined = async (name: string): Promise<Team> => {
    const made = await world.join(name);
    teams.set(name, made);
    return made;
  };
  /** Registers a cluster whose credentials are in the tenant's own workspace, and places on it. */
  const works = async ({ tenant }: Team): Promise<void> => {
    await tenant.offerSecret("kubeconfig", world.clusterKubeconfig);
    await tenant.register("home", { location: "eu-west-1", credentials: inTenant });
    await tenant.place("web");
  };
  const untilServed = async ({ tenant }: Team): Promise<void> => {
    await tenant.untilCluster("home", "True ClusterReady");
    await tenant.untilChosen("web", ["home"]);
  };
  const reconciles = async (sinceMs: number) =>
    (await gate.invocations(sinceMs)).filter((run) => run.function === app.names.functions.reconcile);
  const rememberToken = async (kubeconfig: string): Promise<string> => {
    tokens.push((await parseKubeconfig(kubeconfig, { allow: "data-only" }).endpoint.token?.()) ?? "");
    return kubeconfig;
  };

  beforeAll(async () => {
    world = await startTenantsEnvironment(waitMs);
    aws = createAwsClients(endpoint);
    gate = createGate(endpoint);
    const cdk = createCdk(endpoint, world.folder);
    const ants = await joined("ants");
    await joined("bees");
    await cdk.bootstrap();
    app = await deployApp({
      stage,
      folder: world.folder,
      aws,
      cdk,
      settings: {
        workspaces: "", // the project's own settings name some
        apiExport: `${exportWorkspace}:${exportName}`,
        hubId: "kcp",
        kcpSecret: secrets.worker,
        "relay.kcpSecret": secrets.relay,
      },
      secrets: {
        [secrets.worker]: await rememberToken(await world.kubeconfigOf("worker")),
        [secrets.relay]: await rememberToken(await world.kubeconfigOf("relay")),
        [`tmc/${stage}/kcp/${ants.cluster}/home`]: world.clusterKubeconfig,
      },
    });
    form = createDeployedForm({ endpoint, aws, deployment: app, folder: world.folder, waitMs, relays: 1 });
  }, 180_000);
  afterAll(async () => {
    await form?.stop();
    await app?.destroy();
    aws?.[Symbol.dispose]();
    await world?.stop();
  }, 120_000);
  printOnFailure(() => (form === undefined ? undefined : { form, aws, deployment: app }));

  it("lets the relay and the functions read only their own kubeconfig", async () => {
    const { functions } = app.names;
    const configuration = new GetFunctionConfigurationCommand({ FunctionName: functions.reconcile });
    const { Role = "" } = await aws.lambda.send(configuration);
    const worker = await createUserLike(aws, Role.split("/").at(-1) ?? "");
    const relay = await createRelayIdentity(aws, `Tmc-${stage}-Relay`);
    const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = relay.environment;
    const all = [secrets.worker, secrets.relay, `tmc/${stage}/kcp/${team("ants").cluster}/home`];
    expect({
      worker: await readableBy(worker.credentials, all),
      relay: await readableBy({ accessKeyId, secretAccessKey }, all),
    }).toEqual({ worker: [secrets.worker, `tmc/${stage}/kcp/${team("ants").cluster}/home`], relay: [secrets.relay] });
    await Promise.all([worker.remove(), relay.remove()]);
  });

  it("serves each tenant from every source of credentials", async () => {
    await form.running();
    const { tenant } = team("ants");
    await tenant.register("home", { location: "eu-west-1" });
    await tenant.place("web");
    await works(team("bees"));
    for (const name of ["ants", "bees"]) await untilServed(team(name));
    expect(await readHealth(aws, app)).toMatchObject({ ok: true, clusters: { ready: 2, total: 2 } });
  });

  it("watches as a user who may only list and watch", async () => {
    const { cluster } = team("bees");
    const inTenantAs = async (secret: string): Promise<KubeClient> => {
      const client = world.clientWith(await readSecret(aws.secrets, secret));
      const [url = ""] = (await readEndpointUrls(client, apiExport)) ?? [];
      return client.at(`${new URL(url).pathname}/clusters/${cluster}`);
    };
    const inBees = await inTenantAs(secrets.relay);
    const { items } = await inBees.list({ type: reconciledTypes.WorkloadPlacement });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["web"]);
    const address = { type: reconciledTypes.WorkloadPlacement, name: "web" };
    const [object] = items;
    const change = { type: "merge", body: { metadata: { labels: { touched: "yes" } } } } as const;
    const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
      get: () => inBees.get(address),
      create: () => inBees.create({ type: address.type }, { ...object, metadata: { name: "other" } }),
      update: () => inBees.update(address, { ...object }),
      patch: () => inBees.patch(address, change),
      "patch status": () => inBees.patch(address, { type: "merge", body: { status: {} } }, { subresource: "status" }),
      delete: () => inBees.delete(address),
      "delete all": () => inBees.deleteAll({ type: address.type }),
    };
    for (const [what, attempt] of Object.entries(attempts)) {
      await expect(attempt(), what).rejects.toMatchObject({ status: 403 });
    }
    await expect((await inTenantAs(secrets.worker)).get(address)).resolves.toEqual(object);
  });

  it("serves a tenant that binds while other tenants work", async () => {
    const names = Array.from({ length: 10 }, (_, at) => `busy-${at}`);
    const busy = Promise.all(names.map((name) => team("bees").tenant.place(name)));
    const crickets = await joined("crickets");
    await works(crickets);
    await untilServed(crickets);
    await busy;
    await team("bees").tenant.untilDecided(names);
  });

  it("stops serving a tenant that unbinds, and serves the others", async () => {
    const { path, cluster, tenant } = team("ants");
    expect((await tenant.cluster("home")).metadata.finalizers).toContain(clusterFinalizer);
    expect(await world.tmc(`unbind --workspace ${path} --delete-objects --timeout 60s`)).toContain(
      `${path}: unbound from ${exportWorkspace}`,
    );
    teams.delete("ants");
    await untilIdle();
    const counts = (["relay", "worker"] as const).map((service) => world.countRequests(service, cluster));
    const countOfBees = world.countRequests("worker", team("bees").cluster);
    await team("bees").tenant.place("after");
    await team("bees").tenant.untilDecided(["after"]);
    const left = await Promise.all(
      [...teams.values()].map(async ({ tenant }) => [...(await tenant.clusters()), ...(await tenant.placements())]),
    );
    const keys = left.flat().length;
    expect(await callFunction(aws, app.names.functions.resync)).toEqual({ keys, left: 0, isContinued: false });
    expect(counts.map((count) => count())).toEqual([0, 0]);
    expect(countOfBees()).toBeGreaterThan(0);
    expect(await readHealth(aws, app)).toMatchObject({ ok: true, clusters: { ready: 2, total: 2 } });
  });

  it("uses a renewed token after kcp rejects the old one, without a deployment", async () => {
    const { tenant } = team("bees");
    await endToken("worker");
    await killFunctions(endpoint);
    const sinceMs = Date.now();
    // The first is met by a function that has just started, the second by one that runs.
    for (const name of ["refused-first", "refused-then"]) {
      const placedMs = Date.now();
      await tenant.place(name);
      await untilReconciled(placedMs);
    }
    expect((await reconciles(sinceMs)).filter(({ failed }) => failed)).toEqual([]);
    const health = await readHealth(aws, app);
    expect(health).toMatchObject({ ok: false, clusters: { ok: false, reason: expect.stringContaining("401") } });

    await renewToken("worker");
    await tenant.untilDecided(["refused-first", "refused-then"]);
    await eventually(async () => {
      const { ok, ...rest } = await readHealth(aws, app);
      return ok ? undefined : `it is not well again: ${JSON.stringify(rest)}`;
    }, waitMs);
  });

  it("lets the relay use a renewed token, without a deployment", async () => {
    const { tenant } = team("bees");
    const [relay] = form.relays();
    await endToken("relay");
    world.cutWatches(); // which have shown their token when they began
    await eventually(
      async () => ((await relay?.output())?.includes(" 401 ") ? undefined : "nobody refuses it"),
      waitMs,
    );
    await tenant.place("unseen");
    await renewToken("relay");
    await tenant.untilDecided(["unseen"]);
    expect(form.relays()).toEqual([relay]);
  });

  it("logs no token", async () => {
    const texts = await Promise.all(form.relays().map((relay) => relay.output()));
    const text = [...texts, await readStageLogs(aws, stage)].join("\n");
    // Not by matchers that would print all of it.
    expect(text.includes("export cannot be read yet")).toBe(true);
    expect(new Set(tokens).size).toBe(4);
    for (const token of tokens) expect(text.includes(token)).toBe(false);
    expect(/\beyJ[\w-]+\.eyJ/.test(text)).toBe(false);
  });

  /** Has the account of a service go, and with it the token that was given out for it. */
  async function endToken(service: ServiceRole): Promise<void> {
    const old = world.clientWith(await readSecret(aws.secrets, secrets[service]));
    const account = { type: managedTypes.ServiceAccount, namespace: accountNamespace, name: serviceAccounts[service] };
    await world.admin.at(`/clusters/${exportWorkspace}`).delete(account);
    await expect(readEndpointUrls(old, apiExport)).rejects.toMatchObject({ status: 401 });
  }

  /** Does what an operator does about it. */
  async function renewToken(service: ServiceRole): Promise<void> {
    const printed = await world.tmc(bootstrapLine(world.folder));
    expect(printed).toContain(`${service}.kubeconfig (written: it is for another account)`);
    const SecretString = await rememberToken(await world.kubeconfigOf(service));
    await aws.secrets.send(new PutSecretValueCommand({ SecretId: secrets[service], SecretString }));
  }

  /** Nothing waits to be done any more. */
  async function untilIdle(): Promise<void> {
    await eventually(async () => {
      const { work, delay } = (await readHealth(aws, app)).queues;
      const waiting = [work, delay].flatMap(({ visible, inFlight, delayed }) => [visible, inFlight, delayed]);
      return waiting.every((count) => count === 0) ? undefined : `on the queues: ${waiting.join(" ")}`;
    }, waitMs);
  }

  async function untilReconciled(sinceMs: number): Promise<void> {
    await eventually(
      async () => ((await reconciles(sinceMs)).length > 0 ? undefined : "no function has taken it up"),
      waitMs,
    );
  }
});

/** The secrets that somebody may read. */
async function readableBy(
  credentials: AwsEndpoint["credentials"],
  names: readonly string[],
): Promise<readonly string[]> {
  const client = new SecretsManagerClient(clientConfig({ ...endpoint, credentials }));
  try {
    const readable: string[] = [];
    for (const name of names) {
      const refusal = await readSecret(client, name).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refusal === undefined) readable.push(name);
      else expect(String(refusal)).toMatch(/AccessDenied|not authorized/);
    }
    return readable;
  } finally {
    client.destroy();
  }
}

async function readSecret(client: SecretsManagerClient, SecretId: string): Promise<string> {
  return (await client.send(new GetSecretValueCommand({ SecretId }))).SecretString ?? "";
}
