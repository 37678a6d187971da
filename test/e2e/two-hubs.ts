import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { kinds } from "../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../lib/api/resource-schema.ts";
import { syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { hubRecordAddress } from "../../lib/upstream/hub-record.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { unique } from "../contract/resources.ts";
import { tmc } from "../lib/cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, runRefused, startController } from "./controller-process.ts";
import type { SuiteSettings } from "./environment.ts";
import { tenantOf } from "./tenant.ts";
import { aDeployment, type Deployment, present, workTypes } from "./tenant-work.ts";
import { formatWrite, startWriteLog } from "./write-log.ts";

/** A plain Kubernetes cluster as a server that TMC connects to. */
export type Server = Readonly<{ endpoint: Endpoint; token: string }>;
/** Two hubs and the cluster that both of them register. */
export type HubParts = Readonly<{
  one: Server;
  two: Server;
  cluster: Server;
  /** Starts another server from a backup of the first hub. */
  cloneOfOne(): Promise<Server>;
  stop(): Promise<void>;
}>;

const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
/** Other tests may have copies on the same cluster. */
const web = { type: workTypes.Deployment, namespace: "shop", name: unique("web") } as const;
type HubName = "one" | "two" | "clone";

/** Holds control planes that share a cluster to keeping apart: neither changes what the other has there. */
export function twoHubsScenario(
  { kind, testMs, waitMs, startMs }: SuiteSettings,
  start: () => Promise<HubParts>,
): void {
  describe(`control planes that share a cluster, on ${kind} parts`, { timeout: testMs }, () => {
    let parts: HubParts;
    let folder = "";
    let cluster: KubeClient;
    const hubs = new Map<HubName, KubeClient>();
    const clients: KubeClient[] = [];
    const controllers: ControllerProcess[] = [];

    const open = ({ endpoint, token }: Server): KubeClient => {
      const to = { ...endpoint, token: async () => token };
      const client = createKubeClient({ endpoint: to, transport: createUndiciTransport(to), userAgent: "tmc-e2e" });
      clients.push(client);
      return client;
    };
    const kubeconfigOf = (name: string): string => join(folder, `${name}.kubeconfig`);
    const addHub = async (name: HubName, server: Server): Promise<KubeClient> => {
      await writeKubeconfig(kubeconfigOf(name), { contexts: [{ name, ...server }] });
      const client = open(server);
      hubs.set(name, client);
      return client;
    };
    const on = (name: HubName): KubeClient => {
      const client = hubs.get(name);
      if (client === undefined) throw new Error(`no hub ${name}`);
      return client;
    };
    const flags = (name: HubName): readonly string[] => [
      `--kcp-kubeconfig=${kubeconfigOf(name)}`,
      "--hub=kubernetes",
      `--cluster-kubeconfigs=shared=${kubeconfigOf("cluster")}`,
      "--heartbeat-interval=1s",
      "--resync-period=1s",
    ];
    const startOn = async (name: HubName): Promise<ControllerProcess> => {
      const controller = await startController(folder, flags(name));
      controllers.push(controller);
      await controller.untilReady(waitMs);
      return controller;
    };
    /** Both controllers have reconciled everything again, and the cluster has got what they wanted to write. */
    const resynced = async (controller: ControllerProcess): Promise<void> => {
      const reconciles = () => controller.metric("tmc_reconcile_total", { kind: "Workload" });
      const before = await reconciles();
      await eventually(async () => {
        const more = (await reconciles()) - before;
        return more > 4 ? undefined : `${more} reconciles`;
      }, waitMs);
    };
    /** The copies of web on the cluster, by their number of replicas. */
    const copies = async (): Promise<readonly Deployment[]> =>
      (await cluster.list<Deployment>({ type: workTypes.Deployment }, { labelSelector: syncedLabel })).items
        .filter(({ metadata }) => metadata.name === web.name)
        .toSorted((a, b) => (a.spec.replicas ?? 0) - (b.spec.replicas ?? 0));
    const untilCopies = async (...replicas: readonly number[]): Promise<readonly Deployment[]> => {
      let seen: readonly Deployment[] = [];
      await eventually(async () => {
        seen = await copies();
        const found = seen.map(({ spec }) => spec.replicas).join();
        return found === replicas.join() ? undefined : `the copies have ${found || "no"} replicas`;
      }, waitMs);
      return seen;
    };
    const uids = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.uid);
    const idOf = async (name: HubName): Promise<unknown> => Object(await on(name).get(hubRecordAddress)).data?.id;
    const run = (name: HubName, ...args: readonly string[]) => tmc([...args, "--kubeconfig", kubeconfigOf(name)]);

    /** A hub with a registration of the cluster, and a placed Deployment. */
    const furnish = async (name: HubName, replicas: number): Promise<void> => {
      const client = on(name);
      for (const each of kinds) await client.create({ type: crds }, customResourceDefinition(each));
      await eventually(async () => {
        for (const type of Object.values(reconciledTypes)) {
          const failure: unknown = await client.list({ type }).then(
            () => undefined,
            (error: unknown) => error,
          );
          if (faultOf(failure) !== undefined) return `${type.plural}: ${String(failure)}`;
        }
        return undefined;
      }, waitMs);
      await client.create({ type: workTypes.Namespace }, shop);
      const hub = tenantOf(client, waitMs);
      await hub.register("shared", { location: "us-east-1" });
      await hub.place("shop", { workloadSelector: { namespaces: ["shop"] } });
      await client.create(
        { type: web.type, namespace: web.namespace },
        aDeployment(web.namespace, web.name, { replicas }),
      );
    };

    beforeAll(async () => {
      parts = await start();
      folder = await mkdtemp(join(tmpdir(), "tmc-hubs-"));
      await writeKubeconfig(kubeconfigOf("cluster"), { contexts: [{ name: "cluster", ...parts.cluster }] });
      cluster = open(parts.cluster);
      for (const name of ["one", "two"] as const) await addHub(name, parts[name]);
      await Promise.all([furnish("one", 1), furnish("two", 2)]);
    }, startMs);
    afterAll(async () => {
      await Promise.all(controllers.map((each) => each.kill()));
      const left = cluster === undefined ? [] : await copies();
      for (const { metadata } of left) {
        await cluster.delete({ type: workTypes.Namespace, name: metadata.namespace ?? "" });
      }
      await Promise.all(clients.map((each) => each.close()));
      await parts?.stop();
      await rm(folder, { recursive: true, force: true });
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail") return;
      for (const each of controllers)
        process.stderr.write(`${(await each.output()).split("\n").slice(-25).join("\n")}\n`);
    });

    it("two hubs that register it under the same name have separate namespaces, and do not overwrite each other", async () => {
      const started = [await startOn("one"), await startOn("two")];
      const before = await untilCopies(1, 2);
      expect(new Set(before.map(({ metadata }) => metadata.namespace)).size).toBe(2);
      expect(await idOf("one")).not.toEqual(await idOf("two"));
      for (const name of ["one", "two"] as const)
        await tenantOf(on(name), waitMs).untilCluster("shared", "True ClusterReady");

      const log = await startWriteLog(
        cluster,
        [{ type: workTypes.Deployment }, { type: workTypes.Namespace }],
        syncedLabel,
      );
      for (const controller of started) await resynced(controller);
      const writes = (await log.end()).map(formatWrite);
      expect(writes.filter((each) => each.endsWith(" by tmc"))).toEqual([]);
      expect(uids(await copies())).toEqual(uids(before));
    });

    it("a restored copy of a hub changes nothing until a user says what it is", async () => {
      const clone = await addHub("clone", await parts.cloneOfOne());
      const before = await copies();
      // What the copy would do: its workload has other replicas now, and a new one is placed.
      await clone.patch(web, { type: "merge", body: { spec: { replicas: 5 } } });
      const { code, err } = await runRefused([...flags("clone"), "--metrics-port=0", "--health-port=0"]);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/hub identity: HubIdentityChanged: .*tmc hub new-identity/),
      ]);
      expect((await copies()).map(({ metadata: { uid, generation } }) => ({ uid, generation }))).toEqual(
        before.map(({ metadata: { uid, generation } }) => ({ uid, generation })),
      );

      const renewed = await run("clone", "hub", "new-identity", "--yes");
      expect(renewed, renewed.err).toMatchObject({ code: 0 });
      expect(await idOf("clone")).not.toEqual(await idOf("one"));
      const controller = await startOn("clone");
      const after = await untilCopies(1, 2, 5);
      expect(uids(after).slice(0, 2)).toEqual(uids(before));
      await resynced(controller);
      await controller.kill();
      expect(uids(await copies())).toEqual(uids(after));
    });

    it("deleting the workload of one leaves the copies of the others", async () => {
      const before = await untilCopies(1, 2, 5);
      await on("one").delete(web);
      await eventually(async () => {
        const left = await present(on("one").get<KubeObject>(web));
        return left === undefined ? undefined : `web is left: ${JSON.stringify(left.metadata)}`;
      }, waitMs);
      expect(uids(await untilCopies(2, 5))).toEqual(uids(before).slice(1));
    });
  });
}
