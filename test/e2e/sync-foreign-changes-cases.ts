import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { findCondition } from "../../lib/model/condition.ts";
import { eventually } from "../support/eventually.ts";
import { clusterNames, type Environment } from "./environment.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, clear, type Deployment, imageOf, present, workTypes } from "./tenant-work.ts";

/** Where a cluster and those who work on it have a say: what it refuses, what is not ours, and what others change on a copy. */
export function syncOthersCases({ begin, waitMs }: SyncBench): void {
  it("reports the cluster's rejection message, and recovers once the workload is fixed", async () => {
    const { work } = await begin();
    // The workspace describes no restart policy; only a cluster knows that a Deployment's pods must always restart.
    await work.apply(...aRoom("oven"), aDeployment("oven", "bread", { podSpec: { restartPolicy: "Never" } }));
    const failed = await work.untilState("oven", "bread", "us-east", "Failed Rejected");
    expect(failed?.message).toMatch(/restartPolicy.*Unsupported value.*Never/);
    const record = await work.record("oven", "bread");
    expect(findCondition(record?.status?.conditions, "Ready")).toMatchObject({ status: "False", reason: "SyncFailed" });
    await work.apply(aDeployment("oven", "bread", { podSpec: { restartPolicy: "Always" } }));
    await work.untilRuns("oven", "bread", { "us-east": 1, "us-west": 1 });
    await clear(work, "oven", ["bread"]);
  });

  it("overwrites a foreign object only as the adoption policy allows", async () => {
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
    // Until the placement's new policy has reached it, the record has the message of the old one.
    await eventually(async () => {
      const refused = await work.untilState("hall", "other", "us-east", "Failed ForeignObject");
      return refused?.message?.includes("spec.replicas") === true ? undefined : `other is refused: ${refused?.message}`;
    }, waitMs);
    await expectUntouched(east, [other]);

    await work.apply(...placed("Always"));
    await work.untilRuns("hall", "other", { "us-east": 1, "us-west": 1 });
    expect((await east.get({ ...there, name: "other" })).metadata.uid).toBe(other.metadata.uid);
    await clear(work, "hall", ["anchor", "other", "same"]);
  });

  it("reverts, reports or ignores drift of a copy, as the placement's drift policy says", async () => {
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

  it("leaves the replicas of an autoscaled copy to the autoscaler", async () => {
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
}

/** Objects as they were made, but for what a cluster's controllers write. */
async function expectUntouched(
  client: ReturnType<Environment["clusterClient"]>,
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
