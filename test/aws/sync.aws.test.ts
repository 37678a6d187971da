import type { Faults } from "@tmc/embedded/server/faults.ts";
import { describe, expect, inject, it } from "vitest";
import { workloadKey } from "../../lib/model/key.ts";
import { createSqsQueue } from "../../lib/queue/sqs.ts";
import { type EmbeddedParts, startEmbeddedParts } from "../e2e/embedded-parts.ts";
import { syncCases } from "../e2e/sync-cases.ts";
import { syncBench } from "../e2e/sync-environment.ts";
import { lyingLists, syncStartCases } from "../e2e/sync-start-cases.ts";
import { aDeployment, aRoom, clear, uidsIn, workTypes } from "../e2e/tenant-work.ts";
import { beginUpsync, untilOriginalsDeleted, upsyncCases, upsyncNamespace } from "../e2e/upsync-cases.ts";
import { eventually } from "../support/eventually.ts";
import { useDeployedEnvironment } from "./deployed-environment.ts";
import { readHealth } from "./deployed-form.ts";
import { killFunctions } from "./function-processes.ts";
import { createGate } from "./gate.ts";
import { readReconciles } from "./reconcile-log.ts";

const endpoint = inject("awsEndpoint");
const name = "sync";
/** Several times as long as what a killed function held takes to come back. */
const waitMs = 90_000;

describe("sync as it is deployed", { timeout: 240_000 }, () => {
  let parts: EmbeddedParts | undefined;
  const stage = useDeployedEnvironment({
    stage: name,
    settings: {
      // As often as a deployment allows it: a cluster is taken for dead after three rounds.
      heartbeatSeconds: "10",
      "relay.watchClusters": "true",
      // Logs reconciles that change nothing too.
      logLevel: "4",
    },
    waitMs,
    // The cases kill again and again; those of the engine wait as long as a deployment does.
    visibilitySeconds: 25,
    startParts: async () => {
      parts = await startEmbeddedParts();
      return parts;
    },
  });
  const faults = (): Faults => {
    if (parts === undefined) throw new Error("the parts have not started");
    return parts.kcpFaults;
  };
  const bench = syncBench(() => stage, waitMs);
  const { begin } = bench;
  // What clusters refuse by rules of their own is not among these: only real ones have such rules.
  syncCases(bench);
  syncStartCases(bench, faults);

  it.skipIf(!endpoint.own)("finishes work of killed invocations with each copy exactly once", async () => {
    const { world, work } = await begin();
    const names = ["ebb", "flood"];
    // So slow that a function has given clusters their copies and cannot have said so yet.
    const effect = { kind: "delay", ms: 8_000 } as const;
    const reports = faults().inject({ match: { verb: "patch", resource: "workloadsyncs" }, effect });
    const sinceMs = Date.now();
    await work.apply(...aRoom("tide"), ...names.map((each) => aDeployment("tide", each)));
    const uids = () => uidsIn(world, work.namespaceOn("tide"));
    await eventually(async () => {
      const copies = (await uids()).length;
      return copies === 4 && reports.hits > 0 ? undefined : `${copies} copies, ${reports.hits} reports`;
    }, waitMs);
    const before = await uids();
    await killFunctions(endpoint);
    reports.remove();
    const { reconcile } = stage.deployment.names.functions;
    await eventually(async () => {
      const runs = await createGate(endpoint).invocations(sinceMs);
      const isKilled = runs.some((run) => run.function === reconcile && run.failed);
      return isKilled ? undefined : "no function has failed";
    }, waitMs);
    for (const each of names) await work.untilRuns("tide", each, { "us-east": 1, "us-west": 1 });
    expect(await uids()).toEqual(before);
    await clear(work, "tide", names);
  });

  // A key outlives whoever sent it, so it may be worked on at any time.
  it.each(Object.entries(lyingLists))(
    "deletes nothing for a key that it is handed while kcp %s",
    async (_, { effect }) => {
      const { world, form, work } = await begin();
      const names = ["carp", "pike"];
      await work.apply(...aRoom("pond"), ...names.map((each) => aDeployment("pond", each)));
      for (const each of names) await work.untilRuns("pond", each, { "us-east": 1, "us-west": 1 });
      const before = await uidsIn(world, work.namespaceOn("pond"));
      expect(before).toHaveLength(4);

      const lists = faults().inject({ match: { verb: "list" }, effect });
      const sinceMs = Date.now();
      const workQueue = stage.deployment.outputs[`Tmc-${name}-Core`]?.WorkQueueUrl ?? "";
      const urls = { work: workQueue, delay: workQueue, deadLetters: workQueue };
      const keys = names.map((each) =>
        workloadKey(world.tenantCluster, { type: workTypes.Deployment, namespace: "pond", name: each }),
      );
      await createSqsQueue({ sqs: stage.aws.sqs, urls }).send(keys.map((key) => ({ key, reason: "on-demand" })));
      await eventually(async () => {
        const reconciles = (await readReconciles(stage.aws, { stage: name, sinceMs })).filter(
          ({ reason }) => reason === "on-demand",
        );
        // Whatever a reconcile found, it did not drop the key.
        expect(reconciles.map(({ outcome }) => outcome)).not.toContain("drop");
        const seen = new Set(reconciles.map((reconcile) => reconcile.name));
        return keys.every((key) => seen.has(key.name)) ? undefined : `reconciled ${[...seen].join(", ")}`;
      }, waitMs);
      expect(lists.hits).toBeGreaterThan(0);
      expect(await uidsIn(world, work.namespaceOn("pond"))).toEqual(before);

      lists.remove();
      await form.resynced(2);
      for (const each of names) await work.untilRuns("pond", each, { "us-east": 1, "us-west": 1 });
      expect(await uidsIn(world, work.namespaceOn("pond"))).toEqual(before);
      await clear(work, "pond", names);
    },
  );

  upsyncCases(bench);

  describe("with a relay that watches kcp alone", () => {
    it("requeues a Deployment until it is ready, and not afterwards", async () => {
      await stage.redeploy({ "relay.watchClusters": "false" });
      const { work } = await begin();
      for (const relay of stage.form.relays()) expect(await relay.metric("tmc_sync_watches")).toBe(0);
      const sinceMs = Date.now();
      await work.apply(...aRoom("quay"), aDeployment("quay", "crane", { replicas: 2 }));
      await work.untilRuns("quay", "crane", { "us-east": 2, "us-west": 2 });
      await eventually(async () => {
        const reconciles = await readReconciles(stage.aws, { stage: name, sinceMs });
        const ofCrane = reconciles.filter(
          (reconcile) => reconcile.kind === "Workload" && reconcile.name.endsWith("/quay/crane"),
        );
        const isFound = ofCrane.some(({ reason }) => reason === "requeue");
        return isFound && ofCrane.at(-1)?.outcome === "done" ? undefined : JSON.stringify(ofCrane);
      }, waitMs);
      // So far no key was dead-lettered.
      expect((await readHealth(stage.aws, stage.deployment)).queues.deadLetters.visible).toBe(0);
    });

    it("finds a change on a cluster with the next resync", async () => {
      const { world, form, work } = await begin();
      const east = world.clusterClient("us-east");
      const there = { type: workTypes.Deployment, namespace: work.namespaceOn("quay"), name: "crane" };
      await east.patch(there, { type: "merge", body: { spec: { replicas: 7 } } }, { fieldManager: "somebody" });
      expect(await east.get(there)).toMatchObject({ spec: { replicas: 7 } });
      await form.resynced(1);
      expect(await east.get(there)).toMatchObject({ spec: { replicas: 2 } });
      await work.untilRuns("quay", "crane", { "us-east": 2, "us-west": 2 });
      await clear(work, "quay", ["crane"]);
    });

    it("finds objects created and deleted on a cluster with the next resync", async () => {
      const upsyncStage = await beginUpsync(bench);
      const { form, work, clusterObjects } = upsyncStage;
      // Of the other cluster some have just ended, which count for a while.
      const at = { cluster: "us-west", kind: "Deployment", namespace: upsyncNamespace, name: "owl" } as const;
      await work.apply(...aRoom(upsyncNamespace));
      const sinceMs = Date.now();
      await clusterObjects.create("us-west", aDeployment(upsyncNamespace, "owl", { replicas: 2 }));
      await form.start();
      await clusterObjects.untilUpsynced(at);
      await clusterObjects.untilReady(upsyncNamespace, "owl", 4);
      expect(await work.copy("us-west", "Deployment", upsyncNamespace, "owl")).toBeUndefined();
      const reconciles = (await readReconciles(stage.aws, { stage: name, sinceMs })).filter((reconcile) =>
        reconcile.name.endsWith("/owl"),
      );
      // No relay watches the cluster: the function listed the cluster.
      expect(reconciles[0]?.reason).toBe("fan-out");

      await clusterObjects.delete(at);
      await form.resynced(1);
      await untilOriginalsDeleted(bench, upsyncStage, at);
      await work.untilCleared(upsyncNamespace);
      await work.remove("WorkloadPlacement", undefined, upsyncNamespace);
      expect((await readHealth(stage.aws, stage.deployment)).queues.deadLetters.visible).toBe(0);
    });
  });
});
