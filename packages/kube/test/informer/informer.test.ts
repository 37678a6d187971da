import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { RestoreOptions } from "@tmc/embedded/storage/store.ts";
import { expect, test, vi } from "vitest";
import { startInformer, storeHandler } from "../../src/informer/informer.ts";
import { createObjectStore } from "../../src/informer/object-store.ts";
import type { KubeObject } from "../../src/kube-object.ts";
import { createManualClock } from "../../src/manual-clock.ts";
import { createKubeClient } from "../../src/rest-client.ts";
import { informerContract } from "./informer-contract.ts";

informerContract("an embedded cluster", async () => {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false });
  const client = createKubeClient({ endpoint: cluster.endpoint(), transport: cluster.transport() });
  return {
    ...client,
    close: async () => {
      await client.close();
      await cluster.stop();
    },
  };
});

const ways: [string, RestoreOptions][] = [
  ["whose revisions went back", {}],
  ["with bumped revisions", { bumpRevision: 1_000_000_000 }],
];
test.each(ways)("an informer shows the state of a server that was restored from a backup, %s", async (_, options) => {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false });
  const client = createKubeClient({ endpoint: cluster.endpoint(), transport: cluster.transport() });
  const configMaps = { type: { group: "", version: "v1", plural: "configmaps" }, namespace: "default" };
  const put = (name: string, value: string) =>
    client.patch<KubeObject>(
      { ...configMaps, name },
      {
        type: "apply",
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value } },
        force: true,
      },
      { fieldManager: "test" },
    );
  const clock = createManualClock();
  const store = createObjectStore<KubeObject>({
    transform: (object) => object,
    versionOf: ({ metadata }) => metadata.resourceVersion,
    uidOf: ({ metadata }) => metadata.uid,
  });
  const informer = startInformer({ client, type: configMaps.type, clock, random: () => 0.5 }, storeHandler(store));
  const read = (name: string): unknown => {
    const data = store.get(`default/${name}`)?.data;
    return typeof data === "object" && data !== null && "value" in data ? data.value : undefined;
  };
  const soon = (check: () => void): Promise<void> =>
    vi.waitFor(() => {
      clock.advance(5_000);
      check();
    });
  try {
    await put("web", "old");
    await soon(() => expect(read("web")).toBe("old"));
    const backup = cluster.snapshot();
    await put("web", "new");
    await put("young", "new");
    await soon(() => expect([read("web"), read("young")]).toEqual(["new", "new"]));
    cluster.restore(backup, options);
    await soon(() => expect(read("web")).toBe("old"));
    expect(store.isStale("default/young")).toBe(true);
    await put("web", "newer");
    await soon(() => expect(read("web")).toBe("newer"));
  } finally {
    await informer.stop();
    await client.close();
    await cluster.stop();
  }
});
