import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { bindingName } from "../../../../lib/api/group.ts";
import {
  createBindingReader,
  observedBindingOf,
  readBindingsThroughExport,
} from "../../../../lib/upstream/export/bindings.ts";
import type { ApiBinding } from "../../../../lib/upstream/kcp-types.ts";
import { tokenOfNewAccount } from "../../../contract/resources.ts";
import { startTenants, type Tenants } from "../tenants.ts";

const signal = new AbortController().signal;
const aBinding = (status: ApiBinding["status"], metadata: object = {}): ApiBinding => ({
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIBinding",
  metadata: { name: "db", ...metadata },
  ...(status && { status }),
});

const judged: Record<string, { binding: ApiBinding; gives: object }> = {
  bound: { binding: aBinding({ phase: "Bound" }), gives: { isBound: true } },
  "without a phase": { binding: aBinding({}), gives: { isBound: false, error: "kcp has not reconciled it yet" } },
  "still being bound": {
    binding: aBinding({ phase: "Binding" }),
    gives: { isBound: false, error: "its phase is Binding" },
  },
  "without its export": {
    binding: aBinding({
      phase: "Binding",
      conditions: [
        {
          type: "APIExportValid",
          status: "False",
          reason: "APIExportNotFound",
          message: "APIExport root:db not found",
        },
        { type: "Ready", status: "True" },
      ],
    }),
    gives: { isBound: false, error: "APIExportValid: APIExportNotFound: APIExport root:db not found" },
  },
  "being deleted": {
    binding: aBinding({ phase: "Bound" }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    gives: { isBound: false, error: "it is being deleted" },
  },
};
test.each(Object.entries(judged))("observedBindingOf reports a binding that is %s", (_, { binding, gives }) => {
  expect(observedBindingOf("db", binding)).toEqual({ name: "db", ...gives });
});

describe("createBindingReader", () => {
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await startTenants();
  });
  afterAll(() => tenants.stop());

  it("createBindingReader reads bindings by name, and reports a missing one", async () => {
    const [cluster = ""] = tenants.clusters;
    const read = createBindingReader(tenants.client);
    expect(await read({ logicalCluster: cluster, names: [bindingName, "nope"] }, signal)).toEqual([
      { name: bindingName, isBound: true },
      { name: "nope", isBound: false, error: "there is no such APIBinding" },
    ]);
  });
  it("createBindingReader reports that bindings are forbidden", async () => {
    const [cluster = ""] = tenants.clusters;
    const token = await tokenOfNewAccount(tenants.at(cluster), "default", "nobody");
    const client = createKubeClient({
      endpoint: { server: tenants.kcp.url },
      transport: tenants.kcp.transport(token),
    });
    expect(await createBindingReader(client)({ logicalCluster: cluster, names: ["db"] }, signal)).toEqual([
      { name: "db", isBound: undefined, error: "TMC may not read APIBindings there" },
    ]);
  });
  it("createBindingReader fails as unreachable while kcp is unreachable", async () => {
    const [cluster = ""] = tenants.clusters;
    const fault = tenants.kcp.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    const reading = createBindingReader(tenants.client)({ logicalCluster: cluster, names: ["db"] }, signal);
    await expect(reading).rejects.toMatchObject({ fault: "unreachable" });
    fault.remove();
  });
});

test("createBindingReader reports that a plain cluster serves no bindings", async () => {
  const hub = await startEmbeddedCluster({ name: "hub", listen: false, nodes: 0 });
  const client = createKubeClient({ endpoint: { server: hub.url }, transport: hub.transport() });
  expect(await createBindingReader(client)({ logicalCluster: "", names: ["db"] }, signal)).toEqual([
    { name: "db", isBound: undefined, error: "no APIBindings are served there" },
  ]);
  await hub.stop();
});

test("readBindingsThroughExport reports that other bindings cannot be read", async () => {
  expect(await readBindingsThroughExport({ logicalCluster: "abc", names: ["db"] }, signal)).toEqual([
    { name: "db", isBound: undefined, error: "TMC cannot read other APIBindings through its APIExport" },
  ]);
});
