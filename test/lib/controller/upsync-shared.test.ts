import type { SQSClient } from "@aws-sdk/client-sqs";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createSharingController } from "../../../lib/controller/controller.ts";
import { createSqsSharedQueue } from "../../../lib/controller/shared-queue.ts";
import { type CredentialSource, notConfigured, outcomeOf } from "../../../lib/credentials/credentials.ts";
import type { Condition } from "../../../lib/model/condition.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { statusOf } from "../../support/controller-environment.ts";
import { eventually } from "../../support/eventually.ts";
import { createQueues, startSqs } from "../../support/sqs.ts";
import { aPlacement, aRegistration, placements, registrations, startTenants } from "../upstream/tenants.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const inShop = { type: deployments, namespace: "shop" };
const web = (name = "web") => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "web", image: "nginx" }] } },
  },
});

let sqs: SQSClient;
let stopSqs: () => Promise<void>;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  ({ sqs, stop: stopSqs } = await startSqs());
});
afterAll(() => stopSqs());
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** Two controllers that share a queue, and a cluster "east" that opts in to Deployments. */
async function aStage() {
  const tenants = await startTenants(["root:demo"]);
  ends.push(() => tenants.stop());
  const { urls, remove } = await createQueues(sqs);
  ends.push(remove);
  const clusters = new Map<string, EmbeddedCluster>();
  for (const name of ["east", "west"]) {
    const started = await startEmbeddedCluster({ name, listen: false });
    ends.push(() => started.stop());
    clusters.set(name, started);
  }
  const on = (name: string): KubeClient => {
    const found = clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const [cluster = ""] = tenants.clusters;
  const client = tenants.at(cluster);
  const operatorCredentials: CredentialSource = {
    find: async ({ key }) => {
      const server = clusters.get(key.name)?.url;
      if (server === undefined) return notConfigured(`no kubeconfig is configured for cluster "${key.name}"`);
      return outcomeOf({ server }, { providedBy: "operator", nowMs: Date.now() });
    },
    invalidate: () => {},
  };
  const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  for (const each of [client, on("east"), on("west")]) await each.create({ type: namespaces }, shop);
  await client.create(
    registrations,
    aRegistration("east", { upsync: [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["shop"] }] }),
  );
  await client.create(registrations, aRegistration("west"));
  await client.create(placements, aPlacement("all", { strategy: "Spread", workloadSelector: {} }));
  for (const _ of ["one", "two"]) {
    const controller = createSharingController(
      {
        client: tenants.client,
        hubId: "kcp",
        workspaces: ["root:demo"],
        operatorCredentials,
        openTransport: (_endpoint, { key }) => {
          const found = clusters.get(key.name);
          if (found === undefined) throw new Error(`nothing leads to ${key.name}`);
          return found.transport();
        },
      },
      createSqsSharedQueue({ sqs, urls, clock: systemClock }),
    );
    ends.push(() => controller.stop());
    await controller.start();
  }
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  const namesIn = async (at: KubeClient, where: string): Promise<readonly string[]> =>
    (await at.list<KubeObject>({ type: deployments, namespace: where })).items.map(
      ({ metadata }) => metadata.name ?? "",
    );
  return {
    client,
    east: on("east"),
    known: () => namesIn(client, "shop"),
    copies: async (name: string) => namesIn(on(name), namespace),
    condition: async (type: string): Promise<string> => {
      const { conditions = [] } = statusOf(await client.get<KubeObject>({ ...registrations, name: "east" }));
      const found = (conditions as readonly Condition[]).find((each) => each.type === type);
      return found === undefined ? "none" : `${found.status} ${found.reason}`;
    },
  };
}

const until = (what: string, isSo: () => Promise<boolean>): Promise<void> =>
  eventually(async () => ((await isSo()) ? undefined : what), 15_000);

test("controllers that share a queue upsync a new object, its changes and its deletion", async () => {
  const { client, east, known, copies, condition } = await aStage();
  await until("east is followed", async () => (await condition("UpsyncReady")) === "True Upsynced");
  await east.create(inShop, web());
  await until("west has a copy", async () => (await copies("west")).includes("web"));
  expect(await copies("east")).toEqual([]);
  await east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 3 } } });
  await until("the change is known", async () => {
    const upstream = await client.get<KubeObject>({ ...inShop, name: "web" });
    return statusOf(upstream).readyReplicas === 6;
  });
  await east.delete({ ...inShop, name: "web" });
  await until("nothing is left", async () => (await known()).length + (await copies("west")).length === 0);
});

test("controllers that share a queue hold deletions of upsynced objects by their total number", async () => {
  const { client, east, known, condition } = await aStage();
  await client.delete({ ...placements, name: "all" });
  const names = Array.from({ length: 24 }, (_, index) => `w${index}`);
  for (const name of names) await east.create(inShop, web(name));
  await until("all are known", async () => (await known()).length === 24);
  for (const name of names) await east.delete({ ...inShop, name });
  await until("they are held", async () => (await condition("UpsyncHeld")) === "True DeletionsHeld");
  // At most ten may be deleted without a confirmation, whichever controller observes the deletions.
  expect((await known()).length).toBeGreaterThanOrEqual(14);
  const body = { metadata: { annotations: { "tmc.kcp.io/confirm-upsync-deletions": "24" } } };
  await client.patch({ ...registrations, name: "east" }, { type: "merge", body });
  await until("those that were confirmed have gone", async () => (await known()).length === 0);
});
