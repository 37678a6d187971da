import { readFile } from "node:fs/promises";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allWorkloadTypes, referenceTypes } from "../../../lib/api/workload-kinds.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { referenceId, referencesOf } from "../../../lib/sync/dependencies/references.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { type ControllerEnvironment, startControllerEnvironment } from "../../support/controller-environment.ts";
import { stored } from "../sync/golden-files.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const records: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };
const types = allWorkloadTypes();

let stage: ControllerEnvironment;

/** An object of a kind as a user would write it. */
function written(kind: string): KubeObject {
  const golden = kind === "Service" ? "service-in-kcp" : kind === "Job" ? "job-own-selector" : kind.toLowerCase();
  const { apiVersion, metadata, status: _, ...body } = stored(golden);
  const { labels = {} } = metadata;
  const everywhere = kind === "Job" ? { annotations: { "tmc.kcp.io/job-clusters": "all" } } : {};
  const own = Object.fromEntries(Object.entries(labels).filter(([label]) => !label.includes("kcp.io")));
  return {
    ...body,
    apiVersion,
    kind,
    metadata: { name: `a-${kind.toLowerCase()}`, namespace: "shop", labels: own, ...everywhere },
  };
}

beforeAll(async () => {
  stage = await startControllerEnvironment();
  const { client } = stage;
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const name of ["east", "west"]) await client.create(registrations, aRegistration(name));
  const workloadTypes = types.map(({ apiVersion, kind }) => ({ apiVersion, kind }));
  await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: { workloadTypes } }));
  await stage.settled();
  const needed = new Map(
    types.flatMap(({ kind }) => referencesOf(written(kind))).map((each) => [referenceId(each), each]),
  );
  for (const { kind, name } of needed.values()) {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const body = kind === "PersistentVolumeClaim" ? { spec } : {};
    const object = { apiVersion: "v1", kind, metadata: { name, namespace: "shop" }, ...body };
    await client.create({ type: referenceTypes[kind], namespace: "shop" }, object);
  }
  for (const { type, kind } of types) await client.create({ type, namespace: "shop" }, written(kind));
  await stage.pass(20_000);
}, 60_000);
afterAll(() => stage?.stop());

describe("every workload type in a whole controller", () => {
  test.each(types.map(({ kind, type, isOffered }) => [kind, type, isOffered] as const))(
    "a %s is written to its clusters, and their status is aggregated",
    async (kind, type, isOffered) => {
      const { client, clusters, cluster } = stage;
      const { items } = await client.list<KubeObject & WorkloadSync>({ type: records, namespace: "shop" });
      const record = items.find(({ spec: { workload } }) => workload.kind === kind && workload.name.startsWith("a-"));
      const states = (record?.status?.clusters ?? []).map(({ state }) => state);
      expect(states.filter((state) => state === "Ready" || state === "Applied")).toHaveLength(2);
      const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
      const name = `a-${kind.toLowerCase()}`;
      for (const [, server] of clusters) {
        const there = createKubeClient({ endpoint: { server: server.url }, transport: server.transport() });
        const copy = await there.get<KubeObject>({ type, namespace, name });
        if (!isOffered || copy.status === undefined) continue;
        const { status } = await client.get<KubeObject>({ type, namespace: "shop", name });
        // Every field of the aggregated status comes from the copies.
        expect(Object.keys(Object(copy.status))).toEqual(expect.arrayContaining(fieldsOf(status)));
      }
    },
  );
});

/** The fields of a status without the conditions, which TMC adds to. */
function fieldsOf(status: unknown): string[] {
  return Object.keys(Object(status)).filter((field) => field !== "conditions");
}

describe("kubectl get in a workspace", () => {
  /** The cells of one row by column, as kubectl prints them without `-o wide`. */
  const printed = async (path: string): Promise<Record<string, unknown>> => {
    const { text } = await stage.client.raw("GET", path, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    const { columnDefinitions, rows } = JSON.parse(text) as {
      columnDefinitions: { name: string; priority: number }[];
      rows: { cells: unknown[] }[];
    };
    const cells = columnDefinitions.map(({ name }, at) => [name, rows[0]?.cells[at]] as const);
    return Object.fromEntries(cells.filter((_, at) => columnDefinitions[at]?.priority === 0));
  };

  test("clusters, placements and sync records have readable columns", async () => {
    const { items } = await stage.client.list<KubeObject & WorkloadSync>({ type: records, namespace: "shop" });
    const record = items.find(({ spec: { workload } }) => workload.kind === "Service")?.metadata.name;
    const own = "/apis/tmc.kcp.io/v1alpha1";
    expect(await printed(`${own}/clusterregistrations/east`)).toMatchObject({
      Name: "east",
      Ready: "True",
      Reason: "ClusterReady",
      Version: expect.stringMatching(/^v1\.\d+/),
    });
    expect(await printed(`${own}/workloadplacements/shop`)).toMatchObject({
      Strategy: "Spread",
      Clusters: "east,west",
      Ready: "True",
      Reason: "PlacementReady",
    });
    expect(await printed(`${own}/namespaces/shop/workloadsyncs/${record}`)).toMatchObject({
      Kind: "Service",
      Clusters: "east,west",
      Ready: "True",
    });
  });

  test("a Service without a type is a ClusterIP", async () => {
    const manifest = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "plain" },
      spec: { ports: [{ port: 80 }] },
    };
    const services: ResourceType = { group: "", version: "v1", plural: "services" };
    await stage.client.create({ type: services, namespace: "shop" }, manifest);
    expect(await printed("/api/v1/namespaces/shop/services/plain")).toMatchObject({
      Type: "ClusterIP",
      "Port(s)": "80/",
    });
  });

  test("the workspace serves autoscaling/v2 alone, and accepts the HorizontalPodAutoscaler of docs/kubectl.md", async () => {
    const { status } = await stage.client.raw("GET", "/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers");
    expect(status).toBe(404);
    const page = await readFile(new URL("../../../docs/kubectl.md", import.meta.url), "utf8");
    const manifest = load(/```yaml\n(apiVersion: autoscaling\/v2\n(?:.*\n)*?)```/.exec(page)?.[1] ?? "") as KubeObject; // our own page
    const autoscalers: ResourceType = { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" };
    await stage.client.create({ type: autoscalers, namespace: "shop" }, manifest, { fieldValidation: "Strict" });
    const stored = await stage.client.get<KubeObject>({ type: autoscalers, namespace: "shop", name: "web" });
    expect(stored).toMatchObject({ spec: { minReplicas: 2, maxReplicas: 5 } });
  });
});
