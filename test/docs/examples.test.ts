import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { KubeClient } from "@tmc/kube/client.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { loadAll } from "js-yaml";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { samplePlacements, sampleRegistration } from "../../lib/cli/local/samples.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { placements, registrations } from "../lib/upstream/tenants.ts";
import { type ControllerEnvironment, startControllerEnvironment, statusOf } from "../support/controller-environment.ts";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));
const read = (file: string): string => readFileSync(join(folder, file), "utf8");
const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));

const types: Readonly<Record<string, ResourceType>> = {
  Namespace: { group: "", version: "v1", plural: "namespaces" },
  ConfigMap: { group: "", version: "v1", plural: "configmaps" },
  Service: { group: "", version: "v1", plural: "services" },
  PersistentVolumeClaim: { group: "", version: "v1", plural: "persistentvolumeclaims" },
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  ClusterRegistration: registrations.type,
  WorkloadPlacement: placements.type,
};
const typeOf = (kind: string): ResourceType => {
  const type = types[kind];
  if (type === undefined) throw new Error(`the examples have no ${kind}`);
  return type;
};

/** The type of the databases is not part of the export; test/e2e/custom-types.ts applies these three on embedded and real servers. */
const customTypes = ["database-crd.yaml", "database-placement.yaml", "database.yaml"];

/** Where the comments at the top of a file say that a Deployment runs: `east 3, west 1`, by its name. */
function statedClusters(text: string): Readonly<Record<string, string>> {
  const lines = [...text.matchAll(/^# Runs: deployment\/(\S+) on (.*)$/gm)];
  return Object.fromEntries(
    lines.map(([, name = "", places = ""]) => [
      name,
      [...places.matchAll(/(\w+) \((\d+) replicas?\)/g)].map(([, cluster, count]) => `${cluster} ${count}`).join(", "),
    ]),
  );
}

const running = files.filter((file) => Object.keys(statedClusters(read(file))).length > 0);

describe("the files in examples", () => {
  it("are all in the index, and only they", () => {
    const named = [...read("README.md").matchAll(/\]\(([\w-]+\.yaml)\)/g)].map(([, file]) => file);
    expect(named.toSorted()).toEqual(files.toSorted());
  });

  it("say where their Deployments run", () => {
    const withDeployment = files.filter((file) => read(file).includes("\nkind: Deployment"));
    const elsewhere = ["deployment.yaml"]; // workload-placement.yaml says it
    expect(withDeployment.filter((file) => !running.includes(file) && !elsewhere.includes(file))).toEqual([]);
  });

  it("are applied by a test", () => {
    const applied = new Set([
      ...running,
      "cluster-registration.yaml",
      "upsync.yaml",
      "deployment.yaml",
      "service.yaml",
    ]);
    expect(files.filter((file) => !applied.has(file))).toEqual(customTypes);
  });
});

describe("examples on embedded clusters", () => {
  let stage: ControllerEnvironment;
  beforeEach(async () => {
    stage = await startControllerEnvironment();
    for (const name of ["east", "west"]) await stage.client.create(registrations, sampleRegistration(name));
    await stage.settled();
  });
  afterEach(() => stage.stop());

  const on = (name: string): KubeClient => {
    const found = stage.clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const namespaceThere = (namespace: string): string =>
    downstreamNamespace({ hub: "kcp", logicalCluster: stage.cluster, namespace });
  /** As `kubectl apply --server-side` does: without force, so that a conflict with the registrations of `tmc local` fails. */
  const apply = async (file: string): Promise<readonly KubeObject[]> => {
    const objects = loadAll(read(file)) as readonly KubeObject[]; // our own files, whose documents are objects
    for (const object of objects) {
      const { namespace, name } = object.metadata;
      const address = {
        type: typeOf(object.kind ?? ""),
        ...(namespace === undefined ? {} : { namespace }),
        name: name ?? "",
      };
      await stage.client.patch(address, { type: "apply", body: object }, { fieldManager: "kubectl" });
    }
    await stage.rest();
    await stage.pass(30_000);
    return objects;
  };
  const copyOf = async (
    cluster: string,
    { namespace = "", name }: KubeObject["metadata"],
  ): Promise<KubeObject | undefined> => {
    const { items } = await on(cluster).list<KubeObject>({
      type: typeOf("Deployment"),
      namespace: namespaceThere(namespace),
    });
    return items.find(({ metadata }) => metadata.name === name);
  };
  /** Where the Deployments of a file run: `east 3, west 1`, by name. */
  const placesOf = async (objects: readonly KubeObject[]): Promise<Readonly<Record<string, string>>> => {
    const places: Record<string, string> = {};
    for (const { kind, metadata } of objects) {
      if (kind !== "Deployment") continue;
      const counts: string[] = [];
      for (const cluster of ["east", "west"]) {
        const copy = await copyOf(cluster, metadata);
        if (copy !== undefined) counts.push(`${cluster} ${String(statusOf(copy).readyReplicas)}`);
      }
      places[metadata.name ?? ""] = counts.join(", ");
    }
    return places;
  };

  it.each(running)("examples/%s runs where the comments at its top say", async (file) => {
    const objects = [...(await apply(file))];
    if (file === "workload-placement.yaml")
      objects.push(...(await apply("deployment.yaml")), ...(await apply("service.yaml")));
    const stated = statedClusters(read(file));
    expect(await placesOf(objects)).toEqual(stated);
  });

  it("examples/cluster-registration.yaml makes east fit the placement that requires a GPU, and adds no cluster", async () => {
    for (const placement of samplePlacements) await stage.client.create(placements, placement);
    await stage.pass(10_000);
    expect(statusOf(await stage.placement("training")).selectedClusters).toEqual([]);
    await apply("cluster-registration.yaml");
    expect(statusOf(await stage.placement("training")).selectedClusters).toEqual(["east"]);
    expect((await stage.client.list(registrations)).items).toHaveLength(2);
  });

  it("examples/failback.yaml leaves east when it fails, and returns to it", async () => {
    const objects = await apply("failback.yaml");
    stage.clusters.get("east")?.makeUnreachable();
    await stage.pass(300_000);
    expect(statusOf(await stage.placement("failback")).selectedClusters).toEqual(["west"]);
    stage.clusters.get("east")?.recover();
    await stage.pass(300_000);
    expect(await placesOf(objects)).toEqual({ primary: "east 2" });
  });

  it("examples/overrides.yaml changes the copy on west only", async () => {
    const deployment = (await apply("overrides.yaml")).find(({ kind }) => kind === "Deployment");
    const podOf = async (cluster: string): Promise<unknown> =>
      JSON.parse(JSON.stringify(await copyOf(cluster, deployment?.metadata ?? {}))).spec.template.spec;
    expect(await podOf("east")).toMatchObject({ containers: [{ image: "docker.io/library/nginx:1.29" }] });
    expect(await podOf("east")).not.toHaveProperty("priorityClassName");
    expect(await podOf("west")).toMatchObject({
      containers: [
        {
          image: "registry.us-west.example.com/library/nginx:1.29",
          env: [{ name: "REGION", value: "us-west" }],
          resources: { limits: { memory: "128Mi" } },
        },
      ],
      priorityClassName: "low",
    });
  });

  it("examples/volumes.yaml stays on east during a drain", async () => {
    const objects = await apply("volumes.yaml");
    const spec = { unschedulable: true, taints: [{ key: "tmc.kcp.io/drain", effect: "NoExecute" }] };
    await stage.client.patch({ ...registrations, name: "east" }, { type: "merge", body: { spec } });
    await stage.pass(60_000);
    expect(statusOf(await stage.placement("volumes")).selectedClusters).toEqual(["west"]);
    expect(await placesOf(objects)).toEqual({ db: "east 1" });
    const records = await stage.client.list<KubeObject>({
      type: { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" },
    });
    expect(JSON.stringify(records.items.map(statusOf))).toContain("VolumeNotMovable");
  });

  it("examples/upsync.yaml mirrors the labelled Deployment of west", async () => {
    await apply("upsync.yaml");
    const west = on("west");
    await west.create(
      { type: typeOf("Namespace") },
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "lab" } },
    );
    for (const name of ["demo", "private"]) {
      const labels = name === "demo" ? { upsync: "yes" } : {};
      const [, , deployment] = loadAll(read("spread.yaml"));
      const metadata = { name, namespace: "lab", labels };
      await west.create(
        { type: typeOf("Deployment"), namespace: "lab" },
        { ...(isRecord(deployment) ? deployment : {}), apiVersion: "apps/v1", kind: "Deployment", metadata },
      );
    }
    await stage.pass(60_000);
    const { items } = await stage.client.list<KubeObject>({ type: typeOf("Deployment"), namespace: "lab" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["demo"]);
    expect(Object.keys(items[0]?.metadata.annotations ?? {})).toContain("tmc.kcp.io/upsync-origin");
  });
});
