import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { referencesOf } from "../../../lib/sync/dependencies/references.ts";
import { locatorOf, namespaceManifest } from "../../../lib/sync/ownership/namespace-map.ts";
import { isOwnedBy } from "../../../lib/sync/ownership/owner.ts";
import type { Manifest, Workload } from "../../../lib/sync/sync-objects.ts";
import { differences } from "../../../lib/sync/targets/drift.ts";
import { goldenNames, ownerFor, sent, stored } from "./golden-files.ts";

let cluster: EmbeddedCluster;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startEmbeddedCluster({ name: "east", listen: false });
  const endpoint = { server: "https://embedded.invalid" };
  client = createKubeClient({ endpoint, transport: cluster.transport(), name: "cluster east" });
  for (const workload of names.map(stored)) {
    const { metadata } = namespaceManifest(ownerFor(workload));
    await apply(
      { type: { group: "", version: "v1", plural: "namespaces" }, name: metadata.name },
      namespaceManifest(ownerFor(workload)),
    );
  }
});
afterAll(() => cluster.stop());

/** The types that a cluster serves without a CustomResourceDefinition. */
const names = goldenNames.filter((name) => stored(name).apiVersion !== "example.com/v1");

const apply = (address: ObjectAddress, body: object): Promise<KubeObject> =>
  client.patch(address, { type: "apply", body, force: true }, { fieldManager: "tmc", fieldValidation: "Strict" });

function addressOf({ apiVersion, kind, metadata }: Manifest): ObjectAddress {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const plural = workloadTypes.find((type) => type.kind === kind)?.plural ?? `${kind.toLowerCase()}s`;
  return { type: { group, version, plural }, namespace: metadata.namespace, name: metadata.name };
}

describe("manifests on an embedded cluster", () => {
  it.each(names)("a cluster returns the applied manifest of %s without differences", async (name) => {
    const workload = stored(name);
    const manifest = sent(workload);
    const answer = await apply(addressOf(manifest), manifest);
    const live = await client.get(addressOf(manifest));
    expect(differences(manifest, answer)).toEqual([]);
    expect(differences(manifest, live)).toEqual([]);
    expect(isOwnedBy(live, ownerFor(workload))).toBe(true);
    expect(referencesOf(live)).toEqual(referencesOf(workload));
    await client.delete(addressOf(manifest));
  });

  it("every synced type has a round-trip test", () => {
    const tried = new Set(names.map(stored).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
    expect(allWorkloadTypes().filter(({ apiVersion, kind }) => !tried.has(`${apiVersion} ${kind}`))).toEqual([]);
  });

  it("the downstream namespace on a cluster leads back to the upstream namespace", async () => {
    const workload: Workload = stored("deployment");
    const { metadata } = namespaceManifest(ownerFor(workload));
    const live = await client.get({ type: { group: "", version: "v1", plural: "namespaces" }, name: metadata.name });
    const { hub, logicalCluster, namespace } = ownerFor(workload);
    expect(locatorOf(live)).toEqual({ hub, logicalCluster, namespace });
  });

  it("a ReplicaSet that the cluster created for a copy is not owned", async () => {
    const manifest = sent(stored("deployment"));
    await apply(addressOf(manifest), manifest);
    const type = { group: "apps", version: "v1", plural: "replicasets" };
    await expect
      .poll(async () => (await client.list({ type, namespace: manifest.metadata.namespace })).items.length)
      .toBe(1);
    const [made] = (await client.list({ type, namespace: manifest.metadata.namespace })).items;
    expect(made === undefined || isOwnedBy(made, ownerFor(stored("deployment")))).toBe(false);
  });
});
