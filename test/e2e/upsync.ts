import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { KubeClient } from "../../lib/kube/client.ts";
import { faultOf } from "../../lib/kube/errors.ts";
import type { KubeObject, ResourceType } from "../../lib/model/kube-object.ts";
import { birthAnnotation } from "../../lib/sync/birth-mark.ts";
import { syncedLabel } from "../../lib/sync/owner-mark.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import type { Setting } from "./stage.ts";
import { type Tenant, tenantOf } from "./tenant.ts";
import { clusterNames, furnish, type Parts, tenantWorkspace, type World } from "./world.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const services: ResourceType = { group: "", version: "v1", plural: "services" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };

const metadata = { name: "web", namespace: "shop", labels: { app: "web" } };
const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata,
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "nginx:1.27" }] } },
  },
};
const front = {
  apiVersion: "v1",
  kind: "Service",
  metadata,
  spec: { type: "NodePort", selector: { app: "web" }, ports: [{ port: 80 }] },
};

/** Holds upsync to its promises by the real command: what is born on one cluster reaches the other, and goes with its origin. */
export function upsyncScenario({ kind, testMs, waitMs, startMs }: Setting, startParts: () => Promise<Parts>): void {
  describe(`upsync on ${kind} parts`, { timeout: testMs }, () => {
    let world: World;
    let tenant: Tenant;
    let east: KubeClient;
    let west: KubeClient;
    let controller: ControllerProcess | undefined;

    beforeAll(async () => {
      world = await furnish(await startParts());
      tenant = tenantOf(world.tenant, waitMs);
      [east, west] = [world.clusterClient("us-east"), world.clusterClient("us-west")];
      const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
      for (const client of [world.tenant, east]) await client.create({ type: namespaces }, shop);
      const upsync = [
        { apiVersion: "apps/v1", kind: "Deployment" },
        { apiVersion: "v1", kind: "Service" },
      ];
      for (const name of clusterNames) await tenant.register(name, { location: name, upsync });
      await tenant.place("all", { strategy: "Spread", workloadSelector: {} });
      const clusters = clusterNames.map((name) => `${name}=${world.clusterKubeconfigs[name]}`).join(",");
      controller = await startController(world.folder, [
        `--kcp-kubeconfig=${world.kcpKubeconfig}`,
        `--workspace=${tenantWorkspace}`,
        `--cluster-kubeconfigs=${clusters}`,
        "--resync-period=1s",
        "--worker-count=5",
        "--heartbeat-interval=1s",
      ]);
      await controller.untilReady(waitMs);
    }, startMs);
    afterAll(async () => {
      await controller?.kill();
      await world?.stop();
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail" || controller === undefined) return;
      process.stderr.write(`${(await controller.output()).split("\n").slice(-25).join("\n")}\n`);
    });

    const upstream = (type: ResourceType): Promise<KubeObject | undefined> =>
      unlessGone(world.tenant.get<KubeObject>({ type, namespace: "shop", name: "web" }));
    const copies = async (on: KubeClient, type: ResourceType): Promise<readonly KubeObject[]> =>
      (await on.listAll<KubeObject>({ type }, { labelSelector: syncedLabel })).items;
    const until = (what: string, isSo: () => Promise<boolean>): Promise<void> =>
      eventually(async () => ((await isSo()) ? undefined : what), waitMs);
    /** Waits until everything has been looked at some times more. */
    const someRounds = async (): Promise<void> => {
      const before = (await controller?.metric("tmc_reconcile_total")) ?? 0;
      await until(
        "it goes on working",
        async () => ((await controller?.metric("tmc_reconcile_total")) ?? 0) > before + 30,
      );
    };

    it("brings what is born on one cluster to the other by way of the workspace", async () => {
      await east.create({ type: deployments, namespace: "shop" }, web);
      await east.create({ type: services, namespace: "shop" }, front);
      for (const type of [deployments, services]) {
        await until(`the other cluster has its ${type.plural}`, async () => (await copies(west, type)).length === 1);
        expect((await upstream(type))?.metadata.annotations).toHaveProperty([birthAnnotation]);
        expect(await copies(east, type)).toEqual([]);
      }
      // The original's two, and the copy's two.
      await until("all four are ready", async () => {
        const status: unknown = (await upstream(deployments))?.status;
        return typeof status === "object" && status !== null && "readyReplicas" in status && status.readyReplicas === 4;
      });
      // The cluster's own addresses stay where they are.
      expect(JSON.stringify((await upstream(services))?.spec)).not.toMatch(/clusterIP"|nodePort/);
    });

    it("writes each of them once, and at rest nothing", async () => {
      await someRounds();
      expect(await controller?.metric("tmc_upsync_actions_total", { did: "created" })).toBe(2);
      expect(await controller?.metric("tmc_upsync_actions_total", { did: "changed" })).toBe(0);
    });

    it("follows the origin, and puts back what is changed in the workspace", async () => {
      const at = { type: deployments, namespace: "shop", name: "web" };
      await east.patch(at, { type: "merge", body: { spec: { replicas: 3 } } });
      await until("the change has arrived", async () => replicasOf((await copies(west, deployments))[0]) === 3);
      await world.tenant.patch(at, { type: "merge", body: { spec: { replicas: 9, paused: true } } });
      await until("it was put back", async () => {
        const object = await upstream(deployments);
        return replicasOf(object) === 3 && !JSON.stringify(object?.spec).includes("paused");
      });
    });

    it("removes nothing because the origin does not answer", async () => {
      world.parts.clusters["us-east"].freeze();
      await tenant.untilCluster("us-east", "False ClusterUnhealthy");
      expect(await upstream(deployments)).toBeDefined();
      expect(await copies(west, deployments)).toHaveLength(1);
      world.parts.clusters["us-east"].thaw();
      await tenant.untilCluster("us-east", "True ClusterReady");
    });

    it("goes with its origin, and the copies go with it", async () => {
      for (const type of [deployments, services]) await east.delete({ type, namespace: "shop", name: "web" });
      for (const type of [deployments, services]) {
        await until(`${type.plural} have gone from the workspace`, async () => (await upstream(type)) === undefined);
        await until(`${type.plural} have gone from the other`, async () => (await copies(west, type)).length === 0);
      }
    });
  });
}

function replicasOf(object: KubeObject | undefined): unknown {
  const spec: unknown = object?.spec;
  return typeof spec === "object" && spec !== null && "replicas" in spec ? spec.replicas : undefined;
}

async function unlessGone(reading: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (faultOf(error) === "not-found") return undefined;
    throw error;
  }
}
