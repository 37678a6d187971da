import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import type { Outcome } from "../lib/cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { type ClusterName, clusterNames } from "./environment.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, clear, type Deployment, imageOf, workTypes } from "./tenant-work.ts";
import { startWriteLog } from "./write-log.ts";

/** What each cluster is given: all that a workload needs, its share of the replicas, and what is said for that cluster alone. */
export function syncContentCases({ begin, run, waitMs }: SyncBench): void {
  it("syncs dependencies before the workload, and waits for and reports missing ones", async () => {
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
        return startWriteLog(
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
      const added = (await arrival.end()).filter(({ type }) => type === "ADDED");
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

  it("divides replicas by weight, and moves them without losing ready replicas", async () => {
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
    const states = await startWriteLog(world.tenant, [{ type: workTypes.Deployment, namespace: "mill" }]);
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

  it("applies each cluster's overrides, and `tmc workload status` and `tmc diff` show them", async () => {
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
    // While sync is paused, a change is not applied, and `tmc diff` shows it.
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
}
