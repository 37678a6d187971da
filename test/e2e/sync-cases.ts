import { expect, it } from "vitest";
import { findCondition } from "../../lib/model/condition.ts";
import type { KubeObject } from "../../lib/model/kube-object.ts";
import { locatorOf } from "../../lib/sync/namespace-map.ts";
import { originAnnotation, originOf, syncedLabel } from "../../lib/sync/owner-mark.ts";
import { type Outcome, tmc } from "../lib/cli/support.ts";
import { eventually } from "../support/eventually.ts";
import type { ControllerForm } from "./controller-form.ts";
import type { Stage } from "./engine-cases.ts";
import { type Entry, entryWords, openLedger } from "./ledger.ts";
import { aDeployment, aRoom, type Deployment, present, type TenantWork, tenantWork, workTypes } from "./tenant-work.ts";
import { type ClusterName, clusterNames, tenantWorkspace, type World } from "./world.ts";

/** A way to run the controller that says when it has looked at everything once more. */
export interface SyncForm extends ControllerForm {
  /** Waits until each of so many workloads was looked at again though nothing of it had changed. */
  resynced(workloads: number): Promise<void>;
}

/** What a case works with. */
export type SyncStage = Omit<Stage, "form"> & Readonly<{ form: SyncForm }>;

/**
 * The promises of sync, in whatever form the controller runs: what is applied in the workspace is on the chosen clusters,
 * stays so, and says how it is there. They build on one another: a case finds the clusters that the first has registered.
 */
export function syncCases(stage: () => SyncStage, waitMs: number): void {
  /** The tenant's work, once the controller runs. */
  const begin = async (): Promise<SyncStage & Readonly<{ work: TenantWork }>> => {
    const { form, ...rest } = stage();
    await form.running();
    return { ...rest, form, work: tenantWork(rest.world, waitMs) };
  };
  const run = (world: World, args: readonly string[]): Promise<Outcome> =>
    tmc([...args, "--kubeconfig", world.kcpKubeconfig, "--workspace", tenantWorkspace]);

  it("runs the sample on the chosen clusters and says so in the workspace", async () => {
    const { world, tenant, work } = await begin();
    for (const name of clusterNames) await tenant.register(name, { location: `${name}-1` }, { region: name });
    for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    for (const name of clusterNames) await makeStrangers(world, name);

    await work.applyExample("shop.yaml");
    // Three replicas over two clusters that weigh the same: the first by name gets the odd one.
    const web = await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 1 });
    expect(web.status).toMatchObject({ replicas: 3, readyReplicas: 3, observedGeneration: web.metadata.generation });
    for (const name of clusterNames) {
      const copy = await work.copy<Deployment>(name, "Deployment", "shop", "web");
      expect(imageOf(copy)).toBe(imageOf(web));
      expect(await work.copy(name, "Service", "shop", "web")).toMatchObject({ spec: { ports: [{ port: 80 }] } });
      expect(await work.copy(name, "ConfigMap", "shop", "web")).toMatchObject({
        data: { GREETING: "Welcome to the shop" },
      });
    }
    const record = await work.record("shop", "web");
    expect(record?.spec).toMatchObject({ placement: "shop", clusters: ["us-east", "us-west"] });
    expect(findCondition(record?.status?.conditions, "Ready")).toMatchObject({ status: "True" });
  });

  it("keeps a tenant's namespace under its own name, and what is not TMC's as it was", async () => {
    const { world, work } = await begin();
    for (const name of clusterNames) {
      const client = world.clusterClient(name);
      const namespaces = (await client.listAll<KubeObject>({ type: workTypes.Namespace })).items;
      const ours = namespaces.filter(({ metadata }) => metadata.labels?.[syncedLabel] !== undefined);
      expect(ours.map(({ metadata }) => metadata.name)).toEqual([work.namespaceOn("shop")]);
      expect(ours.map(locatorOf)).toEqual([{ hub: "kcp", cluster: world.tenantCluster, namespace: "shop" }]);
    }
    await expectStrangersAsTheyWere(world);
  });

  it("writes nothing while nothing changes, and only what changed when something does", async () => {
    const { world, form, tenant, work } = await begin();
    // What a placement says of its workloads follows some seconds after them.
    await eventually(async () => {
      const { status } = await tenant.placement("shop");
      const unready = (status?.placedWorkloads ?? []).filter(({ state }) => state !== "Ready");
      return status?.placedWorkloads?.length === 2 && unready.length === 0 ? undefined : JSON.stringify(status);
    }, waitMs);
    const atRest = await openLedgers(world);
    await form.resynced(2);
    expect((await atRest()).map(entryWords)).toEqual([]);

    const ofScale = await openLedgers(world);
    await work.merge("Deployment", "shop", "web", { spec: { replicas: 4 } });
    await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 2 });
    await form.resynced(2);
    const written = await ofScale();
    // Only where the number has changed, and once.
    expect(written.filter(isOurApply).map(entryWords)).toHaveLength(1);
    expect(written.map(({ object }) => object.kind)).not.toContain("Service");
    expect(written.map(({ object }) => object.kind)).not.toContain("ConfigMap");

    const ofImage = await openLedgers(world);
    const image = "nginx:1.30";
    const web = await work.find<Deployment>("Deployment", "shop", "web");
    await work.apply(withImage(web, image));
    await eventually(async () => {
      for (const name of clusterNames) {
        const has = imageOf(await work.copy<Deployment>(name, "Deployment", "shop", "web"));
        if (has !== image) return `${name} has ${has}`;
      }
      return undefined;
    }, waitMs);
    const after = await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 2 });
    await form.resynced(2);
    expect((await ofImage()).filter(isOurApply).map(entryWords)).toHaveLength(2);
    expect(after.status?.observedGeneration).toBe(after.metadata.generation);
  });

  it("takes away what is deleted, with all that came along, and leaves nothing behind", async () => {
    const { world, work } = await begin();
    await work.remove("Deployment", "shop", "web");
    await work.remove("Service", "shop", "web");
    await work.untilCleared("shop");
    // What nobody selected is its owner's own.
    expect(await work.find("ConfigMap", "shop", "web")).toBeDefined();
    await work.remove("WorkloadPlacement", undefined, "shop");
    await expectStrangersAsTheyWere(world);
  });

  it("sends what a workload refers to before it, waits for what is missing, and says so", async () => {
    const { world, work } = await begin();
    const needs = {
      podSpec: { serviceAccountName: "till" },
      container: {
        envFrom: [{ configMapRef: { name: "prices" } }, { secretRef: { name: "password" } }],
      },
    };
    await work.apply(
      ...aRoom("cash"),
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "till", namespace: "cash" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "prices", namespace: "cash" }, data: { bread: "3" } },
      aDeployment("cash", "till", needs),
      aDeployment("cash", "clock", { container: { envFrom: [{ configMapRef: { name: "prices" } }] } }),
    );
    const waiting = await work.untilState("cash", "till", "us-east", "Pending ReferenceMissing");
    expect(waiting?.message).toContain('Secret "password"');
    expect(await work.copy("us-east", "Deployment", "cash", "till")).toBeUndefined();

    const arrivals = await Promise.all(
      clusterNames.map((name) => {
        const kinds = ["Secret", "Deployment"] as const;
        return openLedger(
          world.clusterClient(name),
          kinds.map((kind) => ({ type: workTypes[kind], namespace: work.namespaceOn("cash") })),
        );
      }),
    );
    await work.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "password", namespace: "cash" },
      stringData: { word: "open" },
    });
    await work.untilRuns("cash", "till", { "us-east": 1, "us-west": 1 });
    for (const arrival of arrivals) {
      const added = (await arrival.end()).filter(({ did }) => did === "ADDED");
      const versionOf = (kind: string, name: string): number =>
        Number(
          added.find(({ object }) => object.kind === kind && object.metadata.name === name)?.object.metadata
            .resourceVersion,
        );
      expect(versionOf("Secret", "password")).toBeLessThan(versionOf("Deployment", "till"));
    }
    expect(await work.copy("us-west", "ServiceAccount", "cash", "till")).toBeDefined();

    await work.merge("ConfigMap", "cash", "prices", { data: { bread: "4" } });
    await eventually(async () => {
      for (const name of clusterNames) {
        const { data } = (await work.copy<KubeObject & { data?: unknown }>(name, "ConfigMap", "cash", "prices")) ?? {};
        if (JSON.stringify(data) !== '{"bread":"4"}') return `${name} has ${JSON.stringify(data)}`;
      }
      return undefined;
    }, waitMs);

    await work.remove("Deployment", "cash", "till");
    await eventually(async () => {
      for (const name of clusterNames) {
        for (const kind of ["Secret", "ServiceAccount", "Deployment"] as const) {
          const each = kind === "Secret" ? "password" : "till";
          if ((await work.copy(name, kind, "cash", each)) !== undefined) return `${name} has ${kind} ${each}`;
        }
      }
      return undefined;
    }, waitMs);
    // Somebody else still needs it.
    for (const name of clusterNames) expect(await work.copy(name, "ConfigMap", "cash", "prices")).toBeDefined();
    await work.remove("Deployment", "cash", "clock");
    await work.untilCleared("cash");
    await work.remove("WorkloadPlacement", undefined, "cash");
  });

  it("divides replicas by weights to the last one, and moves them without a gap", async () => {
    const { world, work } = await begin();
    const weighing = (east: number, west: number) => ({
      strategy: "Spread",
      replicas: {
        mode: "Divided",
        clusters: [
          { name: "us-east", weight: east },
          { name: "us-west", weight: west },
        ],
      },
    });
    await work.apply(...aRoom("mill", weighing(3, 1)), aDeployment("mill", "wheel", { replicas: 7 }));
    await work.untilRuns("mill", "wheel", { "us-east": 5, "us-west": 2 });
    const states = await openLedger(world.tenant, [{ type: workTypes.Deployment, namespace: "mill" }]);
    await work.apply(...aRoom("mill", weighing(1, 6)));
    await work.untilRuns("mill", "wheel", { "us-east": 1, "us-west": 6 });
    for (const { object } of await states.end()) {
      const { readyReplicas = 0 } = (object as Deployment).status ?? {};
      expect(readyReplicas, JSON.stringify(object.status)).toBeGreaterThanOrEqual(7);
    }
    await work.merge("Deployment", "mill", "wheel", { spec: { replicas: 3 } });
    await eventually(async () => {
      const shares = await Promise.all(
        clusterNames.map(
          async (name) => (await work.copy<Deployment>(name, "Deployment", "mill", "wheel"))?.spec.replicas,
        ),
      );
      const sum = shares.reduce<number>((all, share) => all + (share ?? 0), 0);
      return sum === 3 ? undefined : `3 replicas are ${shares.join(" and ")}`;
    }, waitMs);
    await clear(work, "mill", ["wheel"]);
  });

  it("gives each cluster its overrides, and shows what would be sent and how it is there", async () => {
    const { world, work } = await begin();
    const overrides = [
      {
        clusterNames: ["us-west"],
        labels: { place: "{{cluster.name}}" },
        env: { REGION: "{{cluster.labels.region}}" },
        imageHosts: [{ to: "registry.west.example" }],
      },
    ];
    await work.apply(...aRoom("press", { strategy: "Spread", overrides }), aDeployment("press", "paper"));
    await work.untilRuns("press", "paper", { "us-east": 1, "us-west": 1 });
    const [east, west] = await Promise.all(
      clusterNames.map((name) => work.copy<Deployment>(name, "Deployment", "press", "paper")),
    );
    expect(imageOf(east)).toBe("nginx:1.29");
    expect(east?.metadata.labels).not.toHaveProperty("place");
    expect(imageOf(west)).toMatch(/^registry\.west\.example\/.*nginx:1\.29$/);
    expect(west?.metadata.labels).toMatchObject({ place: "us-west" });
    expect(west?.spec.template.spec.containers[0]?.env).toContainEqual({ name: "REGION", value: "us-west" });

    const status = await run(world, ["workload", "status", "deploy/paper", "-n", "press"]);
    expect(status).toMatchObject({ code: 0, err: "" });
    for (const name of clusterNames) expect(status.out).toMatch(new RegExp(`${name} +Ready +1 +1`));

    const diff = (cluster: ClusterName): Promise<Outcome> =>
      run(world, [
        ...["diff", "deploy/paper", "-n", "press", "--cluster", cluster],
        ...["--cluster-kubeconfig", world.clusterKubeconfigs[cluster]],
      ]);
    expect(await diff("us-west")).toMatchObject({ code: 0, out: "" });
    // While its owner has paused it, a change is not sent, and can be looked at.
    await work.merge("Deployment", "press", "paper", { metadata: { annotations: { "tmc.kcp.io/sync": "paused" } } });
    await work.untilState("press", "paper", "us-west", "Paused SyncPaused");
    await work.apply(
      aDeployment("press", "paper", { image: "nginx:1.31", annotations: { "tmc.kcp.io/sync": "paused" } }),
    );
    const shown = await diff("us-west");
    expect(shown.code, shown.err).toBe(1);
    expect(shown.out).toMatch(/^\+ .*registry\.west\.example\/.*nginx:1\.31$/m);
    expect(imageOf(await work.copy<Deployment>("us-west", "Deployment", "press", "paper"))).toContain("nginx:1.29");
    await work.merge("Deployment", "press", "paper", { metadata: { annotations: { "tmc.kcp.io/sync": null } } });
    await eventually(async () => {
      const image = imageOf(await work.copy<Deployment>("us-west", "Deployment", "press", "paper"));
      return image?.endsWith("nginx:1.31") === true ? undefined : `us-west has ${image}`;
    }, waitMs);
    await clear(work, "press", ["paper"]);
  });

  it("says in the cluster's own words what it refuses, and heals when that is put right", async () => {
    const { work } = await begin();
    // The workspace describes no restart policy; only a cluster knows that a Deployment's pods must always restart.
    await work.apply(...aRoom("oven"), aDeployment("oven", "bread", { podSpec: { restartPolicy: "Never" } }));
    const failed = await work.untilState("oven", "bread", "us-east", "Failed Refused");
    expect(failed?.message).toMatch(/restartPolicy.*Unsupported value.*Never/);
    const record = await work.record("oven", "bread");
    expect(findCondition(record?.status?.conditions, "Ready")).toMatchObject({ status: "False", reason: "SyncFailed" });
    await work.apply(aDeployment("oven", "bread", { podSpec: { restartPolicy: "Always" } }));
    await work.untilRuns("oven", "bread", { "us-east": 1, "us-west": 1 });
    await clear(work, "oven", ["bread"]);
  });

  it("never overwrites what others have made, but as its adoption says", async () => {
    const { world, work } = await begin();
    const placed = (adoption: string) => aRoom("hall", { strategy: "Spread", adoption });
    await work.apply(...placed("Never"), aDeployment("hall", "anchor"));
    await work.untilRuns("hall", "anchor", { "us-east": 1, "us-west": 1 });
    const east = world.clusterClient("us-east");
    const there = { type: workTypes.Deployment, namespace: work.namespaceOn("hall") };
    const foreign = async (name: string, replicas: number): Promise<KubeObject> =>
      east.create(there, aDeployment(there.namespace, name, { replicas }), { fieldManager: "somebody" });
    const other = await foreign("other", 2);
    const same = await foreign("same", 1);

    await work.apply(aDeployment("hall", "other"), aDeployment("hall", "same"));
    for (const name of ["other", "same"]) {
      await work.untilState("hall", name, "us-east", "Failed ForeignObject");
      await work.untilState("hall", name, "us-west", "Ready");
    }
    await expectUntouched(east, [other, same]);
    // What was never ours stays when ours is deleted.
    await work.remove("Deployment", "hall", "other");
    await eventually(async () => {
      const gone = (await work.find("Deployment", "hall", "other")) === undefined;
      return gone ? undefined : "other is still in the workspace";
    }, waitMs);
    await expectUntouched(east, [other, same]);

    await work.apply(aDeployment("hall", "other"), ...placed("IfNoDiff"));
    await work.untilRuns("hall", "same", { "us-east": 1, "us-west": 1 });
    expect((await east.get({ ...there, name: "same" })).metadata.uid).toBe(same.metadata.uid);
    const refused = await work.untilState("hall", "other", "us-east", "Failed ForeignObject");
    expect(refused?.message).toContain("spec.replicas");
    await expectUntouched(east, [other]);

    await work.apply(...placed("Always"));
    await work.untilRuns("hall", "other", { "us-east": 1, "us-west": 1 });
    expect((await east.get({ ...there, name: "other" })).metadata.uid).toBe(other.metadata.uid);
    await clear(work, "hall", ["anchor", "other", "same"]);
  });

  it("puts back what others change on a copy, or says so, or stops, as the placement has it", async () => {
    const { world, work } = await begin();
    const placed = (drift: string) => aRoom("yard", { strategy: "Spread", drift });
    const east = world.clusterClient("us-east");
    const there = { type: workTypes.Deployment, namespace: work.namespaceOn("yard"), name: "gate" };
    const drift = async (replicas: number): Promise<void> => {
      await east.patch(there, { type: "merge", body: { spec: { replicas } } }, { fieldManager: "somebody" });
    };
    await work.apply(...placed("Revert"), aDeployment("yard", "gate", { replicas: 2 }));
    await work.untilRuns("yard", "gate", { "us-east": 2, "us-west": 2 });
    await drift(0);
    await work.untilRuns("yard", "gate", { "us-east": 2, "us-west": 2 });
    await east.delete(there);
    await work.untilRuns("yard", "gate", { "us-east": 2, "us-west": 2 });

    await work.apply(...placed("Report"));
    await drift(1);
    await eventually(async () => {
      const record = await work.record("yard", "gate");
      const entry = record?.status?.clusters?.find(({ name }) => name === "us-east");
      return entry?.reason === "Drifted" ? undefined : JSON.stringify(entry);
    }, waitMs);
    expect(await east.get(there)).toMatchObject({ spec: { replicas: 1 } });
    // The next change is written all the same.
    await work.apply(aDeployment("yard", "gate", { replicas: 3 }));
    await work.untilRuns("yard", "gate", { "us-east": 3, "us-west": 3 });

    await work.apply(...placed("Pause"));
    await drift(1);
    const paused = await work.untilState("yard", "gate", "us-east", "Paused Drifted");
    expect(paused?.message).toContain("spec.replicas");
    await work.apply(aDeployment("yard", "gate", { replicas: 3, image: "nginx:1.30" }));
    await eventually(async () => {
      const image = imageOf(await work.copy<Deployment>("us-west", "Deployment", "yard", "gate"));
      return image === "nginx:1.30" ? undefined : `us-west has ${image}`;
    }, waitMs);
    expect(await east.get<Deployment>(there)).toMatchObject({ spec: { replicas: 1 } });
    expect(imageOf(await east.get<Deployment>(there))).toBe("nginx:1.29");
    await work.apply(...placed("Revert"));
    await work.untilRuns("yard", "gate", { "us-east": 3, "us-west": 3 });
    await clear(work, "yard", ["gate"]);
  });

  it("leaves the replicas of what is autoscaled to whoever scales it", async () => {
    const { world, form, work } = await begin();
    const scaler: KubeObject = {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "crowd", namespace: "fair" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "crowd" },
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
        ],
      },
    };
    await work.apply(...aRoom("fair"), scaler, aDeployment("fair", "crowd", { replicas: 2 }));
    await work.untilRuns("fair", "crowd", { "us-east": 2, "us-west": 2 });
    for (const name of clusterNames) {
      expect(await work.copy(name, "HorizontalPodAutoscaler", "fair", "crowd")).toBeDefined();
    }
    const east = world.clusterClient("us-east");
    const there = { type: workTypes.Deployment, namespace: work.namespaceOn("fair"), name: "crowd" };
    await east.patch(there, { type: "merge", body: { spec: { replicas: 4 } } }, { fieldManager: "autoscaler" });
    await work.untilRuns("fair", "crowd", { "us-east": 4, "us-west": 2 });
    await form.resynced(2);
    await work.apply(aDeployment("fair", "crowd", { replicas: 2, image: "nginx:1.30" }));
    await eventually(async () => {
      const image = imageOf(await work.copy<Deployment>("us-east", "Deployment", "fair", "crowd"));
      return image === "nginx:1.30" ? undefined : `us-east has ${image}`;
    }, waitMs);
    await work.untilRuns("fair", "crowd", { "us-east": 4, "us-west": 2 });
    await work.remove("HorizontalPodAutoscaler", "fair", "crowd");
    await clear(work, "fair", ["crowd"]);
  });

  it("leaves a cluster only when the work runs where it should, or leaves it there as an orphan", async () => {
    const { world, work } = await begin();
    const placed = (cluster: ClusterName, deletionPolicy = "Delete") =>
      aRoom("tent", { strategy: "Spread", clusterNames: [cluster], deletionPolicy });
    await work.apply(...placed("us-east"), aDeployment("tent", "stage", { replicas: 2 }));
    await work.untilRuns("tent", "stage", { "us-east": 2 });
    const states = await openLedger(world.tenant, [{ type: workTypes.Deployment, namespace: "tent" }]);
    await work.apply(...placed("us-west"));
    await work.untilRuns("tent", "stage", { "us-west": 2 });
    for (const { object } of await states.end()) {
      const { readyReplicas = 0 } = (object as Deployment).status ?? {};
      expect(readyReplicas, JSON.stringify(object.status)).toBeGreaterThanOrEqual(2);
    }

    await work.apply(...placed("us-east", "Orphan"));
    await work.untilState("tent", "stage", "us-west", "none");
    const orphan = await work.copy<Deployment>("us-west", "Deployment", "tent", "stage");
    expect(orphan?.spec.replicas).toBe(2);
    expect(orphan?.metadata.labels).not.toHaveProperty([syncedLabel]);
    expect(orphan?.metadata.annotations).not.toHaveProperty([originAnnotation]);
    await work.remove("Deployment", "tent", "stage");
    await eventually(async () => {
      const copy = await work.copy("us-east", "Deployment", "tent", "stage");
      return copy === undefined ? undefined : "us-east still has it";
    }, waitMs);
    expect((await work.copy("us-west", "Deployment", "tent", "stage"))?.metadata.uid).toBe(orphan?.metadata.uid);
    await world.clusterClient("us-west").delete({ type: workTypes.Namespace, name: work.namespaceOn("tent") });
    await work.remove("WorkloadPlacement", undefined, "tent");
    await work.untilCleared("tent");
  });

  it("lets nothing new onto a cordoned cluster, and sends everything away from a drained one", async () => {
    const { world, tenant, work } = await begin();
    const preferred = { preferredClusters: ["us-west"] };
    await work.apply(...aRoom("pier", preferred), aDeployment("pier", "boat"));
    await work.untilRuns("pier", "boat", { "us-west": 1 });
    expect(await run(world, ["cluster", "cordon", "us-west"])).toMatchObject({ code: 0 });
    await tenant.place("late", preferred);
    await tenant.untilChosen("late", ["us-east"]);
    await work.untilRuns("pier", "boat", { "us-west": 1 });

    const seconds = `${Math.ceil(waitMs / 1000)}s`;
    const drain = await run(world, ["cluster", "drain", "us-west", "--timeout", seconds]);
    expect(drain, drain.err).toMatchObject({ code: 0 });
    expect(drain.out).toContain("drained");
    expect(await work.copy("us-west", "Deployment", "pier", "boat")).toBeUndefined();
    await work.untilRuns("pier", "boat", { "us-east": 1 });
    expect(await run(world, ["cluster", "uncordon", "us-west"])).toMatchObject({ code: 0 });
    await tenant.remove("placement", "late");
    await clear(work, "pier", ["boat"]);
  });

  it("moves on when a cluster dies, touches nothing there meanwhile, and cleans up when it is back", async () => {
    const { world, tenant, form, work } = await begin();
    const impatient = { key: "tmc.kcp.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 };
    await work.apply(
      ...aRoom("ferry", { preferredClusters: ["us-west"], tolerations: [impatient] }),
      aDeployment("ferry", "boat", { replicas: 2 }),
    );
    await work.untilRuns("ferry", "boat", { "us-west": 2 });
    const before = await work.copy("us-west", "Deployment", "ferry", "boat");
    await world.parts.clusters["us-west"].kill();
    await tenant.untilCluster("us-west", "False ClusterUnhealthy");
    await work.untilState("ferry", "boat", "us-east", "Ready");
    const left = await work.untilState("ferry", "boat", "us-west", "Leaving ClusterNotReady");
    expect(left?.uid).toBe(before?.metadata.uid);
    const record = await work.record("ferry", "boat");
    expect(record?.spec.clusters).toEqual(["us-east", "us-west"]);
    // A cluster that is not heard from is not in the sum.
    const boat = await work.find<Deployment>("Deployment", "ferry", "boat");
    expect(boat?.status).toMatchObject({ readyReplicas: 2 });

    // Looked at before the controller can: what the cluster had is there, untouched.
    await form.kill();
    await world.parts.clusters["us-west"].revive();
    await eventually(async () => {
      const copy = await work.copy("us-west", "Deployment", "ferry", "boat").catch((error: unknown) => String(error));
      if (typeof copy === "string") return `us-west does not answer yet: ${copy}`;
      return copy?.metadata.uid === before?.metadata.uid ? undefined : `us-west has ${JSON.stringify(copy?.metadata)}`;
    }, waitMs);
    await form.running();
    await tenant.untilCluster("us-west", "True ClusterReady");
    await work.untilRuns("ferry", "boat", { "us-east": 2 });
    await work.untilState("ferry", "boat", "us-west", "none");
    await clear(work, "ferry", ["boat"]);
  });

  it("holds very many copies that would leave at once until somebody confirms it", async () => {
    const { world, work } = await begin();
    const names = Array.from({ length: 12 }, (_, at) => `box-${at}`);
    const selecting = (labels: Readonly<Record<string, string>>) => ({
      strategy: "Spread",
      workloadSelector: { namespaces: ["attic"], labelSelector: { matchLabels: labels } },
    });
    const boxes = names.map((name) => aDeployment("attic", name, { labels: { kept: "yes" } }));
    await work.apply(...aRoom("attic", selecting({ kept: "yes" })), ...boxes);
    for (const name of names) await work.untilRuns("attic", name, { "us-east": 1, "us-west": 1 });

    // A slip of the pen: nobody has such a label.
    await work.apply(...aRoom("attic", selecting({ kept: "yse" })));
    for (const name of names) {
      await work.untilState("attic", name, "us-east", "Held DeletionsHeld");
      await work.untilState("attic", name, "us-west", "Held DeletionsHeld");
    }
    const record = await work.record("attic", "box-0");
    expect(findCondition(record?.status?.conditions, "DeletionsHeld")).toMatchObject({ status: "True" });
    for (const cluster of clusterNames) {
      for (const name of names) expect(await work.copy(cluster, "Deployment", "attic", name)).toBeDefined();
    }

    // Put right, nothing has happened.
    await work.apply(...aRoom("attic", selecting({ kept: "yes" })));
    for (const name of names) await work.untilState("attic", name, "us-east", "Ready");
    await work.apply(...aRoom("attic", selecting({ kept: "yse" })));
    for (const name of names) {
      for (const cluster of clusterNames) await work.untilState("attic", name, cluster, "Held DeletionsHeld");
    }

    const asked = await run(world, ["confirm"]);
    expect(asked, asked.err).toMatchObject({ code: 0 });
    expect(asked.out).toMatch(/attic +deployment.*box-0/i);
    const timeout = ["--timeout", `${Math.ceil(waitMs / 1000)}s`];
    const one = await run(world, ["confirm", "deploy/box-0", "-n", "attic", "--yes", ...timeout]);
    expect(one, one.err).toMatchObject({ code: 0 });
    expect(await work.copy("us-east", "Deployment", "attic", "box-0")).toBeUndefined();
    expect(await work.copy("us-east", "Deployment", "attic", "box-1")).toBeDefined();
    const all = await run(world, ["confirm", "--all", "--yes", ...timeout]);
    expect(all, all.err).toMatchObject({ code: 0 });
    for (const cluster of clusterNames) {
      for (const name of names) expect(await work.copy(cluster, "Deployment", "attic", name)).toBeUndefined();
    }
    await clear(work, "attic", names);
  });

  it("ends a rollout that the controller was killed in, with each copy once and nothing left over", async () => {
    const { world, form, work } = await begin();
    const names = Array.from({ length: 8 }, (_, at) => `wave-${at}`);
    const waves = (image: string) => names.map((name) => aDeployment("sea", name, { image }));
    await work.apply(...aRoom("sea"), ...waves("nginx:1.29"));
    for (const name of names) await work.untilRuns("sea", name, { "us-east": 1, "us-west": 1 });
    const uids = await uidsIn(world, work.namespaceOn("sea"));
    expect(uids).toHaveLength(16);

    const news = waves("nginx:1.30");
    await work.apply(...news.slice(0, 4));
    await eventually(async () => {
      const image = imageOf(await work.copy<Deployment>("us-east", "Deployment", "sea", "wave-0"));
      return image === "nginx:1.30" ? undefined : `us-east has ${image}`;
    }, waitMs);
    await Promise.all([form.kill(), work.apply(...news.slice(4))]);
    await work.apply(aDeployment("sea", "born", { image: "nginx:1.30" }));
    await work.remove("Deployment", "sea", "wave-7");

    await form.running();
    for (const name of [...names.slice(0, 7), "born"]) {
      await work.untilRuns("sea", name, { "us-east": 1, "us-west": 1 });
      for (const cluster of clusterNames) {
        expect(imageOf(await work.copy<Deployment>(cluster, "Deployment", "sea", name))).toBe("nginx:1.30");
      }
    }
    await eventually(async () => {
      const gone = (await work.find("Deployment", "sea", "wave-7")) === undefined;
      return gone ? undefined : "wave-7 is still in the workspace";
    }, waitMs);
    const after = await uidsIn(world, work.namespaceOn("sea"));
    const kept = after.filter((each) => !each.includes("/born "));
    expect(kept).toEqual(uids.filter((each) => !each.includes("/wave-7 ")));
    expect(after).toHaveLength(16);
    await clear(work, "sea", [...names.slice(0, 7), "born"]);
  });

  it("has nothing left on any cluster when all work is gone, and has never touched what is not TMC's", async () => {
    const { world, tenant } = await begin();
    expect((await tenant.placements()).map(({ metadata }) => metadata.name)).toEqual([]);
    for (const name of clusterNames) {
      const client = world.clusterClient(name);
      for (const type of Object.values(workTypes).filter(({ group }) => group !== "tmc.kcp.io")) {
        const { items } = await client.listAll<KubeObject>({ type }, { labelSelector: syncedLabel });
        expect(items.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)).toEqual([]);
      }
    }
    await expectStrangersAsTheyWere(world);
  });
}

/** Deletes Deployments and their placement, and waits until nothing is left of them. */
async function clear(work: TenantWork, room: string, names: readonly string[]): Promise<void> {
  for (const name of names) await work.remove("Deployment", room, name);
  await work.untilCleared(room);
  await work.remove("WorkloadPlacement", undefined, room);
}

const stranger = { type: workTypes.ConfigMap, namespace: "default", name: "of-somebody-else" };

/** Puts something on a cluster that nobody asked TMC to look after. */
async function makeStrangers(world: World, name: ClusterName): Promise<void> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: stranger.name }, data: { mine: "yes" } };
  await world.clusterClient(name).create(stranger, body);
  await world.clusterClient(name).create({ ...stranger, namespace: "kube-system" }, body);
}

/** Nothing that was there before, and nothing outside of the tenant's namespaces, bears a trace of TMC. */
async function expectStrangersAsTheyWere(world: World): Promise<void> {
  for (const name of clusterNames) {
    const client = world.clusterClient(name);
    for (const namespace of ["default", "kube-system"]) {
      expect(await client.get({ ...stranger, namespace })).toMatchObject({ data: { mine: "yes" } });
    }
    for (const kind of ["Namespace", "ConfigMap", "Secret", "ServiceAccount", "Deployment", "Service"] as const) {
      const { items } = await client.listAll<KubeObject>({ type: workTypes[kind] });
      const touched = items.filter(({ metadata }) => {
        const isOurs = (metadata.namespace ?? metadata.name ?? "").startsWith("tmc-");
        const isWritten = metadata.managedFields?.some(({ manager }) => manager === "tmc") === true;
        return !isOurs && (isWritten || metadata.labels?.[syncedLabel] !== undefined);
      });
      expect(touched.map(({ metadata }) => `${name} ${kind} ${metadata.namespace}/${metadata.name}`)).toEqual([]);
    }
  }
}

/** What is worth a look in the workspace and on the clusters; the registrations' heartbeats are not. */
async function openLedgers(world: World): Promise<() => Promise<readonly Entry[]>> {
  const upstream = ["Deployment", "Service", "ConfigMap", "WorkloadPlacement", "WorkloadSync"] as const;
  const downstream = ["Namespace", "Deployment", "Service", "ConfigMap"] as const;
  const ledgers = await Promise.all([
    openLedger(
      world.tenant,
      upstream.map((kind) => ({ type: workTypes[kind] })),
    ),
    ...clusterNames.map((name) =>
      openLedger(
        world.clusterClient(name),
        downstream.map((kind) => ({ type: workTypes[kind] })),
        syncedLabel,
      ),
    ),
  ]);
  return async () => (await Promise.all(ledgers.map((ledger) => ledger.end()))).flat();
}

/** The latest generation of a copy, once: what our own writes raise, and a cluster's controllers do not. */
function isOurApply({ object }: Entry, at: number, all: readonly Entry[]): boolean {
  const origin = originOf(object);
  if (origin === undefined) return false;
  const { uid, generation } = object.metadata;
  const isSame = ({ object: { metadata } }: Entry) => metadata.uid === uid && metadata.generation === generation;
  return all.findIndex(isSame) === at && !all.slice(0, at).some(isSame);
}

function imageOf(deployment: Deployment | undefined): string | undefined {
  return deployment?.spec.template.spec.containers[0]?.image;
}

/** What its owner applies to change the image: the whole Deployment, without what servers add to it. */
function withImage(deployment: Deployment | undefined, image: string): KubeObject {
  if (deployment === undefined) throw new Error("there is no such Deployment");
  const { apiVersion, kind, metadata, spec } = deployment;
  const [container] = spec.template.spec.containers;
  const template = { ...spec.template, spec: { ...spec.template.spec, containers: [{ ...container, image }] } };
  const { name, namespace, labels } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { ...(name && { name }), ...(namespace && { namespace }), ...(labels && { labels }) },
    spec: { ...spec, template },
  };
}

/** Objects as they were made, but for what a cluster's controllers write. */
async function expectUntouched(
  client: ReturnType<World["clusterClient"]>,
  objects: readonly KubeObject[],
): Promise<void> {
  for (const { metadata, spec } of objects) {
    const address = { type: workTypes.Deployment, namespace: metadata.namespace, name: metadata.name ?? "" };
    const now = await present(client.get<KubeObject>(address));
    expect(now?.metadata).toMatchObject({ uid: metadata.uid, generation: metadata.generation });
    expect(now?.spec).toEqual(spec);
    expect(now?.metadata.managedFields?.map(({ manager }) => manager)).not.toContain("tmc");
  }
}

/** `us-east/web uid` of every Deployment in a namespace of the clusters. */
async function uidsIn(world: World, namespace: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    clusterNames.map(async (cluster) => {
      const { items } = await world
        .clusterClient(cluster)
        .listAll<KubeObject>({ type: workTypes.Deployment, namespace });
      return items.map(({ metadata }) => `${cluster}/${metadata.name ?? ""} ${metadata.uid ?? ""}`);
    }),
  );
  return lists.flat().toSorted();
}
