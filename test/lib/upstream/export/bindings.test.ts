import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { bindingName } from "../../../../lib/api/group.ts";
import { createBindingReader, judgeBinding, unseenThroughExport } from "../../../../lib/upstream/export/bindings.ts";
import type { ApiBinding } from "../../../../lib/upstream/kcp-types.ts";
import { tokenOfNewAccount } from "../../../contract/vocabulary.ts";
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
  "not looked at": { binding: aBinding({}), gives: { isBound: false, why: "kcp has not looked at it yet" } },
  "on its way": { binding: aBinding({ phase: "Binding" }), gives: { isBound: false, why: "its phase is Binding" } },
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
    gives: { isBound: false, why: "APIExportValid: APIExportNotFound: APIExport root:db not found" },
  },
  leaving: {
    binding: aBinding({ phase: "Bound" }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    gives: { isBound: false, why: "it is being deleted" },
  },
};
test.each(Object.entries(judged))("a binding that is %s", (_, { binding, gives }) => {
  expect(judgeBinding("db", binding)).toEqual({ name: "db", ...gives });
});

describe("bindings of a workspace that is reached directly", () => {
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await startTenants();
  });
  afterAll(() => tenants.stop());

  it("are seen by their names, and so is that there is none", async () => {
    const [cluster = ""] = tenants.clusters;
    const read = createBindingReader(tenants.client);
    expect(await read({ logicalCluster: cluster, names: [bindingName, "nope"] }, signal)).toEqual([
      { name: bindingName, isBound: true },
      { name: "nope", isBound: false, why: "there is no such APIBinding" },
    ]);
  });
  it("may be closed to us, which is an answer", async () => {
    const [cluster = ""] = tenants.clusters;
    const token = await tokenOfNewAccount(tenants.at(cluster), "default", "nobody");
    const client = createKubeClient({
      endpoint: { server: tenants.kcp.url },
      transport: tenants.kcp.transport(token),
    });
    expect(await createBindingReader(client)({ logicalCluster: cluster, names: ["db"] }, signal)).toEqual([
      { name: "db", isBound: undefined, why: "TMC may not read APIBindings there" },
    ]);
  });
  it("are trouble while the hub cannot be asked, and nothing else", async () => {
    const [cluster = ""] = tenants.clusters;
    const fault = tenants.kcp.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    const reading = createBindingReader(tenants.client)({ logicalCluster: cluster, names: ["db"] }, signal);
    await expect(reading).rejects.toMatchObject({ fault: "unreachable" });
    fault.remove();
  });
});

test("a plain cluster has none", async () => {
  const hub = await startEmbeddedCluster({ name: "hub", listen: false, nodes: 0 });
  const client = createKubeClient({ endpoint: { server: hub.url }, transport: hub.transport() });
  expect(await createBindingReader(client)({ logicalCluster: "", names: ["db"] }, signal)).toEqual([
    { name: "db", isBound: undefined, why: "no APIBindings are served there" },
  ]);
  await hub.stop();
});

test("through an export none but its own is seen, so nothing is said of any", async () => {
  expect(await unseenThroughExport({ logicalCluster: "abc", names: ["db"] }, signal)).toEqual([
    { name: "db", isBound: undefined, why: "TMC sees no other bindings through its export" },
  ]);
});
