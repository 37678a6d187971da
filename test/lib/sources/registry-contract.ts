import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnections } from "../../../lib/credentials/connections.ts";
import { pooledTransports } from "../../../lib/credentials/pooled-transport.ts";
import { createSecretCredentials } from "../../../lib/credentials/secret-credentials.ts";
import { clusterFacts } from "../../../lib/placement/observed.ts";
import type { SourceCluster } from "../../../lib/sources/cluster.ts";
import { type ClusterRegistry, createClusterRegistry } from "../../../lib/sources/registry.ts";
import { sourcePolicyRules } from "../../../lib/sources/source-kinds.ts";
import { createSourceAccess } from "../../../lib/sources/sourced-credentials.ts";
import { createHubRequests } from "../../../lib/upstream/hub-requests.ts";
import {
  aClusterRole,
  aClusterRoleBinding,
  eventuallyGone,
  eventuallyOk,
  namespaces,
  rbac,
  secrets,
  tokenOfNewAccount,
  unique,
} from "../../contract/resources.ts";
import type { HubForm, HubUnderTest } from "./hubs-under-test.ts";
import { aClusterRegistration } from "./objects.ts";
import { defaultNamespace, type SourceUnderTest } from "./sources-under-test.ts";

const signal = new AbortController().signal;
const nodes = { group: "", version: "v1", plural: "nodes" };
const rules = { allowPrivateEndpoints: true };

/** The contract of every cluster source, on kcp and on a plain Kubernetes cluster. */
export function registryContract({ title, isKcp, start }: HubForm, source: SourceUnderTest): void {
  describe(`${source.title} on ${title}`, () => {
    let hub: HubUnderTest;
    let east: EmbeddedCluster;
    let west: EmbeddedCluster;
    const requests: string[] = [];

    beforeAll(async () => {
      [hub, east, west] = await Promise.all([
        start(source, (request) => requests.push(request)),
        startEmbeddedCluster({ name: "east", nodes: 1 }),
        startEmbeddedCluster({ name: "west", nodes: 1 }),
      ]);
    }, 60_000);
    afterAll(async () => {
      await Promise.all([hub?.stop(), east?.stop(), west?.stop()]);
    }, 60_000);

    const registryOf = (client: KubeClient, scope?: readonly string[]): ClusterRegistry =>
      createClusterRegistry({
        client,
        config: { sources: [source.source], namespaces: scope, template: undefined },
        clock: systemClock,
      });
    const find = (name: string, registry = registryOf(hub.client)): Promise<SourceCluster | undefined> =>
      registry.find({ logicalCluster: hub.cluster, name }, signal);
    const found = async (name: string): Promise<SourceCluster> => {
      const cluster = await find(name);
      if (cluster === undefined) throw new Error(`cluster ${name} not found`);
      return cluster;
    };
    const put = (name: string, more: object = {}): Promise<void> =>
      source.put(hub.admin, { name, server: east.url, ...more });
    const addressOf = ({ origin: { name, namespace } }: SourceCluster) => {
      const { maybeNamespaced: _, ...type } = source.own;
      return { type, name, namespace: namespace === "" ? undefined : namespace };
    };

    const putKubeconfig = async (name: string, cluster: EmbeddedCluster): Promise<void> => {
      const address = source.secretOf(name);
      const existing = { apiVersion: "v1", kind: "Namespace", metadata: { name: address.namespace } };
      const apply = { fieldManager: "test" };
      await hub.admin.patch({ type: namespaces, name: address.namespace }, { type: "apply", body: existing }, apply);
      const { ca, server } = cluster.endpoint();
      const kubeconfig = formatKubeconfig({
        contexts: [{ name: "c", endpoint: { server, ca }, token: cluster.adminToken }],
      });
      const data = { kubeconfig: Buffer.from(kubeconfig).toString("base64") };
      const body = {
        apiVersion: "v1",
        kind: "Secret",
        type: "tmc.kcp.io/cluster-credentials",
        metadata: address,
        data,
      };
      await hub.admin.patch({ type: secrets, ...address }, { type: "apply", body, force: true }, apply);
    };
    const accessWith = (client: KubeClient) =>
      createSourceAccess(
        createSecretCredentials({ hub: createHubRequests(client), rules, clock: systemClock, random: () => 1 }),
      );
    /** Connects to the cluster and returns its name, which the names of its nodes contain; or why it cannot be accessed. */
    const connectedName = async (cluster: SourceCluster, access = accessWith(hub.client)): Promise<string> => {
      const outcome = await access.find(cluster, signal);
      if (outcome.kind !== "found") return outcome.message;
      const connections = createConnections({ openTransport: pooledTransports(rules) });
      const { items } = await connections.clientFor(cluster.key, outcome).list<KubeObject>({ type: nodes });
      await connections.close();
      return (items[0]?.metadata.name ?? "").replace(/-node-.*$/, "");
    };

    it("the registry lists clusters by name and finds the same clusters", async () => {
      const names = ["list-c", "list-a", "list-b"];
      for (const name of names) await put(name, { labels: { region: name } });
      const { clusters, rejected, notServed } = await registryOf(hub.client).list(hub.cluster, signal);
      const ours = clusters.filter(({ key }) => names.includes(key.name));
      expect(ours.map(({ key }) => key.name)).toEqual(names.toSorted());
      expect({ rejected, notServed }).toEqual({ rejected: [], notServed: [] });
      for (const cluster of ours) expect(await find(cluster.key.name)).toEqual(cluster);
    });

    it("the registry returns undefined for an unknown cluster", async () => {
      expect(await find("nobody")).toBeUndefined();
    });

    it("the registry returns undefined for an invalid name, without using it as a selector", async () => {
      await put("here");
      expect(await find("here,metadata.name!=x")).toBeUndefined();
    });

    it("the facts equal those of a ClusterRegistration", async () => {
      const labels = { location: "eu-west-1a", env: "production" };
      await put("facts", { labels, isCordoned: source.canCordon });
      const { facts } = await found("facts");
      const registered = aClusterRegistration(
        "facts",
        { location: "eu-west-1a", unschedulable: source.canCordon },
        { labels },
      );
      expect({ ...facts, notReadySinceMs: 0 }).toEqual({ ...clusterFacts(registered), notReadySinceMs: 0 });
    });

    it("the credentials give access to the cluster", async () => {
      await put("access");
      await putKubeconfig("access", east);
      const cluster = await found("access");
      expect(cluster.pending).toBeUndefined();
      expect(cluster.endpoint).toBe(east.url);
      expect(await connectedName(cluster)).toBe("east");
    });

    it("a missing Secret is reported", async () => {
      await put("no-secret");
      const { namespace, name } = source.secretOf("no-secret");
      expect(await connectedName(await found("no-secret"))).toBe(`secret ${namespace}/${name} does not exist`);
    });

    it("a changed endpoint gives access to the other cluster", async () => {
      const access = accessWith(hub.client);
      await put("moves");
      await putKubeconfig("moves", east);
      const before = await found("moves");
      expect(await connectedName(before, access)).toBe("east");
      await putKubeconfig("moves", west);
      await put("moves", { server: west.url });
      const after = await found("moves");
      expect(after.accessHash).not.toBe(before.accessHash);
      expect(await connectedName(after, access)).toBe("west");
    });

    it("labels and status do not change the identity and access of a cluster", async () => {
      await put("same");
      const before = await found("same");
      await put("same", { labels: { env: "test" } });
      const type = "Ready";
      const condition = {
        type,
        status: "False",
        reason: "Off",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      };
      await hub.admin.patch(
        addressOf(before),
        { type: "merge", body: { status: { conditions: [condition] } } },
        { subresource: "status" },
      );
      const after = await found("same");
      expect(after.facts).not.toEqual(before.facts);
      expect([after.id, after.accessHash]).toEqual([before.id, before.accessHash]);
    });

    it("a cluster is reported as deleting until it is gone", async () => {
      await put("leaving");
      const address = addressOf(await found("leaving"));
      const finalizers = (names: readonly string[]) =>
        hub.admin.patch(address, { type: "merge", body: { metadata: { finalizers: names } } });
      await finalizers(["example.com/wait"]);
      await hub.admin.delete(address);
      expect((await found("leaving")).facts.deleting).toBe(true);
      await finalizers([]);
      await eventuallyGone(hub.admin, address);
      expect(await find("leaving")).toBeUndefined();
      const { clusters } = await registryOf(hub.client).list(hub.cluster, signal);
      expect(clusters.map(({ key }) => key.name)).not.toContain("leaving");
    });

    if (isKcp) {
      it("the registry reads no objects of another logical cluster", async () => {
        await put("mine");
        const registry = registryOf(hub.client);
        expect((await registry.list(hub.other, signal)).clusters).toEqual([]);
        expect(await registry.find({ logicalCluster: hub.other, name: "mine" }, signal)).toBeUndefined();
      });
    }

    it("the registry only reads, and finds one cluster with few requests by name", async () => {
      for (let index = 0; index < 10; index += 1) await put(`many-${index}`);
      requests.length = 0;
      await found("many-3");
      expect(requests.length).toBeLessThanOrEqual(3);
      expect(requests.filter((request) => !request.includes("fieldSelector=metadata.name"))).toEqual([]);
      await registryOf(hub.client).list(hub.cluster, signal);
      expect(requests.length).toBeLessThanOrEqual(6);
      expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
    });

    it("the RBAC rules of the source are sufficient", async () => {
      await put("rights");
      await putKubeconfig("rights", east);
      const name = unique("reader");
      const token = await tokenOfNewAccount(hub.admin, "default", name);
      await hub.admin.create({ type: rbac("clusterroles") }, aClusterRole(name, sourcePolicyRules([source.source])));
      await hub.admin.create(
        { type: rbac("clusterrolebindings") },
        aClusterRoleBinding(name, { name, namespace: "default" }),
      );
      const client = hub.clientAs(token);
      const registry = registryOf(client);
      await eventuallyOk(() => registry.list(hub.cluster, signal));
      const cluster = await find("rights", registry);
      if (cluster === undefined) throw new Error("the reader does not find the cluster");
      expect(await connectedName(cluster, accessWith(client))).toBe("east");
    });

    it("the list fails without permissions", async () => {
      const token = await tokenOfNewAccount(hub.admin, "default", unique("unauthorized"));
      const failing = await registryOf(hub.clientAs(token))
        .list(hub.cluster, signal)
        .catch((error: unknown) => faultOf(error));
      expect(failing).toBe("forbidden");
    });

    if (!source.isNamespaced) {
      it("the namespace scope does not apply to cluster-scoped kinds", async () => {
        await put("unbounded");
        expect(await find("unbounded", registryOf(hub.client, ["elsewhere"]))).toMatchObject({
          id: expect.any(String),
        });
      });
      return;
    }

    describe("namespaced kinds", () => {
      const second = "team-b";
      beforeAll(async () => {
        const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: second } };
        await hub.admin.create({ type: namespaces }, body);
      });

      it("the registry reads only objects in its namespace scope", async () => {
        await put("bounded-a");
        await put("bounded-b", { namespace: second });
        const registry = registryOf(hub.client, [second]);
        const { clusters } = await registry.list(hub.cluster, signal);
        const bounded = clusters.map(({ key }) => key.name).filter((name) => name.startsWith("bounded"));
        expect(bounded).toEqual(["bounded-b"]);
        expect(await find("bounded-a", registry)).toBeUndefined();
        expect(await find("bounded-b", registry)).toMatchObject({ origin: { namespace: second } });
      });

      it("the registry lists only the namespaces of its scope and cluster-scoped kinds", async () => {
        requests.length = 0;
        await registryOf(hub.client, [defaultNamespace, second]).list(hub.cluster, signal);
        const outside = requests.filter(
          (request) => !/\/namespaces\/team-[ab]\//.test(request) && !/\/controlplanes\?/.test(request),
        );
        expect(outside).toEqual([]);
      });

      it("one of two objects with the same name is rejected", async () => {
        await put("twin");
        await put("twin", { namespace: second, server: west.url });
        const { clusters, rejected } = await registryOf(hub.client).list(hub.cluster, signal);
        const [holder, ...more] = clusters.filter(({ key }) => key.name === "twin");
        expect(more).toEqual([]);
        expect(rejected).toMatchObject([{ message: `the name is taken by ${holder?.id}` }]);
        expect(await find("twin")).toEqual(holder);
      });
    });
  });
}
