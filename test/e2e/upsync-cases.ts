import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { confirmUpsyncAnnotation } from "../../lib/upsync/inventory.ts";
import { events } from "../contract/resources.ts";
import { eventually } from "../support/eventually.ts";
import { startWriteLogs, untilAllReady } from "./quiescence.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, type Deployment, workTypes } from "./tenant-work.ts";
import { expectUnchanged, type OriginalAddress, type UpsyncOriginals, upsyncOriginalsOn } from "./upsync-originals.ts";
import { formatWrite, startWriteLog } from "./write-log.ts";

/** The namespace of upsynced objects that are placed on other clusters too. */
export const upsyncNamespace = "upsynced";
const deletionNamespace = "upsync-deletions";

const web: OriginalAddress = { cluster: "us-east", kind: "Deployment", namespace: upsyncNamespace, name: "web" };
const front: OriginalAddress = { ...web, kind: "Service" };
const aService = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: upsyncNamespace, labels: { app: name } },
  spec: { type: "NodePort", selector: { app: name }, ports: [{ port: 80 }] },
});

/** What the cases of upsync use: what those of sync use, and access to objects on clusters. */
export type UpsyncStage = Awaited<ReturnType<SyncBench["begin"]>> & Readonly<{ clusterObjects: UpsyncOriginals }>;

export async function beginUpsync(bench: SyncBench): Promise<UpsyncStage> {
  const stage = await bench.begin();
  return { ...stage, clusterObjects: upsyncOriginalsOn(stage, bench.waitMs) };
}

/**
 * Waits until the workspace has none of these any more. If TMC did not watch the deletion of the last object of a cluster, it holds
 * the deletion, and this confirms it: a form has no watches, or the watch is not open yet after the cluster has come back.
 */
export async function untilOriginalsDeleted(
  { run, waitMs }: SyncBench,
  { world, work, clusterObjects }: UpsyncStage,
  ...originals: readonly OriginalAddress[]
): Promise<void> {
  for (const { cluster, kind, namespace, name } of originals) {
    await eventually(async () => {
      const isHeld = (await clusterObjects.condition(cluster, "UpsyncHeld")) === "True DeletionsHeld";
      if (isHeld) await run(world, ["confirm", `cluster/${cluster}`, "--yes"]);
      return (await work.find(kind, namespace, name)) === undefined ? undefined : `${kind} ${name} is left`;
    }, waitMs);
  }
}

/**
 * The promises of upsync, for every form of the controller: an object that is created on a cluster and opted in is upstream and on
 * the other clusters, with the spec of its origin, until it is deleted there. Each case continues where the one before ended.
 */
export function upsyncCases(bench: SyncBench): void {
  const { run, waitMs } = bench;
  const begin = () => beginUpsync(bench);
  const untilDeleted = (stage: UpsyncStage, ...originals: readonly OriginalAddress[]): Promise<void> =>
    untilOriginalsDeleted(bench, stage, ...originals);

  it("creates upstream what was created on a cluster, and places it on the other cluster only", async () => {
    const { work, clusterObjects } = await begin();
    await work.apply(...aRoom(upsyncNamespace), {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: deletionNamespace },
    });
    await clusterObjects.optIn("us-east", ["Deployment", "Service"], [upsyncNamespace, deletionNamespace]);
    await clusterObjects.optIn("us-west", ["Deployment"], [upsyncNamespace]);
    await clusterObjects.create("us-west", aService("lonely"));
    const made = await clusterObjects.create("us-east", aDeployment(upsyncNamespace, "web", { replicas: 2 }));
    const service = await clusterObjects.create("us-east", aService("web"));

    await clusterObjects.untilUpsynced(web);
    // The original's two, and the copy's two.
    await clusterObjects.untilReady(upsyncNamespace, "web", 4);
    await eventually(async () => {
      const copy = await work.copy("us-west", "Service", upsyncNamespace, "web");
      return copy === undefined ? "us-west has no Service" : undefined;
    }, waitMs);
    expect(await work.copy<Deployment>("us-west", "Deployment", upsyncNamespace, "web")).toMatchObject({
      spec: { replicas: 2 },
      status: { readyReplicas: 2 },
    });
    // The cluster's own addresses stay where they are.
    expect(JSON.stringify((await clusterObjects.untilUpsynced(front)).spec)).not.toMatch(/clusterIP"|nodePort/);
    for (const kind of ["Deployment", "Service"] as const) {
      expect(await work.copy("us-east", kind, upsyncNamespace, "web")).toBeUndefined();
    }
    expectUnchanged(await clusterObjects.read(web), made);
    expectUnchanged(await clusterObjects.read(front), service);
    expect((await work.record(upsyncNamespace, "web"))?.spec.clusters).toEqual(["us-west"]);
    await work.untilState(upsyncNamespace, "web", "us-east", "Ready");
  });

  it("writes each object once, and nothing at rest; objects without opt-in stay on their cluster", async () => {
    const { world, tenant, form, work, clusterObjects } = await begin();
    await untilAllReady(tenant, { placement: upsyncNamespace, workloads: 2 }, waitMs);
    const atRest = await startWriteLogs(world);
    const types = [workTypes.Deployment, workTypes.Service];
    const atHome = await startWriteLog(
      world.clusterClient("us-east"),
      types.map((type) => ({ type, namespace: upsyncNamespace })),
    );
    await form.resynced(2);
    expect([...(await atRest()), ...(await atHome.end())].map(formatWrite)).toEqual([]);
    for (const at of [web, front]) expect((await clusterObjects.untilUpsynced(at)).metadata.generation).toBe(1);
    expect(await work.find("Service", upsyncNamespace, "lonely")).toBeUndefined();
  });

  it("takes spec from the origin and status from each cluster, and creates again what is deleted in the workspace", async () => {
    const { work, clusterObjects } = await begin();
    await clusterObjects.merge(web, { spec: { replicas: 3 } });
    await clusterObjects.untilReady(upsyncNamespace, "web", 6);
    expect(await work.copy("us-west", "Deployment", upsyncNamespace, "web")).toMatchObject({ spec: { replicas: 3 } });

    await work.merge("Deployment", upsyncNamespace, "web", { spec: { replicas: 9, paused: true } });
    await eventually(async () => {
      const words = JSON.stringify((await clusterObjects.untilUpsynced(web)).spec);
      const isPutBack = words.includes('"replicas":3') && !words.includes("paused");
      return isPutBack ? undefined : `the workspace has ${words}`;
    }, waitMs);
    const known = await clusterObjects.untilReady(upsyncNamespace, "web", 6);
    // Only the controller of each cluster has written the status there.
    expect(await clusterObjects.read(web)).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 3 },
      status: { readyReplicas: 3 },
    });
    const record = await work.record(upsyncNamespace, "web");
    expect(record?.status?.clusters).toMatchObject([
      { name: "us-east", readyReplicas: 3 },
      { name: "us-west", readyReplicas: 3 },
    ]);

    await work.remove("Deployment", upsyncNamespace, "web");
    await eventually(async () => {
      const { uid } = (await work.find("Deployment", upsyncNamespace, "web"))?.metadata ?? {};
      return uid === undefined || uid === known.metadata.uid ? "the workspace has no other" : undefined;
    }, waitMs);
    await clusterObjects.untilUpsynced(web);
    await clusterObjects.untilReady(upsyncNamespace, "web", 6);
  });

  it("deletes nothing because the origin does not respond", async () => {
    const { world, tenant, form, work, clusterObjects } = await begin();
    const [known, copy] = [
      await clusterObjects.untilUpsynced(web),
      await work.copy("us-west", "Deployment", upsyncNamespace, "web"),
    ];
    world.parts.clusters["us-east"].freeze();
    try {
      await form.resynced(2);
      expect((await work.find("Deployment", upsyncNamespace, "web"))?.metadata.uid).toBe(known.metadata.uid);
      const present = await work.copy("us-west", "Deployment", upsyncNamespace, "web");
      expect(present?.metadata.uid).toBe(copy?.metadata.uid);
    } finally {
      world.parts.clusters["us-east"].thaw();
    }
    await tenant.untilCluster("us-east", "True ClusterReady");
    await clusterObjects.untilReady(upsyncNamespace, "web", 6);
  });

  it("overwrites nothing: a name that is taken is a conflict, and the other object is upsynced when the name is free", async () => {
    const stage = await begin();
    const { world, form, work, clusterObjects } = stage;
    const east: OriginalAddress = { ...web, name: "door" };
    const west: OriginalAddress = { ...east, cluster: "us-west" };
    await work.apply(aDeployment(upsyncNamespace, "door"));
    const own = await work.untilRuns(upsyncNamespace, "door", { "us-east": 1, "us-west": 1 });
    const made = await clusterObjects.create("us-east", aDeployment(upsyncNamespace, "door", { replicas: 3 }));
    const words = await clusterObjects.untilCondition("us-east", "UpsyncConflict", "True NameTaken");
    expect(words).toContain(`deployments ${upsyncNamespace}/door`);
    await eventually(async () => {
      const { items } = await world.tenant.list<KubeObject>({ type: events, namespace: upsyncNamespace });
      return items.some((event) => "reason" in event && event.reason === "UpsyncConflict") ? undefined : "no Event";
    }, waitMs);
    expect((await work.untilRuns(upsyncNamespace, "door", { "us-east": 1, "us-west": 1 })).metadata).toMatchObject({
      uid: own.metadata.uid,
      generation: own.metadata.generation,
    });
    expectUnchanged(await clusterObjects.read(east), made);

    await work.remove("Deployment", upsyncNamespace, "door");
    await clusterObjects.untilUpsynced(east);
    await clusterObjects.untilReady(upsyncNamespace, "door", 6);
    await clusterObjects.create("us-west", aDeployment(upsyncNamespace, "door", { replicas: 1 }));
    await clusterObjects.untilCondition("us-west", "UpsyncConflict", "True NameTaken");
    await form.resynced(3);
    await clusterObjects.untilCondition("us-east", "UpsyncConflict", "False NoConflict");
    const known = await clusterObjects.untilUpsynced(east);
    expect(upsyncOriginOf(known, world.tenantCluster)?.registration).toBe("us-east");
    expect(known).toMatchObject({ spec: { replicas: 3 } });

    await clusterObjects.delete(east);
    await clusterObjects.untilUpsynced(west);
    await clusterObjects.untilReady(upsyncNamespace, "door", 2);
    expect(await work.copy("us-west", "Deployment", upsyncNamespace, "door")).toBeUndefined();
    await clusterObjects.delete(west);
    await untilDeleted(stage, west);
  });

  it("deletes the upsynced object and its copies with its origin", async () => {
    const stage = await begin();
    const { work, clusterObjects } = stage;
    for (const at of [web, front]) await clusterObjects.delete(at);
    await untilDeleted(stage, web, front);
    await work.untilCleared(upsyncNamespace);
    await clusterObjects.delete({ ...front, cluster: "us-west", name: "lonely" });
    await work.remove("WorkloadPlacement", undefined, upsyncNamespace);
  });

  it("holds many deletions at once until a user confirms them", async () => {
    const { world, tenant, form, work, clusterObjects } = await begin();
    const names = Array.from({ length: 16 }, (_, at) => `chick-${at}`);
    const inBrood = { type: workTypes.Deployment, namespace: deletionNamespace };
    const left = async (): Promise<number> => (await world.tenant.list(inBrood)).items.length;
    for (const name of names)
      await clusterObjects.create("us-east", aDeployment(deletionNamespace, name, { replicas: 0 }));
    await eventually(async () => ((await left()) === 16 ? undefined : `${await left()} of 16 are known`), waitMs);

    await Promise.all(names.map((name) => clusterObjects.delete({ ...web, namespace: deletionNamespace, name })));
    await clusterObjects.untilCondition("us-east", "UpsyncHeld", "True DeletionsHeld");
    // Those that were found one by one may have gone, but no more than may go without a word.
    expect(await left()).toBeGreaterThanOrEqual(6);
    // What is told of a cluster as a whole follows when that is looked at as a whole.
    await form.start();
    await eventually(async () => {
      const held = (await tenant.cluster("us-east")).status?.upsync?.heldDeletions;
      return held === (await left()) ? undefined : `heldDeletions is ${held}; there are ${await left()}`;
    }, waitMs);

    const asked = await run(world, ["confirm"]);
    expect(asked, asked.err).toMatchObject({ code: 0 });
    expect(asked.out).toContain("cluster/us-east");
    expect(await left()).toBeGreaterThanOrEqual(6);
    const timeout = ["--timeout", `${Math.ceil(waitMs / 1000)}s`];
    const confirmed = await run(world, ["confirm", "cluster/us-east", "--yes", ...timeout]);
    expect(confirmed, confirmed.err).toMatchObject({ code: 0 });
    expect(await left()).toBe(0);
    expect(await clusterObjects.condition("us-east", "UpsyncHeld")).toBe("False NoDeletionsHeld");
    const { annotations = {} } = (await tenant.cluster("us-east")).metadata;
    expect(annotations).not.toHaveProperty([confirmUpsyncAnnotation]);
    await work.untilCleared(deletionNamespace);
  });
}
