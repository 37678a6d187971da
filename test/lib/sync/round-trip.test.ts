import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { referencesOf } from "../../../lib/sync/dependencies/references.ts";
import { locatorOf, namespaceManifest } from "../../../lib/sync/ownership/namespace-map.ts";
import { belongsTo } from "../../../lib/sync/ownership/owner.ts";
import type { Manifest, Workload } from "../../../lib/sync/sync-objects.ts";
import { differences } from "../../../lib/sync/targets/drift.ts";
import { goldenNames, originFor, sent, stored } from "./golden-files.ts";

let cluster: EmbeddedCluster;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startEmbeddedCluster({ name: "east", listen: false });
  const endpoint = { server: "https://embedded.invalid" };
  client = createKubeClient({ endpoint, transport: cluster.transport(), name: "cluster east" });
  for (const workload of names.map(stored)) {
    const { metadata } = namespaceManifest(originFor(workload));
    await apply(
      { type: { group: "", version: "v1", plural: "namespaces" }, name: metadata.name },
      namespaceManifest(originFor(workload)),
    );
  }
});
afterAll(() => cluster.stop());

/** All that a cluster serves without a definition of its own. */
const names = goldenNames.filter((name) => stored(name).apiVersion !== "example.com/v1");

const apply = (address: ObjectAddress, body: object): Promise<KubeObject> =>
  client.patch(address, { type: "apply", body, force: true }, { fieldManager: "tmc", fieldValidation: "Strict" });

function addressOf({ apiVersion, kind, metadata }: Manifest): ObjectAddress {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const plural = workloadTypes.find((type) => type.kind === kind)?.plural ?? `${kind.toLowerCase()}s`;
  return { type: { group, version, plural }, namespace: metadata.namespace, name: metadata.name };
}

describe("what was sent to a cluster", () => {
  it.each(names)("is found there: %s", async (name) => {
    const workload = stored(name);
    const manifest = sent(workload);
    const answer = await apply(addressOf(manifest), manifest);
    const live = await client.get(addressOf(manifest));
    expect(differences(manifest, answer)).toEqual([]);
    expect(differences(manifest, live)).toEqual([]);
    expect(belongsTo(live, originFor(workload))).toBe(true);
    expect(referencesOf(live)).toEqual(referencesOf(workload));
    await client.delete(addressOf(manifest));
  });

  it("is tried with every type that is looked after", () => {
    const tried = new Set(names.map(stored).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
    expect(workloadKindsWith().filter(({ apiVersion, kind }) => !tried.has(`${apiVersion} ${kind}`))).toEqual([]);
  });

  it("is in a namespace that leads back to the tenant's", async () => {
    const workload: Workload = stored("deployment");
    const { metadata } = namespaceManifest(originFor(workload));
    const live = await client.get({ type: { group: "", version: "v1", plural: "namespaces" }, name: metadata.name });
    const { hub, logicalCluster, namespace } = originFor(workload);
    expect(locatorOf(live)).toEqual({ hub, logicalCluster, namespace });
  });

  it("is not the ReplicaSet that the cluster made of it", async () => {
    const manifest = sent(stored("deployment"));
    await apply(addressOf(manifest), manifest);
    const type = { group: "apps", version: "v1", plural: "replicasets" };
    await expect
      .poll(async () => (await client.list({ type, namespace: manifest.metadata.namespace })).items.length)
      .toBe(1);
    const [made] = (await client.list({ type, namespace: manifest.metadata.namespace })).items;
    expect(made === undefined || belongsTo(made, originFor(stored("deployment")))).toBe(false);
  });
});
