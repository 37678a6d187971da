import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { faultOf } from "@tmc/kube/errors.ts";
import { describe, expect, it } from "vitest";
import { kinds } from "../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../lib/api/resource-schema.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { eventually } from "../support/eventually.ts";
import { runRefused } from "./controller-process.ts";
import { bothRegions, distinct, engineCases, versions } from "./engine-cases.ts";
import { clusterNames, type Parts, type SuiteSettings, tenantWorkspace } from "./environment.ts";
import { useProcessEnvironment } from "./process-environment.ts";
import { readyOf, selectedClusters, tenantOf } from "./tenant.ts";

const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

/** Holds the whole engine to its promises: the real command against a kcp and clusters that die in the middle of it. */
export function engineScenario(setting: SuiteSettings, startParts: () => Promise<Parts>): void {
  const { kind, testMs, waitMs } = setting;
  describe(`the engine on ${kind} parts`, { timeout: testMs }, () => {
    const stage = useProcessEnvironment(setting, { startParts, flags: ["--resync-period=30s"] });
    const { start, startBy, running } = stage;

    engineCases(() => stage, waitMs);

    it("waits for an unreachable kcp, and stops waiting on SIGTERM", async () => {
      const { world } = stage;
      const controller = await running();
      await world.parts.kcp.kill();
      await eventually(async () => {
        const { status } = await controller.ask("/readyz");
        return status === 503 ? undefined : `/readyz answers ${status} while kcp is away`;
      }, waitMs);
      expect((await controller.ask("/livez")).status).toBe(200);
      // The order of starts is not known: one controller waits for kcp, and one gets SIGTERM while it waits.
      const [early, tired] = await Promise.all([start(), start()]);
      expect((await early.ask("/readyz")).status).toBe(503);
      tired.terminate();
      expect(await tired.exit).toBe(0);
      await world.parts.kcp.revive();
      for (const each of [controller, early]) await each.untilReady(waitMs);
      early.terminate();
      expect(await early.exit).toBe(0);
      expect(controller.ended()).toBeUndefined();
    });

    it("runs two controllers at once without status flapping", async () => {
      const { tenant } = stage;
      const one = await running();
      const [placements, clusters] = [await tenant.placements(), await tenant.clusters()];
      const probesOfOne = await one.metric("tmc_probe_total");
      const two = await start("--resync-period=1s");
      await two.untilReady(waitMs);
      const objects = placements.length + clusters.length;
      await eventually(async () => {
        const reconciles = await two.metric("tmc_reconcile_total");
        const probes = (await one.metric("tmc_probe_total")) - probesOfOne;
        return reconciles > 3 * objects && probes > 6 ? undefined : `${reconciles} reconciles, ${probes} probes`;
      }, waitMs);
      expect(versions(await tenant.placements())).toEqual(versions(placements));
      const lasting = (list: typeof clusters) =>
        list.map(({ metadata, spec, status: { lastHeartbeat: _, ...status } = {} }) => ({
          name: metadata.name,
          spec,
          status,
        }));
      expect(lasting(await tenant.clusters())).toEqual(lasting(clusters));

      const endOfStates = await tenant.follow("placement");
      const names = Array.from({ length: 20 }, (_, at) => `both-${at}`);
      await Promise.all(names.map((name) => tenant.place(name, bothRegions)));
      const decided = await tenant.untilDecided(names);
      await eventually(async () => {
        const reconciles = await two.metric("tmc_reconcile_total");
        return reconciles > 6 * objects ? undefined : `${reconciles} reconciles`;
      }, waitMs);
      const states = await endOfStates();
      for (const name of names) {
        const own = states.filter(({ metadata }) => metadata.name === name).map(selectedClusters);
        expect(distinct(own.filter((clusters) => clusters !== "")), name).toHaveLength(1);
      }
      expect(
        versions((await tenant.placements()).filter(({ metadata }) => names.includes(metadata.name ?? ""))),
      ).toEqual(versions(decided));
      two.terminate();
      expect(await two.exit).toBe(0);
    });

    it("with --leader-elect, one of two replicas works, and the other takes over if that one is killed", async () => {
      const { world } = stage;
      const lease = ["--leader-elect", `--leader-elect-kubeconfig=${world.clusterKubeconfigs["us-east"]}`];
      const flags = [...lease, "--leader-elect-lease-duration=3s"];
      const first = await start(...flags);
      const leads = async (controller: typeof first): Promise<boolean> => (await controller.metric("tmc_leader")) === 1;
      const untilLeader = (controller: typeof first): Promise<void> =>
        eventually(async () => ((await leads(controller)) ? undefined : await controller.output()), waitMs);
      await untilLeader(first);
      await first.untilReady(waitMs);
      const second = await start(...flags);
      // It waits, and is ready, so that a rolling update goes on.
      await second.untilReady(waitMs);
      expect([await leads(first), await leads(second)]).toEqual([true, false]);
      expect(await second.metric("tmc_reconcile_total")).toBe(0);
      await first.kill();
      await untilLeader(second);
      await eventually(async () => {
        const reconciles = await second.metric("tmc_reconcile_total");
        return reconciles > 0 ? undefined : "it has reconciled nothing";
      }, waitMs);
      // A released Lease needs no waiting.
      const third = await start(...flags);
      await third.untilReady(waitMs);
      second.terminate();
      expect(await second.exit).toBe(0);
      await untilLeader(third);
      third.terminate();
      expect(await third.exit).toBe(0);
    });

    it("serves health while it runs, and drains on the first SIGTERM", async () => {
      const controller = await running();
      for (const path of ["/readyz", "/livez", "/healthz"]) expect((await controller.ask(path)).status, path).toBe(200);
      expect(await controller.metric("tmc_clusters", { ready: "true" })).toBe(2);
      controller.terminate();
      expect(await controller.exit).toBe(0);
      expect((await controller.messages()).slice(-2)).toEqual(["controller stopping", "controller stopped"]);
      expect((await controller.ask("/livez")).status).toBe(0);
    });

    it("exits immediately on the second SIGTERM", async () => {
      const { world } = stage;
      const controller = await running();
      for (const name of clusterNames) world.parts.clusters[name].freeze();
      try {
        await eventually(async () => {
          const inFlight = await controller.metric("tmc_queue_in_flight");
          return inFlight >= 2 ? undefined : `${inFlight} probes hang`;
        }, waitMs);
        controller.terminate();
        await eventually(async () => {
          const drains = (await controller.messages()).includes("controller stopping");
          return drains ? undefined : "it does not drain";
        }, waitMs);
        controller.terminate();
        expect(await controller.exit).toBe(130);
        expect(await controller.messages()).not.toContain("controller stopped");
      } finally {
        for (const name of clusterNames) world.parts.clusters[name].thaw();
      }
    });

    it("rejects an unusable configuration with one clear line", async () => {
      const { world } = stage;
      const noYaml = join(world.folder, "no-yaml");
      await writeFile(noYaml, "{ this is: [no kubeconfig");
      const busy = createServer();
      await new Promise<void>((resolve) => busy.listen(0, resolve));
      const address = busy.address();
      const port = String(typeof address === "object" && address !== null ? address.port : 0);
      const { kcpKubeconfig, clusterKubeconfigs } = world;
      const east = clusterKubeconfigs["us-east"];
      const line = (changes: Readonly<Record<string, string>>) =>
        Object.entries({
          "kcp-kubeconfig": kcpKubeconfig,
          workspace: tenantWorkspace,
          "cluster-kubeconfigs": `us-east=${east}`,
          "metrics-port": "0",
          "health-port": "0",
          "log-level": "0",
          ...changes,
        }).map(([option, value]) => `--${option}=${value}`);

      const refusals: Readonly<Record<string, readonly [flags: readonly string[], ...words: readonly string[]]>> = {
        "a kubeconfig that is not there": [
          line({ "kcp-kubeconfig": "/no/such/file" }),
          "/no/such/file",
          "no such file",
        ],
        "a kubeconfig that is a folder": [line({ "kcp-kubeconfig": world.folder }), world.folder],
        "a kubeconfig that is none": [line({ "kcp-kubeconfig": noYaml }), "kubeconfig"],
        "a workspace that is not there": [line({ workspace: "root:nobody" }), '"root:nobody"', "there is none"],
        "a path where a workspace belongs": [line({ workspace: east }), `"${east}"`, "root:org:team"],
        "a path where a cluster's name belongs": [line({ "cluster-kubeconfigs": east }), `"${east}"`, "name=path"],
        "a port in use": [line({ "health-port": port }), "--health-port", `port ${port} is in use`],
        "no clusters": [line({ "cluster-kubeconfigs": "" }), "--cluster-kubeconfigs", "is missing"],
        "everything at once": [
          [
            ...line({ workspace: "a/b", "worker-count": "0", "resync-period": "soon", "log-level": "11" }),
            "--nonsense",
          ],
          '--workspace "a/b"',
          '--worker-count "0"',
          '--resync-period "soon"',
          '--log-level "11"',
          "--nonsense",
        ],
      };
      try {
        for (const [what, [flags, ...words]] of Object.entries(refusals)) {
          const { code, out, err } = await runRefused(flags);
          expect([1, 2], `${what}: ${err}`).toContain(code);
          expect(out, what).toBe("");
          expect(err, what).toMatch(/^tmc: [^\n]+\n$/);
          for (const word of words) expect(err, what).toContain(word);
        }
      } finally {
        busy.close();
      }
    });

    it("runs with a plain Kubernetes cluster with TMC's CRDs as the hub", async () => {
      const { world } = stage;
      const client = world.clusterClient("us-east");
      for (const each of kinds) await client.create({ type: crds }, customResourceDefinition(each));
      await eventually(async () => {
        for (const type of Object.values(reconciledTypes)) {
          const error: unknown = await client.list({ type }).then(
            () => undefined,
            (failure: unknown) => failure,
          );
          if (faultOf(error) !== undefined) return `${type.plural}: ${String(error)}`;
        }
        return undefined;
      }, waitMs);
      const hub = tenantOf(client, waitMs);
      const controller = await startBy([
        `--kcp-kubeconfig=${world.clusterKubeconfigs["us-east"]}`,
        "--hub=kubernetes",
        `--cluster-kubeconfigs=us-west=${world.clusterKubeconfigs["us-west"]}`,
        "--heartbeat-interval=1s",
      ]);
      await hub.register("us-west", { location: "us-west-2" });
      await hub.place("web");
      await hub.untilCluster("us-west", "True ClusterReady");
      await hub.untilChosen("web", ["us-west"]);

      await hub.remove("cluster", "us-west");
      await eventually(async () => {
        const ready = readyOf(await hub.placement("web"));
        return ready === "False NoClusters" ? undefined : `web is ${ready}`;
      }, waitMs);
      expect(await hub.clusters()).toEqual([]);
      controller.terminate();
      expect(await controller.exit).toBe(0);
    });
  });
}
