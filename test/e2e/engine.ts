import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { customResourceDefinition } from "../../lib/api/crd.ts";
import { kinds } from "../../lib/api/kinds.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { reconciledTypes } from "../../lib/kcp/direct-hub.ts";
import { faultOf } from "../../lib/kube/errors.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, runRefused, startController } from "./controller-process.ts";
import { chosenBy, decisionOn, isDecided, readyOf, type Tenant, tenantOf } from "./tenant.ts";
import { clusterNames, furnish, type Parts, tenantWorkspace, type World } from "./world.ts";

/** Where the cases run, and how long they may take there. */
export type Setting = Readonly<{ kind: "embedded" | "real"; testMs: number; waitMs: number; startMs: number }>;

const bothRegions = {
  locationSelector: { matchExpressions: [{ key: "region", operator: "In", values: ["us-east", "us-west"] }] },
};
const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

/** Holds the whole engine to its promises: the real command against a kcp and clusters that die in the middle of it. */
export function engineScenario({ kind, testMs, waitMs, startMs }: Setting, startParts: () => Promise<Parts>): void {
  describe(`the engine on ${kind} parts`, { timeout: testMs }, () => {
    let world: World;
    let tenant: Tenant;
    let main: ControllerProcess | undefined;
    const started: ControllerProcess[] = [];

    /** Starts a controller by the documented line, with the flags that a case changes behind it. */
    const start = async (...more: readonly string[]): Promise<ControllerProcess> => {
      const clusters = clusterNames.map((name) => `${name}=${world.clusterKubeconfigs[name]}`).join(",");
      const controller = await startController(world.folder, [
        `--kcp-kubeconfig=${world.kcpKubeconfig}`,
        `--workspace=${tenantWorkspace}`,
        `--cluster-kubeconfigs=${clusters}`,
        "--resync-period=30s",
        "--worker-count=5",
        "--heartbeat-interval=1s",
        ...more,
      ]);
      started.push(controller);
      return controller;
    };
    /** The controller that runs through the cases; a new one where a case has ended it. */
    const running = async (): Promise<ControllerProcess> => {
      if (main === undefined || main.ended() !== undefined) main = await start();
      await main.untilReady(waitMs);
      return main;
    };
    const chosen = async (): Promise<Readonly<Record<string, string>>> =>
      Object.fromEntries((await tenant.placements()).map((each) => [each.metadata.name ?? "", chosenBy(each)]));

    beforeAll(async () => {
      world = await furnish(await startParts());
      tenant = tenantOf(world.tenant, waitMs);
    }, startMs);
    afterAll(async () => {
      await Promise.all(started.map((each) => each.kill()));
      await world?.stop();
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail") return;
      for (const each of started.filter((one) => one.ended() === undefined)) {
        process.stderr.write(`${(await each.output()).split("\n").slice(-25).join("\n")}\n`);
      }
    });

    it("judges clusters with and without credentials, and takes the examples as they are", async () => {
      await running();
      await tenant.applyExample("cluster-registration.yaml", reconciledTypes.ClusterRegistration);
      await tenant.applyExample("workload-placement.yaml", reconciledTypes.WorkloadPlacement);
      await tenant.applyExample("deployment.yaml", { group: "apps", version: "v1", plural: "deployments" }, "default");
      await tenant.applyExample("service.yaml", { group: "", version: "v1", plural: "services" }, "default");
      await tenant.register("us-east", { location: "us-east-1" }, { region: "us-east" });
      await tenant.register("unknown", { location: "nowhere" });
      await tenant.offerSecret("kubeconfig", await readFile(world.clusterKubeconfigs["us-east"], "utf8"));
      const secretRef = { namespace: "default", name: "kubeconfig" };
      await tenant.register("inside", { location: "nowhere", credentials: { secretRef } });

      for (const name of clusterNames) {
        const { status, metadata } = await tenant.untilCluster(name, "True ClusterReady");
        expect(status).toMatchObject({
          kubernetesVersion: expect.stringMatching(/^v1\.\d+/),
          nodes: { total: expect.any(Number) },
          lastHeartbeat: expect.stringMatching(/^20.*Z$/),
          observedGeneration: metadata.generation,
        });
        expect(status?.nodes?.total).toBeGreaterThan(0);
      }
      const unknown = await tenant.untilCluster("unknown", "False ClusterNotConfigured");
      expect(unknown.status?.conditions).toMatchObject([{ severity: "Error", observedGeneration: 1 }]);
      expect(unknown.status).not.toHaveProperty("lastHeartbeat");
      // A tenant's own kubeconfig is read, and must not lead the controller to servers beside it.
      const inside = await tenant.untilCluster("inside", "False EndpointRefused");
      expect(inside.status?.conditions?.[0]?.message).toContain("private network");
      await tenant.untilChosen("web", ["us-west"]);
    });

    it("decides by each strategy and explains every cluster in the tenant's workspace", async () => {
      await running();
      await tenant.place("dealt", bothRegions);
      await tenant.place("everywhere", { strategy: "Spread", ...bothRegions });
      const term = { matchLabels: { region: "us-east" } };
      const affinity = { clusterAffinity: { preferred: [{ weight: 50, term }] } };
      await tenant.place("drawn", { strategy: "Affinity", affinity });

      const [dealt] = await tenant.untilDecided(["dealt"]);
      expect(dealt?.status?.selectedClusters).toHaveLength(1);
      const everywhere = await tenant.untilChosen("everywhere", ["us-east", "us-west"]);
      expect(readyOf(everywhere)).toBe("True PlacementReady");
      expect(decisionOn(everywhere, "unknown")).toMatchObject({ selected: false, reason: "SelectorMismatch" });
      const drawn = await tenant.untilChosen("drawn", ["us-east"]);
      expect(decisionOn(drawn, "us-east")).toMatchObject({ selected: true, reason: "Chosen" });
      expect(decisionOn(drawn, "us-west")).toMatchObject({ selected: false, reason: "NotChosen" });
      expect(decisionOn(drawn, "unknown")).toMatchObject({ selected: false, reason: "NotReady" });
      expect(decisionOn(drawn, "us-east")?.score).toBeGreaterThan(decisionOn(drawn, "us-west")?.score ?? Infinity);
    });

    it("says which label nobody has, and chooses the cluster that gets it", async () => {
      await running();
      await tenant.place("golden", { locationSelector: { matchLabels: { tier: "gold" } } });
      const missed = await tenant.untilChosen("golden", []);
      expect(readyOf(missed)).toBe("False NoSuitableClusters");
      expect(missed.status?.conditions?.[0]?.message).toContain("tier");
      for (const { metadata } of await tenant.clusters()) {
        expect(decisionOn(missed, metadata.name ?? "")).toMatchObject({ reason: "SelectorMismatch" });
      }
      await tenant.label("us-east", { tier: "gold" });
      expect(readyOf(await tenant.untilChosen("golden", ["us-east"]))).toBe("True PlacementReady");
    });

    it("moves from a cluster that dies only what must move, and nothing back when it returns", async () => {
      await running();
      const preferred = { preferredClusters: ["us-west"] };
      const impatient = {
        key: "tmc.kcp.io/not-ready",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 1,
      };
      await tenant.place("patient", preferred);
      await tenant.place("impatient", { ...preferred, tolerations: [impatient] });
      await tenant.untilChosen("patient", ["us-west"]);
      await tenant.untilChosen("impatient", ["us-west"]);
      const before = await chosen();
      const endOfStates = await tenant.follow("cluster");

      await world.parts.clusters["us-west"].kill();
      await tenant.untilCluster("us-west", "False ClusterUnhealthy");
      const moved = await tenant.untilChosen("impatient", ["us-east"]);
      expect(decisionOn(moved, "us-west")).toMatchObject({ selected: false, reason: "NotReady" });
      await tenant.place("late", preferred);
      await tenant.untilChosen("late", ["us-east"]);
      await eventually(async () => {
        const reason = decisionOn(await tenant.placement("patient"), "us-west")?.reason;
        return reason === "KeptTolerated" ? undefined : `patient is on us-west for the reason ${reason}`;
      }, waitMs);

      await world.parts.clusters["us-west"].revive();
      await tenant.untilCluster("us-west", "True ClusterReady");
      await eventually(async () => {
        const reason = decisionOn(await tenant.placement("patient"), "us-west")?.reason;
        return reason === "Chosen" ? undefined : `patient is on us-west for the reason ${reason}`;
      }, waitMs);
      expect(await chosen()).toEqual({ ...before, impatient: "us-east", late: "us-east" });

      const states = (await endOfStates()).filter(({ metadata }) => metadata.name === "us-west");
      const steps = states.map((state) => {
        const { consecutiveFailures = 0, consecutiveSuccesses = 0 } = state.status ?? {};
        return `${readyOf(state)} ${consecutiveFailures}/${consecutiveSuccesses}`;
      });
      const lost = steps.findIndex((step) => step.startsWith("False"));
      expect(distinct(steps.slice(0, lost + 1)).filter((step) => step !== "True ClusterReady 0/0")).toEqual([
        "True ClusterReady 1/0",
        "True ClusterReady 2/0",
        "False ClusterUnhealthy 3/0",
      ]);
      const back = steps.findIndex((step, at) => at > lost && step.startsWith("True"));
      expect(steps[back - 1]).toBe("False ClusterUnhealthy 0/1");
      expect(steps.slice(back)).not.toContainEqual(expect.stringMatching(/^False/));
    });

    it("takes a cluster for not ready that answers and says so, and trusts it again when it is well", async () => {
      await running();
      await tenant.remove("placement", "impatient");
      const before = await chosen();
      await world.parts.clusters["us-east"].loseStore();
      const { status } = await tenant.untilCluster("us-east", "False ClusterUnhealthy");
      expect(status?.conditions?.[0]?.message).not.toMatch(/\n/);
      await world.parts.clusters["us-east"].regainStore();
      await tenant.untilCluster("us-east", "True ClusterReady");
      expect(await chosen()).toEqual(before);
    });

    it("decides everything once after the controller is killed in the middle of its work", async () => {
      const killed = await running();
      await Promise.all(
        (await tenant.placements()).map(({ metadata }) => tenant.remove("placement", metadata.name ?? "")),
      );
      await eventually(
        async () => ((await tenant.placements()).length === 0 ? undefined : "placements are left"),
        waitMs,
      );
      const names = Array.from({ length: 50 }, (_, at) => `shop-${at}`);
      const created: WorkloadPlacement[] = [];
      for (const name of names) {
        created.push(await tenant.place(name, bothRegions));
        if (created.length === 20) {
          await tenant.untilDecided(names.slice(0, 5));
          await killed.kill();
        }
      }
      const half = await tenant.placements();
      expect(half.filter(isDecided).length).toBeLessThan(50);
      const decided = half.filter(isDecided);
      expect(decided.length).toBeGreaterThanOrEqual(5);

      await running();
      const all = await tenant.untilDecided(names);
      expect(await tenant.placements()).toHaveLength(50);
      expect(uids(all)).toEqual(uids(created));
      for (const { metadata, status } of decided) {
        const now = all.find((each) => each.metadata.name === metadata.name);
        expect({ of: now?.metadata.name, at: now?.metadata.resourceVersion, status: now?.status }).toEqual({
          of: metadata.name,
          at: metadata.resourceVersion,
          status,
        });
      }
      const shares = clusterNames.map((name) => all.filter((each) => chosenBy(each) === name).length);
      expect(shares).toEqual([25, 25]);
    });

    it("goes on by itself after kcp is killed in the middle of its work", async () => {
      const controller = await running();
      const before = await tenant.placements();
      const names = Array.from({ length: 20 }, (_, at) => `after-${at}`);
      for (const name of names.slice(0, 10)) await tenant.place(name, bothRegions);
      await world.parts.kcp.kill();
      await eventually(async () => {
        const { status } = await controller.ask("/readyz");
        return status === 503 ? undefined : `/readyz answers ${status} while kcp is away`;
      }, waitMs);
      expect((await controller.ask("/livez")).status).toBe(200);
      // Nobody can say in which order things start: one waits for kcp, and one is told to stop waiting.
      const [early, tired] = await Promise.all([start(), start()]);
      expect((await early.ask("/readyz")).status).toBe(503);
      tired.terminate();
      expect(await tired.exit).toBe(0);
      await world.parts.kcp.revive();
      await eventually(async () => {
        const answer = await tenant.placements().catch((error: unknown) => error);
        return Array.isArray(answer) ? undefined : `kcp does not answer yet: ${String(answer)}`;
      }, waitMs);
      for (const name of names.slice(10)) await tenant.place(name, bothRegions);

      const all = await tenant.untilDecided(names);
      for (const placement of all) expect(placement.status?.selectedClusters).toHaveLength(1);
      for (const each of [controller, early]) await each.untilReady(waitMs);
      early.terminate();
      expect(await early.exit).toBe(0);
      expect(controller.ended()).toBeUndefined();
      const now = await tenant.placements();
      expect(versions(now.filter(({ metadata }) => !names.includes(metadata.name ?? "")))).toEqual(versions(before));
      for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    });

    it("lets two controllers work at once without a change of what either has said", async () => {
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
        const own = states.filter(({ metadata }) => metadata.name === name).map(chosenBy);
        expect(distinct(own.filter((clusters) => clusters !== "")), name).toHaveLength(1);
      }
      expect(
        versions((await tenant.placements()).filter(({ metadata }) => names.includes(metadata.name ?? ""))),
      ).toEqual(versions(decided));
      two.terminate();
      expect(await two.exit).toBe(0);
    });

    it("answers for its health while it runs, and drains at the first SIGTERM", async () => {
      const controller = await running();
      for (const path of ["/readyz", "/livez", "/healthz"]) expect((await controller.ask(path)).status, path).toBe(200);
      expect(await controller.metric("tmc_clusters", { ready: "true" })).toBe(2);
      controller.terminate();
      expect(await controller.exit).toBe(0);
      expect((await controller.messages()).slice(-2)).toEqual(["controller drains", "controller ended"]);
      expect((await controller.ask("/livez")).status).toBe(0);
    });

    it("ends at once at the second SIGTERM, whatever is under way", async () => {
      const controller = await running();
      for (const name of clusterNames) world.parts.clusters[name].freeze();
      try {
        await eventually(async () => {
          const inFlight = await controller.metric("tmc_queue_in_flight");
          return inFlight >= 2 ? undefined : `${inFlight} probes hang`;
        }, waitMs);
        controller.terminate();
        await eventually(async () => {
          const drains = (await controller.messages()).includes("controller drains");
          return drains ? undefined : "it does not drain";
        }, waitMs);
        controller.terminate();
        expect(await controller.exit).toBe(130);
        expect(await controller.messages()).not.toContain("controller ended");
      } finally {
        for (const name of clusterNames) world.parts.clusters[name].thaw();
      }
    });

    it("refuses what it cannot work with in one clear line", async () => {
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

    it("takes a plain Kubernetes cluster with our kinds as its hub", async () => {
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
      const controller = await startController(world.folder, [
        `--kcp-kubeconfig=${world.clusterKubeconfigs["us-east"]}`,
        "--hub=kubernetes",
        `--cluster-kubeconfigs=us-west=${world.clusterKubeconfigs["us-west"]}`,
        "--heartbeat-interval=1s",
      ]);
      started.push(controller);
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

const distinct = <T>(list: readonly T[]): T[] => [...new Set(list)];

function uids(list: readonly WorkloadPlacement[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(list.map(({ metadata }) => [metadata.name ?? "", metadata.uid]));
}

function versions(list: readonly WorkloadPlacement[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(list.map(({ metadata }) => [metadata.name ?? "", metadata.resourceVersion]));
}
