import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterEach, describe, expect, test } from "vitest";
import { credentialsSecretType } from "../../../lib/api/condition.ts";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import type { ControllerOptions } from "../../../lib/controller/parts.ts";
import { createHealthChecks } from "../../../lib/observe/health.ts";
import { apiBindings } from "../../../lib/upstream/kcp-types.ts";
import {
  type ControllerEnvironment,
  type ControllerEnvironmentOptions,
  readyOf,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const stages: ControllerEnvironment[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

async function given(options?: ControllerEnvironmentOptions): Promise<ControllerEnvironment> {
  const stage = await startControllerEnvironment(options);
  stages.push(stage);
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

const teams = (count: number): string[] => Array.from({ length: count }, (_, at) => `root:team-${at}`);

describe("a controller over all tenants of an export", () => {
  test("a controller of an export reconciles every tenant in its logical cluster, and health has their number", async () => {
    const stage = await given({ workspaces: teams(3) });
    const { tenants, settled, clock } = stage;
    for (const cluster of tenants.clusters) {
      await tenants.at(cluster).create(registrations, aRegistration("east"));
      await tenants.at(cluster).create(placements, aPlacement("web"));
    }
    const health = createHealthChecks({ clock });
    const controller = await settled({ ...allTenants, health });
    for (const cluster of tenants.clusters) {
      expect(readyOf(await tenants.at(cluster).get({ ...registrations, name: "east" }))).toBe("True ClusterReady");
      const placement = await tenants.at(cluster).get({ ...placements, name: "web" });
      expect(statusOf(placement).selectedClusters).toEqual(["east"]);
    }
    expect(controller.logicalClusters.map(({ name }) => name).toSorted()).toEqual(tenants.clusters.toSorted());
    const checks = Object.fromEntries(health.report("ready").checks.map(({ name, detail }) => [name, detail]));
    expect(checks).toMatchObject({ tenants: "1 endpoint, 3 tenants", workspaces: "root:tmc:tmc.kcp.io" });
    expect(checks).toHaveProperty("TMCAPIExportConfigured");
  });

  test("changes of one tenant cause no request in the logical cluster of another", async () => {
    const stage = await given({ workspaces: teams(2) });
    const { tenants, settled, rest } = stage;
    const [one = "", two = ""] = tenants.clusters;
    await settled(allTenants);
    const inTwo = tenants.kcp.faults.inject({ match: { logicalCluster: two }, effect: { kind: "delay", ms: 0 } });
    const inOne = tenants.kcp.faults.inject({ match: { logicalCluster: one }, effect: { kind: "delay", ms: 0 } });
    await tenants.at(one).create(registrations, aRegistration("east"));
    await tenants.at(one).create(placements, aPlacement("web"));
    await rest();
    await stage.pass(3_000);
    expect(inOne.hits).toBeGreaterThan(3);
    expect(inTwo.hits).toBe(0);
  });

  test("a tenant that binds later is served, and the state of a tenant that unbinds is dropped without failures", async () => {
    const stage = await given({ workspaces: teams(2) });
    const { tenants, settled, pass, rest, clock } = stage;
    const [one = "", two = ""] = tenants.clusters;
    const controller = await settled(allTenants);
    const turning = setInterval(() => clock.advance(0), 1);
    const late = await tenants.bind("root:late");
    clearInterval(turning);
    for (const cluster of [one, late]) await tenants.at(cluster).create(registrations, aRegistration("east"));
    await pass(6_000);
    expect(readyOf(await tenants.at(late).get({ ...registrations, name: "east" }))).toBe("True ClusterReady");

    await tenants.at(one).delete({ type: apiBindings, name: "tmc-binding" });
    await pass(6_000);
    expect(controller.logicalClusters.map(({ name }) => name).toSorted()).toEqual([two, late].toSorted());
    expect(controller.cache.logicalClusters()).not.toContain(one);
    // Late keys end without a request or a retry.
    await controller.reconcile({ logicalCluster: one, kind: "ClusterRegistration", name: "east" });
    const inOne = tenants.kcp.faults.inject({ match: { logicalCluster: one }, effect: { kind: "delay", ms: 0 } });
    await rest();
    await pass(120_000, 10_000);
    expect(inOne.hits).toBe(0);
    expect(controller.queue.failing).toBe(0);
  });

  test("a controller of an export continues while the provider's workspace cannot be read", async () => {
    const stage = await given({ workspaces: teams(1) });
    const { tenants, settled, pass, client } = stage;
    await settled(allTenants);
    const slices = { resource: "apiexportendpointslices" };
    tenants.kcp.faults.inject({ match: slices, effect: { kind: "status", code: 503 } });
    tenants.kcp.faults.cutWatches(slices);
    await client.create(registrations, aRegistration("east"));
    await pass(200_000, 10_000);
    expect(readyOf(await stage.registration("east"))).toBe("True ClusterReady");
  });

  test("a permission claim that the tenant has not accepted is reported until it is accepted", async () => {
    const stage = await given({ workspaces: teams(1) });
    const { tenants, settled, pass, client } = stage;
    const binding = { type: apiBindings, name: "tmc-binding" };
    const accept = async (state: "Accepted" | "Rejected"): Promise<void> => {
      const { spec } = await client.get<{ spec: { permissionClaims: object[] } }>(binding);
      const permissionClaims = spec.permissionClaims.map((claim) => ({ ...claim, state }));
      await client.patch(binding, { type: "merge", body: { spec: { permissionClaims } } });
      tenants.kcp.settle();
    };
    const endpoint = { server: "https://east.example.com" };
    const token = stage.clusters.get("east")?.adminToken ?? "";
    const kubeconfig = formatKubeconfig({ contexts: [{ name: "east", endpoint, token }] });
    const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      type: credentialsSecretType,
      metadata: { name: "east" },
      stringData: { kubeconfig },
    };
    await client.create(secrets, secret);
    await accept("Rejected");
    const credentials = { secretRef: { namespace: "default", name: "east" } };
    await client.create(registrations, aRegistration("east", { credentials }));
    const controller = await settled(allTenants);
    const refused = await stage.registration("east");
    expect(readyOf(refused)).toBe("False PermissionClaimNotAccepted");
    expect(JSON.stringify(refused)).toContain("accept it there in spec.permissionClaims");
    expect(controller.queue.failing).toBe(0);

    await accept("Accepted");
    await pass(3_000);
    expect(readyOf(await stage.registration("east"))).toBe("True ClusterReady");
  });

  test("a controller of an export writes as often as a controller of named workspaces", async () => {
    const writesOf = async (options: Partial<ControllerOptions>): Promise<number> => {
      const stage = await given({ workspaces: teams(3) });
      for (const cluster of stage.tenants.clusters) {
        await stage.tenants.at(cluster).create(registrations, aRegistration("east"));
        await stage.tenants.at(cluster).create(placements, aPlacement("web"));
      }
      const writes = stage.count();
      await stage.settled(options);
      return writes();
    };
    expect(await writesOf(allTenants)).toBe(await writesOf({}));
  });

  test("the start fails with one line that names the missing workspace of an export", async () => {
    const { controller } = await given();
    const elsewhere = { path: "root:nowhere", name: exportName };
    const openEndpoint = allTenants.apiExport?.openEndpoint ?? (() => Promise.reject(new Error("none")));
    const made = controller({ ...allTenants, apiExport: { address: elsewhere, openEndpoint } });
    await expect(made.start()).rejects.toThrow(
      'export "root:nowhere:tmc.kcp.io": there is no such workspace, or we have no access to it',
    );
  });
});
