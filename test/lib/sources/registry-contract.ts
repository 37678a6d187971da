import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnections } from "../../../lib/credentials/connections.ts";
import { pooledTransports } from "../../../lib/credentials/pooled-transport.ts";
import { createSecretCredentials } from "../../../lib/credentials/secret-credentials.ts";
import { clusterFacts } from "../../../lib/placement/observed.ts";
import type { Cluster } from "../../../lib/sources/cluster.ts";
import { type ClusterRegistry, createClusterRegistry } from "../../../lib/sources/registry.ts";
import { rulesOfSources } from "../../../lib/sources/source-kinds.ts";
import { createClusterAccess } from "../../../lib/sources/sourced-credentials.ts";
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
} from "../../contract/vocabulary.ts";
import type { HubForm, HubUnderTest } from "./hubs-under-test.ts";
import { aClusterRegistration } from "./objects.ts";
import { homeNamespace, type SourceUnderTest } from "./sources-under-test.ts";

const signal = new AbortController().signal;
const nodes = { group: "", version: "v1", plural: "nodes" };
const rules = { allowPrivateEndpoints: true };

/** What every source of clusters keeps to, whatever its objects look like and whatever hub they are in. */
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
    const find = (name: string, registry = registryOf(hub.client)): Promise<Cluster | undefined> =>
      registry.find({ cluster: hub.cluster, name }, signal);
    const found = async (name: string): Promise<Cluster> => {
      const cluster = await find(name);
      if (cluster === undefined) throw new Error(`there is no cluster ${name}`);
      return cluster;
    };
    const put = (name: string, more: object = {}): Promise<void> =>
      source.put(hub.admin, { name, server: east.url, ...more });
    const addressOf = ({ origin: { name, namespace } }: Cluster) => {
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
      const body = { apiVersion: "v1", kind: "Secret", metadata: address, data };
      await hub.admin.patch({ type: secrets, ...address }, { type: "apply", body, force: true }, apply);
    };
    const accessOver = (client: KubeClient) =>
      createClusterAccess(
        createSecretCredentials({ hub: createHubRequests(client), rules, clock: systemClock, random: () => 1 }),
      );
    /** The name of the cluster that a way in leads to: its nodes are called after it. */
    const nameBehind = async (cluster: Cluster, access = accessOver(hub.client)): Promise<string> => {
      const outcome = await access.find(cluster, signal);
      if (outcome.kind !== "found") return outcome.message;
      const connections = createConnections({ openTransport: pooledTransports(rules) });
      const { items } = await connections.clientFor(cluster.key, outcome).list<KubeObject>({ type: nodes });
      await connections.close();
      return (items[0]?.metadata.name ?? "").replace(/-node-.*$/, "");
    };

    it("lists its clusters by name, and finds each of them as it is in the list", async () => {
      const names = ["list-c", "list-a", "list-b"];
      for (const name of names) await put(name, { labels: { region: name } });
      const { clusters, turnedAway, notServed } = await registryOf(hub.client).list(hub.cluster, signal);
      const ours = clusters.filter(({ key }) => names.includes(key.name));
      expect(ours.map(({ key }) => key.name)).toEqual(names.toSorted());
      expect({ turnedAway, notServed }).toEqual({ turnedAway: [], notServed: [] });
      for (const cluster of ours) expect(await find(cluster.key.name)).toEqual(cluster);
    });

    it("finds nothing where there is nothing", async () => {
      expect(await find("nobody")).toBeUndefined();
    });

    it("finds nothing by a name that can be none, whatever a selector would make of it", async () => {
      await put("here");
      expect(await find("here,metadata.name!=x")).toBeUndefined();
    });

    it("gives the facts that a registration would", async () => {
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

    it("leads into the cluster", async () => {
      await put("way-in");
      await putKubeconfig("way-in", east);
      const cluster = await found("way-in");
      expect(cluster.pending).toBeUndefined();
      expect(cluster.endpoint).toBe(east.url);
      expect(await nameBehind(cluster)).toBe("east");
    });

    it("says what is missing while the secret is", async () => {
      await put("no-secret");
      const { namespace, name } = source.secretOf("no-secret");
      expect(await nameBehind(await found("no-secret"))).toBe(`secret ${namespace}/${name} is not there`);
    });

    it("leads to another cluster as soon as it is said to be there", async () => {
      const access = accessOver(hub.client);
      await put("moves");
      await putKubeconfig("moves", east);
      const before = await found("moves");
      expect(await nameBehind(before, access)).toBe("east");
      await putKubeconfig("moves", west);
      await put("moves", { server: west.url });
      const after = await found("moves");
      expect(after.digest).not.toBe(before.digest);
      expect(await nameBehind(after, access)).toBe("west");
    });

    it("is the same cluster, with the same way in, while only its labels and status change", async () => {
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
      expect([after.id, after.digest]).toEqual([before.id, before.digest]);
    });

    it("says that a cluster is being deleted, and forgets it when it is gone", async () => {
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
      it("sees nothing of another logical cluster", async () => {
        await put("mine");
        const registry = registryOf(hub.client);
        expect((await registry.list(hub.other, signal)).clusters).toEqual([]);
        expect(await registry.find({ cluster: hub.other, name: "mine" }, signal)).toBeUndefined();
      });
    }

    it("only reads, and for one cluster a few objects by their names", async () => {
      for (let index = 0; index < 10; index += 1) await put(`many-${index}`);
      requests.length = 0;
      await found("many-3");
      expect(requests.length).toBeLessThanOrEqual(3);
      expect(requests.filter((request) => !request.includes("fieldSelector=metadata.name"))).toEqual([]);
      await registryOf(hub.client).list(hub.cluster, signal);
      expect(requests.length).toBeLessThanOrEqual(6);
      expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
    });

    it("needs no other rights than it says", async () => {
      await put("rights");
      await putKubeconfig("rights", east);
      const name = unique("reader");
      const token = await tokenOfNewAccount(hub.admin, "default", name);
      await hub.admin.create({ type: rbac("clusterroles") }, aClusterRole(name, rulesOfSources([source.source])));
      await hub.admin.create(
        { type: rbac("clusterrolebindings") },
        aClusterRoleBinding(name, { name, namespace: "default" }),
      );
      const client = hub.clientAs(token);
      const registry = registryOf(client);
      await eventuallyOk(() => registry.list(hub.cluster, signal));
      const cluster = await find("rights", registry);
      if (cluster === undefined) throw new Error("the reader does not find the cluster");
      expect(await nameBehind(cluster, accessOver(client))).toBe("east");
    });

    it("fails as a whole for those without rights", async () => {
      const token = await tokenOfNewAccount(hub.admin, "default", unique("stranger"));
      const failing = await registryOf(hub.clientAs(token))
        .list(hub.cluster, signal)
        .catch((error: unknown) => faultOf(error));
      expect(failing).toBe("forbidden");
    });

    if (!source.isNamespaced) {
      it("is not bounded by namespaces, being in none", async () => {
        await put("unbounded");
        expect(await find("unbounded", registryOf(hub.client, ["elsewhere"]))).toMatchObject({
          id: expect.any(String),
        });
      });
      return;
    }

    describe("in namespaces", () => {
      const second = "team-b";
      beforeAll(async () => {
        const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: second } };
        await hub.admin.create({ type: namespaces }, body);
      });

      it("sees those of its scope only", async () => {
        await put("bounded-a");
        await put("bounded-b", { namespace: second });
        const registry = registryOf(hub.client, [second]);
        const { clusters } = await registry.list(hub.cluster, signal);
        const bounded = clusters.map(({ key }) => key.name).filter((name) => name.startsWith("bounded"));
        expect(bounded).toEqual(["bounded-b"]);
        expect(await find("bounded-a", registry)).toBeUndefined();
        expect(await find("bounded-b", registry)).toMatchObject({ origin: { namespace: second } });
      });

      it("asks for nothing outside its scope but what is in no namespace", async () => {
        requests.length = 0;
        await registryOf(hub.client, [homeNamespace, second]).list(hub.cluster, signal);
        const outside = requests.filter(
          (request) => !/\/namespaces\/team-[ab]\//.test(request) && !/\/controlplanes\?/.test(request),
        );
        expect(outside).toEqual([]);
      });

      it("gives a name to one of two, and says what became of the other", async () => {
        await put("twin");
        await put("twin", { namespace: second, server: west.url });
        const { clusters, turnedAway } = await registryOf(hub.client).list(hub.cluster, signal);
        const [holder, ...more] = clusters.filter(({ key }) => key.name === "twin");
        expect(more).toEqual([]);
        expect(turnedAway).toMatchObject([{ message: `the name is taken by ${holder?.id}` }]);
        expect(await find("twin")).toEqual(holder);
      });
    });
  });
}
