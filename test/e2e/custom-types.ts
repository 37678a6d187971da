import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { load } from "js-yaml";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { exportWorkspace } from "../../lib/api/group.ts";
import { kinds } from "../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../lib/api/resource-schema.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { bindExport } from "../../lib/install/bind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { definitionAnnotation } from "../../lib/sync/targets/type-definition.ts";
import { reconciledTypes, recordResource } from "../../lib/upstream/watched-resources.ts";
import { tmc } from "../lib/cli/support.ts";
import { aDefinition } from "../support/definition.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import { type ClusterName, clusterNames, type Parts, type SuiteSettings } from "./environment.ts";
import { type Tenant, tenantOf } from "./tenant.ts";

const apiExport = `${exportWorkspace}:tmc.kcp.io`;
const workspace = "root:data";
const databases: ResourceType = { group: "example.com", version: "v1", plural: "databases" };
const caches: ResourceType = { group: "example.net", version: "v1", plural: "caches" };
const definitions: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
};
const example = (file: string): string => fileURLToPath(new URL(`../../examples/${file}`, import.meta.url));

/** A second type, of which the clusters know nothing until somebody gives it to them. */
const cacheDefinition = aDefinition(caches, "Cache", {
  spec: { type: "object", properties: { size: { type: "string" } } },
});

/** Holds types that an operator has added to their promises: the real command, a kcp, and clusters that do not know the types. */
export function customTypesScenario(
  { kind, testMs, waitMs, startMs }: SuiteSettings,
  startParts: () => Promise<Parts>,
): void {
  describe(`types that an operator has added, on ${kind} parts`, { timeout: testMs }, () => {
    let parts: Parts;
    let folder = "";
    let client: KubeClient;
    let tenant: Tenant;
    let namespaceThere = "";
    let cacheFile = "";
    let addType: (file: string) => Promise<void>;
    let controller: ControllerProcess;
    const clients: KubeClient[] = [];
    const clusters = new Map<ClusterName, KubeClient>();

    const open = (endpoint: Endpoint): KubeClient => {
      const opened = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), userAgent: "tmc-e2e" });
      clients.push(opened);
      return opened;
    };
    const on = (name: ClusterName): KubeClient => {
      const found = clusters.get(name);
      if (found === undefined) throw new Error(`no cluster ${name}`);
      return found;
    };
    const copyOn = (name: ClusterName, type: ResourceType, object: string): Promise<KubeObject | undefined> =>
      on(name)
        .get<KubeObject>({ type, namespace: namespaceThere, name: object })
        .catch((error: unknown) => {
          if (faultOf(error) === "not-found") return undefined;
          throw error;
        });
    const untilCopy = (name: ClusterName, type: ResourceType, object: string): Promise<void> =>
      eventually(
        async () => ((await copyOn(name, type, object)) === undefined ? `${object} is not on ${name}` : undefined),
        waitMs,
      );
    const recordOf = async (object: string): Promise<WorkloadSync | undefined> => {
      const { items } = await client.list<WorkloadSync & KubeObject>({
        type: recordResource.type,
        namespace: "default",
      });
      return items.find(({ spec }) => spec.workload.name === object);
    };
    /** What the record says of one cluster: `Failed TypeNotServed`. */
    const untilRecorded = (object: string, cluster: ClusterName, words: string): Promise<void> =>
      eventually(async () => {
        const entry = (await recordOf(object))?.status?.clusters?.find(({ name }) => name === cluster);
        const said = `${entry?.state} ${entry?.reason ?? ""}`.trim();
        return said === words ? undefined : `${object} on ${cluster}: ${JSON.stringify(entry)}`;
      }, waitMs);

    beforeAll(async () => {
      parts = await startParts();
      folder = await mkdtemp(join(tmpdir(), "tmc-types-"));
      const write = async (name: string, { endpoint, token }: Parts["kcp"], path = ""): Promise<string> => {
        const file = join(folder, `${name}.kubeconfig`);
        const to = { ...endpoint, server: `${endpoint.server}${path}` };
        await writeKubeconfig(file, { contexts: [{ name, endpoint: to, token }] });
        return file;
      };
      const kcp = open(parts.kcp.endpoint);
      const admin = await write("admin", parts.kcp, "/clusters/root");
      cacheFile = join(folder, "cache.json");
      await writeFile(cacheFile, JSON.stringify(cacheDefinition));
      const bootstrap = ["bootstrap", "--kubeconfig-dir", folder, "--timeout", "90s"];
      addType = async (file) => {
        const { code, err } = await tmc([...bootstrap, "--crd", file], { env: { KUBECONFIG: admin } });
        expect({ code, err }).toEqual({ code: 0, err: "" });
      };
      await addType(example("database-crd.yaml"));
      const logicalCluster = await ensureWorkspace(kcp, workspace);
      client = kcp.at(`/clusters/${logicalCluster}`);
      await bindExport(client, exportWorkspace);
      tenant = tenantOf(client, waitMs);
      namespaceThere = downstreamNamespace({ hub: "kcp", logicalCluster, namespace: "default" });
      for (const name of clusterNames) {
        clusters.set(name, open(parts.clusters[name].endpoint));
        await tenant.offerSecret(name, await readFile(await write(name, parts.clusters[name]), "utf8"));
        const credentials = { secretRef: { namespace: "default", name } };
        await tenant.register(name, { location: name, credentials });
      }
      controller = await startController(folder, [
        "--hub-id=kcp",
        `--kcp-kubeconfig=${join(folder, "worker.kubeconfig")}`,
        `--api-export=${apiExport}`,
        "--allow-private-endpoints",
        "--heartbeat-interval=1s",
        "--resync-period=2s",
      ]);
      for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    }, startMs);
    afterAll(async () => {
      await controller?.kill();
      await Promise.all(clients.map((each) => each.close()));
      await parts?.stop();
      await rm(folder, { recursive: true, force: true });
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail" || controller === undefined) return;
      process.stderr.write(`${(await controller.output()).split("\n").slice(-40).join("\n")}\n`);
    });

    it("installs the CRD on clusters where the placement asks for it, and syncs objects of the type", async () => {
      await tenant.applyExample("database-placement.yaml", reconciledTypes.WorkloadPlacement);
      await tenant.applyExample("database.yaml", databases, "default");
      // Neither of them serves the type, and neither is left out for it.
      await tenant.untilChosen("databases", clusterNames);
      for (const name of clusterNames) {
        await untilCopy(name, databases, "orders");
        const made = await on(name).get<KubeObject>({ type: definitions, name: "databases.example.com" });
        expect(made.metadata.annotations?.[definitionAnnotation]).toContain('"hub":"kcp"');
        expect((await copyOn(name, databases, "orders"))?.spec).toEqual({ engine: "postgres", storage: "10Gi" });
      }
    });

    it("aggregates the status of custom objects by the rules of their definition", async () => {
      const moment = "2026-01-01T00:00:00Z";
      for (const [at, name] of clusterNames.entries()) {
        const ready = { type: "Ready", status: "True", reason: "Up", message: "", lastTransitionTime: moment };
        const status = { phase: "Running", endpoint: `${name}:5432`, connections: 2 + at, conditions: [ready] };
        await on(name).patch(
          { type: databases, namespace: namespaceThere, name: "orders" },
          { type: "merge", body: { status } },
          { subresource: "status" },
        );
      }
      await eventually(async () => {
        const { status } = await client.get<KubeObject & { status?: Record<string, unknown> }>({
          type: databases,
          namespace: "default",
          name: "orders",
        });
        // What differs and counts nothing is left out.
        const isThere = status?.phase === "Running" && status.connections === 5 && status.endpoint === undefined;
        return isThere ? undefined : `status is ${JSON.stringify(status)}`;
      }, waitMs);
      await eventually(async () => {
        const ready = findCondition((await recordOf("orders"))?.status?.conditions, "Ready");
        return ready?.status === "True" ? undefined : `record says ${JSON.stringify(ready)}`;
      }, waitMs);
    });

    it("syncs a change, and deletes the copies with the object but never the CRD", async () => {
      const at = { type: databases, namespace: "default", name: "orders" };
      await client.patch(at, { type: "merge", body: { spec: { storage: "20Gi" } } });
      for (const name of clusterNames) {
        await eventually(async () => {
          const spec = (await copyOn(name, databases, "orders"))?.spec;
          return JSON.stringify(spec).includes("20Gi") ? undefined : `${name} has ${JSON.stringify(spec)}`;
        }, waitMs);
      }
      await client.delete(at);
      await eventually(async () => {
        const left = (await client.list({ type: databases, namespace: "default" })).items.length;
        return left === 0 ? undefined : "the database is not gone";
      }, waitMs);
      for (const name of clusterNames) {
        expect(await copyOn(name, databases, "orders")).toBeUndefined();
        const { metadata } = await on(name).get<KubeObject>({ type: definitions, name: "databases.example.com" });
        expect(metadata.deletionTimestamp).toBeUndefined();
      }
    });

    it("learns a type that is added while it runs, and reports that a cluster does not serve it yet", async () => {
      await addType(cacheFile);
      // kcp serves the type to the tenant a moment later.
      await eventually(async () => {
        const { status } = await client.raw("GET", "/apis/example.net/v1/namespaces/default/caches");
        return status === 200 ? undefined : `status ${status}`;
      }, waitMs);
      await tenant.place("caches", {
        strategy: "Spread",
        workloadSelector: { labelSelector: { matchLabels: { tier: "cache" } } },
      });
      await client.create(
        { type: caches, namespace: "default" },
        {
          apiVersion: "example.net/v1",
          kind: "Cache",
          metadata: { name: "hot", labels: { tier: "cache" } },
          spec: { size: "1Gi" },
        },
      );
      for (const name of clusterNames) await untilRecorded("hot", name, "Failed TypeNotServed");
      // Somebody gives it to one of them, in a form that is his own.
      await on("us-east").create({ type: definitions }, cacheDefinition);
      await untilCopy("us-east", caches, "hot");
      await untilRecorded("hot", "us-east", "Ready");
      await untilRecorded("hot", "us-west", "Failed TypeNotServed");
    });

    it("never changes a CRD that TMC does not own", async () => {
      const [version] = cacheDefinition.spec.versions;
      const other = { ...cacheDefinition, spec: { ...cacheDefinition.spec, versions: [{ ...version, name: "v2" }] } };
      await on("us-west").create({ type: definitions }, other);
      const at = { type: reconciledTypes.WorkloadPlacement, name: "caches" };
      const before = await on("us-east").get<KubeObject>({ type: definitions, name: "caches.example.net" });
      await client.patch(at, { type: "merge", body: { spec: { customResources: "Install" } } });
      await untilRecorded("hot", "us-west", "Failed ForeignType");
      await untilRecorded("hot", "us-east", "Ready");
      const east = await on("us-east").get<KubeObject>({ type: definitions, name: "caches.example.net" });
      expect({ spec: east.spec, annotations: east.metadata.annotations }).toEqual({
        spec: before.spec,
        annotations: before.metadata.annotations,
      });
      const west = await on("us-west").get<KubeObject>({ type: definitions, name: "caches.example.net" });
      expect(JSON.stringify(west.spec)).not.toContain('"v1"');
      // It heals when whoever owns it has it serve what is needed.
      const both = [version, { ...version, name: "v2", storage: false }];
      await on("us-west").patch(
        { type: definitions, name: "caches.example.net" },
        {
          type: "merge",
          body: {
            spec: {
              versions: [
                { ...both[0], storage: false },
                { ...both[1], storage: true },
              ],
            },
          },
        },
      );
      const touched = { metadata: { labels: { touched: "yes" } } };
      await client.patch({ type: caches, namespace: "default", name: "hot" }, { type: "merge", body: touched });
      await untilCopy("us-west", caches, "hot");
    });

    it("reads custom types from a file when it reaches workspaces directly", async () => {
      controller.terminate();
      expect(await controller.exit).toBe(0);
      controller = await startController(folder, [
        "--hub-id=kcp",
        `--kcp-kubeconfig=${join(folder, "admin.kubeconfig")}`,
        `--workspace=${workspace}`,
        "--cluster-kubeconfigs=none",
        `--crd=${example("database-crd.yaml")}`,
        "--allow-private-endpoints",
        "--heartbeat-interval=1s",
      ]);
      const invoices = load(await readFile(example("database.yaml"), "utf8")) as KubeObject; // our own file
      await client.create(
        { type: databases, namespace: "default" },
        { ...invoices, metadata: { ...invoices.metadata, name: "invoices" } },
      );
      for (const name of clusterNames) await untilCopy(name, databases, "invoices");
    });

    it("syncs custom types with a plain Kubernetes cluster as the hub", async () => {
      controller.terminate();
      expect(await controller.exit).toBe(0);
      const hub = on("us-east");
      for (const each of kinds) await hub.create({ type: definitions }, customResourceDefinition(each));
      const there = tenantOf(hub, waitMs);
      await eventually(async () => {
        const error: unknown = await hub.list({ type: recordResource.type }).then(
          () => undefined,
          (failure: unknown) => failure,
        );
        return error === undefined ? undefined : String(error);
      }, waitMs);
      controller = await startController(folder, [
        "--hub-id=kcp",
        `--kcp-kubeconfig=${join(folder, "us-east.kubeconfig")}`,
        "--hub=kubernetes",
        "--hub-controllers=ignore", // this hub is a cluster that has run workloads; a custom type concerns none of its controllers
        `--cluster-kubeconfigs=us-west=${join(folder, "us-west.kubeconfig")}`,
        `--crd=${example("database-crd.yaml")}`,
        "--heartbeat-interval=1s",
      ]);
      await there.register("us-west", { location: "us-west" });
      await there.applyExample("database-placement.yaml", reconciledTypes.WorkloadPlacement);
      await there.applyExample("database.yaml", databases, "default");
      const at = {
        type: databases,
        namespace: downstreamNamespace({ hub: "kcp", logicalCluster: "", namespace: "default" }),
      };
      await eventually(async () => {
        const { items } = await on("us-west").list<KubeObject>(at);
        return items.some(({ metadata }) => metadata.name === "orders") ? undefined : "orders is not on us-west";
      }, waitMs);
      const body = { status: { phase: "Running", connections: 4 } };
      await on("us-west").patch({ ...at, name: "orders" }, { type: "merge", body }, { subresource: "status" });
      await eventually(async () => {
        const { status } = await hub.get<KubeObject>({ type: databases, namespace: "default", name: "orders" });
        return JSON.stringify(status)?.includes("Running") === true ? undefined : `status is ${JSON.stringify(status)}`;
      }, waitMs);
    });
  });
}
