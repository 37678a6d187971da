import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { hubIdAnnotation } from "../../../lib/sync/ownership/record.ts";
import { ensureHubIdentity, type HubPart, hubRecordAddress } from "../../../lib/upstream/hub-record.ts";
import { startTenants, type Tenants } from "./tenants.ts";

const syncRecords: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };
const both: HubPart = { workspaces: ["root:demo", "root:other"] };

let tenants: Tenants;
beforeEach(async () => {
  tenants = await startTenants(["root:demo", "root:other"]);
});
afterEach(() => tenants.stop());

const identify = (part: HubPart = both, client: KubeClient = tenants.client): Promise<string> =>
  ensureHubIdentity({ client, part });
const stored = async (cluster = tenants.clusters[0] ?? ""): Promise<KubeObject["data"]> =>
  (await tenants.at(cluster).get<KubeObject>(hubRecordAddress)).data;
/** The same kcp, under another address, as a copy that was restored from its backup. */
const copyOfHub = (): KubeClient =>
  createKubeClient({ endpoint: { server: "https://staging.example.com" }, transport: tenants.kcp.transport() });

async function addSyncRecord(annotations?: Readonly<Record<string, string>>): Promise<void> {
  const workload = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "u" };
  await tenants.at(tenants.clusters[1] ?? "").create(
    { type: syncRecords, namespace: "default" },
    {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "WorkloadSync",
      metadata: { name: `web-${annotations === undefined ? "old" : "new"}`, ...(annotations && { annotations }) },
      spec: { workload },
    },
  );
}

describe("the identity of a hub", () => {
  it("processes that start at the same time store one identity, which later processes read", async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => identify()));
    expect(new Set(ids).size).toBe(1);
    expect(await stored()).toMatchObject({ id: ids[0] });
    const writes = tenants.kcp.faults.inject({ match: { verb: "create" }, effect: { kind: "delay", ms: 0 } });
    expect([await identify(), writes.hits]).toEqual([ids[0], 0]);
  });

  it("workspaces of one kcp have the same id, and another kcp has another one", async () => {
    const other = await startTenants(["root:demo"]);
    const ids = await Promise.all([
      identify({ workspaces: ["root:demo"] }),
      identify({ workspaces: ["root:other"] }),
      ensureHubIdentity({ client: other.client, part: { workspaces: ["root:demo"] } }),
    ]);
    await other.stop();
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it("without access to the root workspace, the id comes from the workspace itself", async () => {
    tenants.kcp.faults.inject({ match: { logicalCluster: "root" }, effect: { kind: "status", code: 403 } });
    const [one, other] = [
      await identify({ workspaces: ["root:demo"] }),
      await identify({ workspaces: ["root:other"] }),
    ];
    expect(one).not.toBe(other);
    expect(await identify({ workspaces: ["root:demo"] })).toBe(one);
  });

  it("a hub whose sync records name no id keeps the id that its copies carry", async () => {
    await addSyncRecord();
    expect(await identify()).toBe("kcp");
  });

  it("a deleted record is restored from the sync records", async () => {
    await addSyncRecord({ [hubIdAnnotation]: "given-id" });
    expect(await identify()).toBe("given-id");
  });

  it("sync records with several ids are a refusal", async () => {
    await addSyncRecord();
    await addSyncRecord({ [hubIdAnnotation]: "given-id" });
    await expect(identify()).rejects.toThrow(/HubIdentityUnknown: .*several ids.*--hub-id/);
  });

  it("a restored copy of a hub is refused, and nothing is written", async () => {
    await identify();
    const before = await stored();
    await expect(identify(both, copyOfHub())).rejects.toThrow(
      /^hub identity: HubIdentityChanged: .*https:\/\/staging\.example\.com; .*"tmc hub accept-identity".*"tmc hub new-identity"$/,
    );
    expect(await stored()).toEqual(before);
  });

  it("a record that was copied from another workspace is refused", async () => {
    await identify({ workspaces: ["root:demo"] });
    await identify({ workspaces: ["root:other"] });
    const data = await stored();
    await tenants.at(tenants.clusters[1] ?? "").patch(hubRecordAddress, { type: "merge", body: { data } });
    await expect(identify({ workspaces: ["root:other"] })).rejects.toThrow("HubIdentityChanged");
  });

  it("a record that cannot be parsed is refused", async () => {
    await identify();
    const body = { data: { id: "Not An Id" } };
    await tenants.at(tenants.clusters[0] ?? "").patch(hubRecordAddress, { type: "merge", body });
    await expect(identify()).rejects.toThrow("HubIdentityUnknown");
  });

  it.each(["get", "create"])("a user who may not %s the record is refused, with the remedy", async (verb) => {
    tenants.kcp.faults.inject({ match: { verb, resource: "configmaps" }, effect: { kind: "status", code: 403 } });
    await expect(identify()).rejects.toThrow(/^hub identity: HubIdentityUnknown: cannot .*403.*"tmc .*--hub-id/);
  });

  it("an unreachable hub is not a refusal", async () => {
    tenants.kcp.faults.inject({ match: { resource: "configmaps" }, effect: { kind: "status", code: 503 } });
    await expect(identify()).rejects.toMatchObject({ fault: "unreachable" });
  });

  it("with an export, only tmc bootstrap stores the identity", async () => {
    const part = { workspaces: undefined, apiExport: { path: exportWorkspace, name: exportName } };
    await expect(identify(part)).rejects.toThrow(/HubIdentityUnknown: root:tmc has no record.*"tmc bootstrap"/);
  });
});
