import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { afterEach, expect, test } from "vitest";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { ClaimNotAccepted } from "../../../lib/model/tenant-errors.ts";
import { createFreshWorkloadHub } from "../../../lib/upstream/fresh-workload-hub.ts";
import { startTenants, type Tenants } from "./tenants.ts";

let tenants: Tenants;
afterEach(() => tenants.stop());

const forEver = new AbortController().signal;
const aRecord = (name: string): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name }, clusters: ["east"] },
});

test("of two processes that write their sync records and then list uncached, the later one sees both writes", async () => {
  tenants = await startTenants();
  const [cluster = ""] = tenants.clusters;
  const open = () => createFreshWorkloadHub({ client: tenants.client, types: allWorkloadTypes(), clock: systemClock });
  const at = (name: string) => ({ logicalCluster: cluster, namespace: "default", name });
  const hubs = { one: open(), two: open() };
  const records = {
    one: await hubs.one.createRecord(at("one"), aRecord("one"), forEver),
    two: await hubs.two.createRecord(at("two"), aRecord("two"), forEver),
  };
  // Both have listed before in the same batch, so that a cached list would be outdated.
  for (const hub of Object.values(hubs)) expect(await hub.listRecords(cluster, forEver)).toHaveLength(2);
  const leave = (name: "one" | "two") => {
    const { metadata, spec } = records[name];
    return hubs[name].writeRecord(at(name), records[name], { metadata, spec: { ...spec, clusters: [] } }, forEver);
  };
  await leave("one");
  await leave("two");
  const seen = await hubs.two.listRecordsUncached(cluster, forEver);
  expect(seen.map(({ spec }) => spec.clusters ?? [])).toEqual([[], []]);
});

test("a type that the binding of a tenant does not offer has no objects, but a claim that is not accepted is an error", async () => {
  tenants = await startTenants();
  const [cluster = ""] = tenants.clusters;
  const rejecting = (client: KubeClient): KubeClient => ({
    ...client,
    at: (path) => rejecting(client.at(path)),
    list: async ({ type }) => {
      throw new ClaimNotAccepted(cluster, type.plural);
    },
  });
  const open = rejecting(tenants.client);
  const client: KubeClient = { ...open, metadata: open, at: (path) => ({ ...open.at(path), metadata: open }) };
  const hub = createFreshWorkloadHub({ client, types: allWorkloadTypes(), clock: systemClock });
  const typeOf = (plural: string) => {
    const found = allWorkloadTypes().find(({ type }) => type.plural === plural);
    if (found === undefined) throw new Error(`no ${plural}`);
    return found.type;
  };
  const unoffered = await hub.list(cluster, typeOf("statefulsets"), forEver).catch(String);
  expect(unoffered).toEqual([]);
  await expect(hub.list(cluster, typeOf("configmaps"), forEver)).rejects.toThrow("permission claim on configmaps");
  await expect(hub.listRecords(cluster, forEver)).rejects.toThrow("workloadsyncs");
});
