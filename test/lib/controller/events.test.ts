import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import type { ControllerOptions } from "../../../lib/controller/parts.ts";
import {
  type ControllerEnvironment,
  type ControllerEnvironmentOptions,
  readyOf,
  startControllerEnvironment,
} from "../../support/controller-environment.ts";
import { aRegistration, registrations } from "../upstream/tenants.ts";

const events: ResourceType = { group: "", version: "v1", plural: "events" };
const crds: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

let stage: ControllerEnvironment | undefined;
afterEach(async () => {
  await stage?.stop();
  stage = undefined;
});
async function given(options?: ControllerEnvironmentOptions): Promise<ControllerEnvironment> {
  stage = await startControllerEnvironment(options);
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

/** Events in a workspace: reason, object and count. */
async function eventsIn(client: KubeClient): Promise<readonly string[]> {
  const { items } = await client.list<KubeObject>({ type: events, namespace: "default" });
  return items.map(({ reason, involvedObject, count }) => {
    const { kind, name } = involvedObject as { kind: string; name: string };
    return `${String(reason)} ${kind}/${name} ×${String(count)}`;
  });
}

/** Installs TMC's CRDs on a cluster, so that it can be the upstream instead of kcp. */
async function plainHub({ clusters, rest }: ControllerEnvironment): Promise<KubeClient> {
  const west = clusters.get("west");
  if (west === undefined) throw new Error("there is no west");
  const hub = createKubeClient({ endpoint: { server: west.url }, transport: west.transport() });
  for (const kind of kinds) await hub.create({ type: crds }, customResourceDefinition(kind));
  await rest();
  return hub;
}

describe("a cluster that fails", () => {
  test("a failed cluster causes one Event of its registration, and no further write while it stays unreachable", async () => {
    const { client, clusters, settled, pass, count, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    await settled();
    clusters.get("east")?.makeBroken();
    await pass(180_000);
    const east = await registration("east");
    expect(readyOf(east)).toBe("False ClusterUnhealthy");
    expect(await eventsIn(client)).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
    const { items } = await client.list<KubeObject>({ type: events, namespace: "default" });
    expect(items).toMatchObject([
      {
        type: "Warning",
        message: expect.stringMatching(/^ClusterUnhealthy: \/readyz returned 500/),
        involvedObject: { apiVersion: "tmc.kcp.io/v1alpha1", uid: east.metadata.uid },
      },
    ]);
    const writes = count();
    await pass(1_800_000, 10_000);
    expect(writes()).toBe(0);
  });

  test("a repeated failure of a cluster increments the count of its Event", async () => {
    const { client, clusters, settled, pass } = await given();
    await client.create(registrations, aRegistration("east"));
    await settled();
    for (let times = 0; times < 2; times++) {
      clusters.get("east")?.makeBroken();
      await pass(180_000);
      clusters.get("east")?.recover();
      await pass(180_000);
    }
    expect(await eventsIn(client)).toEqual(["HeartbeatFailed ClusterRegistration/east ×2"]);
  });

  test("only one of two controllers records the Event of a failed cluster", async () => {
    const { client, clusters, controller, rest, pass } = await given();
    await client.create(registrations, aRegistration("east"));
    await Promise.all([controller().start(), controller().start()]);
    await rest();
    clusters.get("east")?.makeBroken();
    await pass(300_000);
    expect(await eventsIn(client)).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
  });

  test("the Event of a failed cluster is written only to its own tenant's workspace through an export", async () => {
    const { tenants, clusters, settled, pass } = await given({ workspaces: ["root:one", "root:two"] });
    const [one = "", two = ""] = tenants.clusters;
    await tenants.at(one).create(registrations, aRegistration("east"));
    await settled(allTenants);
    clusters.get("east")?.makeBroken();
    await pass(180_000);
    expect(await eventsIn(tenants.at(one))).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
    expect(await eventsIn(tenants.at(two))).toEqual([]);
  });

  test("the Event of a failed cluster is written to a plain Kubernetes upstream", async () => {
    const on = await given();
    const hub = await plainHub(on);
    await hub.create(registrations, aRegistration("east"));
    await on.settled({ client: hub, workspaces: undefined });
    on.clusters.get("east")?.makeBroken();
    await on.pass(180_000);
    expect(await eventsIn(hub)).toEqual(["HeartbeatFailed ClusterRegistration/east ×1"]);
  });

  test("a failed cluster becomes not Ready even if Events are forbidden", async () => {
    const { tenants, client, clusters, settled, pass, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    const controller = await settled();
    const refusal = tenants.kcp.faults.inject({
      match: { verb: "create", resource: "events" },
      effect: { kind: "status", code: 403 },
    });
    clusters.get("east")?.makeBroken();
    await pass(300_000);
    expect(refusal.hits).toBe(1);
    expect(readyOf(await registration("east"))).toBe("False ClusterUnhealthy");
    expect(controller.queue).toMatchObject({ failing: 0 });
    expect(controller.queue.deadLetters()).toEqual([]);
  });
});

test("a healthy cluster causes no Events", async () => {
  const { tenants, client, settled, pass } = await given();
  await client.create(registrations, aRegistration("east"));
  const tried = tenants.kcp.faults.inject({ match: { resource: "events" }, effect: { kind: "delay", ms: 0 } });
  await settled();
  await pass(600_000);
  expect(tried.hits).toBe(0);
  expect(await eventsIn(client)).toEqual([]);
});

describe("a dead letter", () => {
  test("a dead letter is recorded as an Event of its object without secrets, and not for every retry", async () => {
    const { client, controller: aController, pass } = await given();
    await client.create(registrations, aRegistration("east"));
    const broken = {
      find: () => Promise.reject(new TypeError("cannot read 'x', token=s3cr3t")),
      invalidate: () => {},
    };
    const controller = aController({ operatorCredentials: broken });
    await controller.start();
    await pass(300_000);
    expect(controller.queue.deadLetters()).toHaveLength(1);
    expect(await eventsIn(client)).toEqual(["ControllerError ClusterRegistration/east ×1"]);
    const { items } = await client.list<KubeObject>({ type: events, namespace: "default" });
    expect(items[0]?.message).toBe(
      "TMC stopped retrying until the object changes or is resynced: TypeError: cannot read 'x', token=[redacted]",
    );
  });
});

describe("a controller that starts", () => {
  const announcedAs = "tmc 1.2.3";
  const again = async (on: ControllerEnvironment, options: Partial<ControllerOptions>): Promise<void> => {
    for (let times = 0; times < 2; times++) {
      const controller = await on.settled({ ...options, announcedAs });
      await controller.stop();
    }
  };

  test("each start of a controller increments one Event in every configured workspace", async () => {
    const on = await given({ workspaces: ["root:one", "root:two"] });
    await again(on, {});
    for (const cluster of on.tenants.clusters) {
      expect(await eventsIn(on.tenants.at(cluster))).toEqual(["ControllerStarted LogicalCluster/cluster ×2"]);
    }
    const { items } = await on.client.list<KubeObject>({ type: events, namespace: "default" });
    expect(items[0]).toMatchObject({
      type: "Normal",
      message: "tmc 1.2.3 has started and reconciles this workspace",
      involvedObject: { uid: expect.stringMatching(/./) },
    });
  });

  test("the start of a controller is recorded beside the export, and in no tenant's workspace", async () => {
    const on = await given({ workspaces: ["root:one", "root:two"] });
    await again(on, allTenants);
    const provider = on.tenants.client.at(`/clusters/${exportWorkspace}`);
    expect(await eventsIn(provider)).toContain(`ControllerStarted APIExport/${exportName} ×2`);
    for (const cluster of on.tenants.clusters) expect(await eventsIn(on.tenants.at(cluster))).toEqual([]);
  });

  test("the start of a controller is recorded on a plain Kubernetes upstream beside its CRDs", async () => {
    const on = await given();
    const hub = await plainHub(on);
    await again(on, { client: hub, workspaces: undefined });
    expect(await eventsIn(hub)).toEqual([
      "ControllerStarted CustomResourceDefinition/clusterregistrations.tmc.kcp.io ×2",
    ]);
  });

  test("the start writes only its Event if nothing has changed, and does not fail if Events are forbidden", async () => {
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
