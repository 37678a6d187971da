import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, describe, expect, test } from "vitest";
import {
  assertSourcesSupported,
  type ControllerSources,
  onlyRegistrations,
} from "../../../lib/controller/cluster-sources.ts";
import type { ControllerOptions } from "../../../lib/controller/parts.ts";
import { createHealthChecks } from "../../../lib/observe/health.ts";
import { createLog } from "../../../lib/observe/log.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import {
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  type SourceKind,
  type SourceType,
  syncTargets,
} from "../../../lib/sources/source-kinds.ts";
import { crds, eventuallyOk, namespaces, secrets } from "../../contract/resources.ts";
import {
  type ControllerEnvironment,
  readyOf,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import {
  controlPlaneDefinition,
  controlPlaneRegistrationDefinition,
  endpointDefinition,
  syncTargetDefinition,
} from "../sources/definitions.ts";
import { aSyncTarget } from "../sources/objects.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const { maybeNamespaced: _, ...targetType } = syncTargets;
const targets = { type: targetType };

let stage: ControllerEnvironment | undefined;
afterEach(async () => {
  await stage?.stop();
  stage = undefined;
});

/** An environment whose workspace serves SyncTargets. */
async function given(): Promise<ControllerEnvironment> {
  stage = await startControllerEnvironment();
  const { client, clock } = stage;
  await client.create({ type: crds }, syncTargetDefinition);
  const turning = setInterval(() => clock.advance(10), 1);
  await eventuallyOk(() => client.list(targets));
  clearInterval(turning);
  return stage;
}

const from = (...sources: readonly SourceKind[]): Partial<ControllerOptions> => ({
  clusterSources: { sources, namespaces: undefined, template: undefined },
});
const both = from("clusterregistration", "synctarget");
const target = (name: string, spec: object = {}) => {
  const { uid: __, creationTimestamp: ___, ...metadata } = aSyncTarget(name).metadata;
  return { ...aSyncTarget(name, { spec }), metadata };
};
const selected = async ({ placement }: ControllerEnvironment, name: string) =>
  statusOf(await placement(name)).selectedClusters;

/** A client whose lists of SyncTargets are empty while `isHiding` is set, as a server's lists may be for a moment. */
function hidingTargets(client: KubeClient, lists: { hidden: number; isHiding: boolean }): KubeClient {
  const list: KubeClient["list"] = async (collection, options) => {
    const page = await client.list<never>(collection, options);
    if (!lists.isHiding || collection.type.plural !== targetType.plural) return page;
    lists.hidden += page.items.length;
    return { ...page, items: [] };
  };
  return { ...client, list, at: (path) => hidingTargets(client.at(path), lists) };
}

describe("SyncTargets beside registrations", () => {
  test("SyncTargets are probed, report their state in their own status, and are selected by placements", async () => {
    const on = await given();
    await on.client.create(registrations, aRegistration("east"));
    await on.client.create(targets, target("west"));
    await on.client.create(targets, target("nowhere"));
    await on.client.create(placements, aPlacement("web", { strategy: "Spread" }));
    await on.settled(both);
    const west = await on.client.get({ ...targets, name: "west" });
    expect(readyOf(west)).toBe("True ClusterReady");
    expect(statusOf(west)).toMatchObject({ lastSyncerHeartbeatTime: expect.any(String) });
    expect(west.metadata.finalizers).toBeUndefined();
    expect(readyOf(await on.client.get({ ...targets, name: "nowhere" }))).toBe("False ClusterNotConfigured");
    expect(await selected(on, "web")).toEqual(["east", "west"]);
    expect(statusOf(await on.placement("web")).decisions).toHaveLength(3);
  });

  test("new and deleted SyncTargets are reflected in placements", async () => {
    const on = await given();
    await on.client.create(registrations, aRegistration("east"));
    await on.client.create(placements, aPlacement("web", { strategy: "Spread" }));
    await on.settled(both);
    expect(await selected(on, "web")).toEqual(["east"]);
    await on.client.create(targets, target("west"));
    await on.rest();
    expect(await selected(on, "web")).toEqual(["east", "west"]);
    await on.client.delete({ ...targets, name: "west" });
    await on.rest();
    expect(await selected(on, "web")).toEqual(["east"]);
  });

  test("a SyncTarget that stops responding is not Ready after three probes, like a registration", async () => {
    const on = await given();
    await on.client.create(targets, target("west"));
    await on.settled(both);
    on.clusters.get("west")?.makeBroken();
    await on.pass(40_000);
    expect(readyOf(await on.client.get({ ...targets, name: "west" }))).toBe("True ClusterReady");
    await on.pass(80_000);
    expect(readyOf(await on.client.get({ ...targets, name: "west" }))).toBe("False ClusterUnhealthy");
    on.clusters.get("west")?.recover();
    await on.pass(90_000);
    expect(readyOf(await on.client.get({ ...targets, name: "west" }))).toBe("True ClusterReady");
  });

  test("an idle SyncTarget is written once a minute, and its placements never", async () => {
    const on = await given();
    await on.client.create(targets, target("west"));
    await on.client.create(placements, aPlacement("web"));
    await on.settled(both);
    const writes = on.count();
    await on.pass(300_000);
    expect(writes()).toBeLessThanOrEqual(6);
    expect(writes()).toBeGreaterThanOrEqual(4);
  });

  test("SyncTargets keep their placements over a long restart, including those that need detected capabilities", async () => {
    const on = await given();
    await on.client.create(registrations, aRegistration("east"));
    await on.client.create(targets, target("west"));
    const needs = { capabilityRequirements: [{ type: "compute", required: true }] };
    await on.client.create(placements, aPlacement("api", { strategy: "Spread", ...needs }));
    const first = await on.settled(both);
    const turning = setInterval(() => on.clock.advance(1_000), 1);
    await first.stop();
    clearInterval(turning);
    on.clock.advance(3_600_000);
    const before = await on.placement("api");
    await on.settled(both);
    const after = await on.placement("api");
    expect(statusOf(after).selectedClusters).toEqual(["east", "west"]);
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test("a registration replaces the SyncTarget of the same name until the registration is deleted", async () => {
    const on = await given();
    await on.client.create(targets, target("west", { unschedulable: true }));
    await on.client.create(placements, aPlacement("web"));
    await on.settled(both);
    expect(await selected(on, "web")).toEqual([]);
    await on.client.create(registrations, aRegistration("west"));
    await on.rest();
    expect(await selected(on, "web")).toEqual(["west"]);
    await on.client.delete({ ...registrations, name: "west" });
    await on.pass(60_000);
    await expect(on.registration("west")).rejects.toMatchObject({ status: 404 });
    expect(await selected(on, "web")).toEqual([]);
  });

  test("a SyncTarget that is missing in a list is read before it counts as deleted", async () => {
    const on = await given();
    await on.client.create(targets, target("west"));
    await on.client.create(placements, aPlacement("web"));
    const lists = { hidden: 0, isHiding: false };
    const settings = { relistSeconds: 30, heartbeatSeconds: 3_600, resyncSeconds: 3_600 };
    await on.settled({ ...both, settings, client: hidingTargets(on.tenants.client, lists) });
    lists.isHiding = true;
    await on.pass(120_000);
    expect(lists.hidden).toBeGreaterThan(0);
    expect(await selected(on, "web")).toEqual(["west"]);
    await on.client.delete({ ...targets, name: "west" });
    await on.rest();
    expect(await selected(on, "web")).toEqual([]);
  });

  test("a forbidden status write to a SyncTarget is logged and does not change decisions", async () => {
    const on = await given();
    await on.client.create(targets, target("west"));
    await on.client.create(placements, aPlacement("web"));
    on.tenants.kcp.faults.inject({
      match: { verb: "patch", resource: "synctargets" },
      effect: { kind: "status", code: 403 },
    });
    const lines: string[] = [];
    const log = createLog({ level: 2, write: (line) => lines.push(line), clock: on.clock });
    await on.settled({ ...both, log });
    expect(await selected(on, "web")).toEqual(["west"]);
    expect(lines.join("")).toContain("cluster status refused");
  });
});

test("no placement is decided in a workspace that does not serve a cluster source, and health says how to fix it", async () => {
  stage = await startControllerEnvironment();
  const { client, controller, rest, pass, placement } = stage;
  await client.create(registrations, aRegistration("east"));
  await client.create(placements, aPlacement("web"));
  const health = createHealthChecks({ clock: createManualClock() });
  await controller({ ...both, health }).start();
  await rest();
  await pass(60_000);
  expect(statusOf(await placement("web"))).toEqual({});
  const detail = health.report("ready").checks.find(({ name }) => name === "hub")?.detail;
  expect(detail).toContain("root:demo does not serve SyncTarget");
  expect(detail).toContain("remove --cluster-source synctarget");
});

const refused: Record<string, { reach: { isDirect: boolean; isAlone: boolean }; why: string }> = {
  "through an export": { reach: { isDirect: false, isAlone: true }, why: "an export shows only its own kinds" },
  "with several controllers": {
    reach: { isDirect: true, isAlone: false },
    why: "their status is kept in the memory of one process",
  },
};
test.each(Object.entries(refused))("other cluster sources are rejected %s", (__, { reach, why }) => {
  const sources: ControllerSources = { sources: ["synctarget"], namespaces: undefined, template: undefined };
  expect(() => assertSourcesSupported(sources, reach)).toThrow(`cluster sources synctarget: ${why}`);
  expect(() => assertSourcesSupported(onlyRegistrations, reach)).not.toThrow();
});

/** Creates a Secret with the kubeconfig of a cluster. */
async function putKubeconfig(
  { client, clusters }: ControllerEnvironment,
  to: string,
  namespace: string,
  name: string,
): Promise<void> {
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await client.patch({ type: namespaces, name: namespace }, { type: "apply", body }, { fieldManager: "test" });
  const token = clusters.get(to)?.adminToken;
  const endpoint = { server: `https://${to}.example` };
  const kubeconfig = formatKubeconfig({ contexts: [{ name: "c", endpoint, token }] });
  const data = { kubeconfig: Buffer.from(kubeconfig).toString("base64") };
  await client.create({ type: secrets, namespace }, { apiVersion: "v1", kind: "Secret", metadata: { name }, data });
}

test("the secret template finds the Secret of a cluster without credentials, and a new Secret is used at once", async () => {
  stage = await startControllerEnvironment();
  const { client, settled, rest, registration } = stage;
  const template = parseSecretTemplate("clusters/{name}-kubeconfig");
  await putKubeconfig(stage, "east", "clusters", "east-kubeconfig");
  await client.create(registrations, aRegistration("east"));
  await client.create(registrations, aRegistration("west"));
  await settled({ clusterSources: { sources: ["clusterregistration"], namespaces: undefined, template } });
  expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  expect(readyOf(await registration("west"))).toBe("False ClusterNotConfigured");
  expect(statusOf(await registration("west"))).toMatchObject({
    conditions: [{ message: "secret clusters/west-kubeconfig does not exist" }],
  });
  expect((await registration("east")).spec).not.toHaveProperty("credentials");
  await putKubeconfig(stage, "west", "clusters", "west-kubeconfig");
  await rest();
  expect(readyOf(await registration("west"))).toBe("True ClusterReady");
});

describe("control planes", () => {
  const kplane = "controlplane.kplane.dev/v1alpha1";
  const typeOf = ({ maybeNamespaced: __, ...type }: SourceType) => type;
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: kplane,
    kind,
    metadata: { name },
    spec,
  });

  test("a ControlPlaneRegistration in the namespace scope is selected once its endpoint is known, and is not written to", async () => {
    stage = await startControllerEnvironment();
    const on = stage;
    const { client, clock } = on;
    for (const body of [
      controlPlaneDefinition,
      controlPlaneRegistrationDefinition("Namespaced"),
      endpointDefinition("Namespaced"),
    ]) {
      await client.create({ type: crds }, body);
    }
    const turning = setInterval(() => clock.advance(10), 1);
    for (const type of [controlPlanes, controlPlaneRegistrations, controlPlaneEndpoints]) {
      await eventuallyOk(() => client.list({ type: typeOf(type) }));
    }
    clearInterval(turning);
    await putKubeconfig(on, "east", "kplane-cp-east", "controlplane-east-kubeconfig");
    for (const name of ["team-a", "team-b"]) {
      await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    await client.create(
      { type: typeOf(controlPlanes) },
      object("ControlPlane", "east", { endpointRef: { name: "gate" } }),
    );
    const secret = { name: "controlplane-east-kubeconfig", namespace: "kplane-cp-east" };
    await client.patch(
      { type: typeOf(controlPlanes), name: "east" },
      { type: "merge", body: { status: { kubeconfigSecretRef: secret } } },
      { subresource: "status" },
    );
    for (const [namespace, name] of [
      ["team-a", "east"],
      ["team-b", "west"],
    ] as const) {
      const body = object("ControlPlaneRegistration", name, { controlPlaneRef: { name: "east" } });
      await client.create({ type: typeOf(controlPlaneRegistrations), namespace }, body);
    }
    await client.create(placements, aPlacement("web"));
    await on.settled({
      clusterSources: { sources: ["controlplaneregistration"], namespaces: ["team-a"], template: undefined },
    });
    expect(statusOf(await on.placement("web")).decisions).toHaveLength(1);
    expect(await selected(on, "web")).toEqual([]);
    const gate = object("ControlPlaneEndpoint", "gate", { endpoint: "https://gate.example" });
    await client.create({ type: typeOf(controlPlaneEndpoints), namespace: "team-a" }, gate);
    await on.rest();
    expect(await selected(on, "web")).toEqual(["east"]);
    const east = { type: typeOf(controlPlaneRegistrations), namespace: "team-a", name: "east" };
    expect((await client.get<KubeObject>(east)).status).toBeUndefined();
  });
});

test("registrations are ignored if SyncTargets are the only cluster source", async () => {
  const on = await given();
  await on.client.create(registrations, aRegistration("east"));
  await on.client.create(targets, target("west"));
  await on.client.create(placements, aPlacement("web", { strategy: "Spread" }));
  await on.settled(from("synctarget"));
  expect(await selected(on, "web")).toEqual(["west"]);
  expect(statusOf(await on.registration("east"))).toEqual({});
});
