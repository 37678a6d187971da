import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import type { ControllerOptions } from "../../../lib/controller/controller.ts";
import { aRegistration, registrations } from "../upstream/tenants.ts";
import { readyOf, type Stage, type StageOptions, setStage } from "./stage.ts";

const events: ResourceType = { group: "", version: "v1", plural: "events" };
const crds: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.stop();
  stage = undefined;
});
async function given(options?: StageOptions): Promise<Stage> {
  stage = await setStage(options);
  return stage;
}

const allTenants: Partial<ControllerOptions> = {
  workspaces: undefined,
  apiExport: {
    address: { path: exportWorkspace, name: exportName },
    openEndpoint: () => {
      throw new Error("there is one server");
    },
  },
};

/** What people were told in a place: reason, about what, and how often. */
async function told(client: KubeClient): Promise<readonly string[]> {
  const { items } = await client.list<KubeObject>({ type: events, namespace: "default" });
  return items.map(({ reason, involvedObject, count }) => {
    const { kind, name } = involvedObject as { kind: string; name: string };
    return `${String(reason)} ${kind}/${name} ×${String(count)}`;
  });
}

/** Another server in place of kcp: one of the clusters, with our kinds. */
async function plainHub({ clusters, rest }: Stage): Promise<KubeClient> {
  const west = clusters.get("west");
  if (west === undefined) throw new Error("there is no west");
  const hub = createKubeClient({ endpoint: { server: west.url }, transport: west.transport() });
  for (const kind of kinds) await hub.create({ type: crds }, customResourceDefinition(kind));
  await rest();
  return hub;
}

describe("a cluster that fails", () => {
  test("is told once on its registration, and nothing more is written while it stays dead", async () => {
    const { client, clusters, settled, pass, count, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    await settled();
    clusters.get("east")?.beBroken();
    await pass(180_000);
    const east = await registration("east");
    expect(readyOf(east)).toBe("False ClusterUnhealthy");
    expect(await told(client)).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
    const { items } = await client.list<KubeObject>({ type: events, namespace: "default" });
    expect(items).toMatchObject([
      {
        type: "Warning",
        message: expect.stringMatching(/^ClusterUnhealthy: \/readyz answers 500/),
        involvedObject: { apiVersion: "tmc.kcp.io/v1alpha1", uid: east.metadata.uid },
      },
    ]);
    const writes = count();
    await pass(1_800_000, 10_000);
    expect(writes()).toBe(0);
  });

  test("is the same Event when it fails again, which counts", async () => {
    const { client, clusters, settled, pass } = await given();
    await client.create(registrations, aRegistration("east"));
    await settled();
    for (let times = 0; times < 2; times++) {
      clusters.get("east")?.beBroken();
      await pass(180_000);
      clusters.get("east")?.recover();
      await pass(180_000);
    }
    expect(await told(client)).toEqual(["HeartbeatFailed ClusterRegistration/east ×2"]);
  });

  test("is told by one of two controllers", async () => {
    const { client, clusters, controller, rest, pass } = await given();
    await client.create(registrations, aRegistration("east"));
    await Promise.all([controller().start(), controller().start()]);
    await rest();
    clusters.get("east")?.beBroken();
    await pass(300_000);
    expect(await told(client)).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
  });

  test("is told through an export in the tenant's own workspace, and in no other", async () => {
    const { tenants, clusters, settled, pass } = await given({ workspaces: ["root:one", "root:two"] });
    const [one = "", two = ""] = tenants.clusters;
    await tenants.at(one).create(registrations, aRegistration("east"));
    await settled(allTenants);
    clusters.get("east")?.beBroken();
    await pass(180_000);
    expect(await told(tenants.at(one))).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
    expect(await told(tenants.at(two))).toEqual([]);
  });

  test("is told on a plain Kubernetes hub", async () => {
    const on = await given();
    const hub = await plainHub(on);
    await hub.create(registrations, aRegistration("east"));
    await on.settled({ client: hub, workspaces: undefined });
    on.clusters.get("east")?.beBroken();
    await on.pass(180_000);
    expect(await told(hub)).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
  });

  test("is not Ready all the same where Events may not be written", async () => {
    const { tenants, client, clusters, settled, pass, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    const controller = await settled();
    const refusal = tenants.kcp.faults.inject({
      match: { verb: "create", resource: "events" },
      effect: { kind: "status", code: 403 },
    });
    clusters.get("east")?.beBroken();
    await pass(300_000);
    expect(refusal.hits).toBe(1);
    expect(readyOf(await registration("east"))).toBe("False ClusterUnhealthy");
    expect(controller.queue).toMatchObject({ failing: 0 });
    expect(controller.queue.setAside()).toEqual([]);
  });
});

test("a cluster that is well is told nothing of", async () => {
  const { tenants, client, settled, pass } = await given();
  await client.create(registrations, aRegistration("east"));
  const tried = tenants.kcp.faults.inject({ match: { resource: "events" }, effect: { kind: "delay", ms: 0 } });
  await settled();
  await pass(600_000);
  expect(tried.hits).toBe(0);
  expect(await told(client)).toEqual([]);
});

describe("work that was set aside", () => {
  test("is told on its object, without secrets, and not with every round", async () => {
    const { client, controller: aController, pass } = await given();
    await client.create(registrations, aRegistration("east"));
    const broken = {
      find: () => Promise.reject(new TypeError("cannot read 'x', token=s3cr3t")),
      forget: () => {},
    };
    const controller = aController({ operatorCredentials: broken });
    await controller.start();
    await pass(300_000);
    expect(controller.queue.setAside()).toHaveLength(1);
    expect(await told(client)).toEqual(["ControllerError ClusterRegistration/east ×1"]);
    const { items } = await client.list<KubeObject>({ type: events, namespace: "default" });
    expect(items[0]?.message).toBe(
      "TMC has set it aside until it changes or is looked at anew: TypeError: cannot read 'x', token=[redacted]",
    );
  });
});

describe("a controller that starts", () => {
  const announcedAs = "tmc 1.2.3";
  const again = async (on: Stage, options: Partial<ControllerOptions>): Promise<void> => {
    for (let times = 0; times < 2; times++) {
      const controller = await on.settled({ ...options, announcedAs });
      await controller.stop();
    }
  };

  test("says so beside each workspace that it was told of, in one Event that counts", async () => {
    const on = await given({ workspaces: ["root:one", "root:two"] });
    await again(on, {});
    for (const cluster of on.tenants.clusters) {
      expect(await told(on.tenants.at(cluster))).toEqual(["ControllerStarted LogicalCluster/cluster ×2"]);
    }
    const { items } = await on.client.list<KubeObject>({ type: events, namespace: "default" });
    expect(items[0]).toMatchObject({
      type: "Normal",
      message: "tmc 1.2.3 has started and looks after this workspace",
      involvedObject: { uid: expect.stringMatching(/./) },
    });
  });

  test("says so beside the export, and to none of its tenants", async () => {
    const on = await given({ workspaces: ["root:one", "root:two"] });
    await again(on, allTenants);
    const provider = on.tenants.client.at(`/clusters/${exportWorkspace}`);
    expect(await told(provider)).toContain(`ControllerStarted APIExport/${exportName} ×2`);
    for (const cluster of on.tenants.clusters) expect(await told(on.tenants.at(cluster))).toEqual([]);
  });

  test("says so on a plain Kubernetes hub beside what makes it one", async () => {
    const on = await given();
    const hub = await plainHub(on);
    await again(on, { client: hub, workspaces: undefined });
    expect(await told(hub)).toEqual(["ControllerStarted CustomResourceDefinition/clusterregistrations.tmc.kcp.io ×2"]);
  });

  test("writes nothing but that over objects that are as they should be, and works where it may not", async () => {
    const { client, tenants, settled, count, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    await (await settled()).stop();
    const writes = count();
    await (await settled({ announcedAs })).stop();
    expect(writes()).toBe(1);
    tenants.kcp.faults.inject({ match: { resource: "events" }, effect: { kind: "status", code: 403 } });
    await (await settled({ announcedAs })).stop();
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  });
});
