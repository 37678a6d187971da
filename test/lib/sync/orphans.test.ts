import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { offeredWorkloads, referenceTypes, type WorkloadType } from "../../../lib/api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { type ObjectKey, parseWorkloadKey } from "../../../lib/model/key.ts";
import type { WorkReason } from "../../../lib/model/work-item.ts";
import { done } from "../../../lib/model/work-item.ts";
import {
  confirmedOrphans,
  deleteOrphansAnnotation,
  isOrphaned,
  isUnaccountedFor,
  type OwnedObject,
  type OwnerFacts,
  orphanConfirmation,
  withOrphanedCopies,
} from "../../../lib/sync/orphans/decide.ts";
import { orphanReconciler } from "../../../lib/sync/orphans/reconcile.ts";
import { recordName, syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import type { Workload } from "../../../lib/sync/sync-objects.ts";

const found = offeredWorkloads.find(({ kind }) => kind === "Deployment");
if (found === undefined) throw new Error("no Deployments");
const deployment: WorkloadType = found;
const configMap: WorkloadType = {
  type: referenceTypes.ConfigMap,
  apiVersion: "v1",
  kind: "ConfigMap",
  isOffered: false,
};

const anObject = (
  name: string,
  { type = deployment, registration = "east", isDeleting = false } = {},
): OwnedObject => ({
  type,
  owner: { hub: "kcp", logicalCluster: "abc", namespace: "shop", registration, ...type, name },
  namespace: "tmc-shop-x",
  name,
  uid: `uid-${name}`,
  isDeleting,
});
const aRecord = (name: string, spec: Partial<WorkloadSync["spec"]> = {}): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { namespace: "shop", name: recordName({ type: deployment.type, name }) },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name }, ...spec },
});

describe("isUnaccountedFor", () => {
  const records = [
    aRecord("web", { clusters: ["east"], references: [{ kind: "ConfigMap", name: "settings" }] }),
    aRecord("moved", { clusters: ["west"], references: [{ kind: "ConfigMap", name: "elsewhere" }] }),
    aRecord("leaving", { clusters: ["west"], pendingCleanup: ["east"] }),
  ];
  const cases: Record<string, readonly [object: OwnedObject, isCandidate: boolean]> = {
    "omits the copy of a workload whose sync record names the cluster": [anObject("web"), false],
    "keeps the copy of a workload whose sync record names other clusters": [anObject("moved"), true],
    "omits the copy of a workload that is cleaned up there": [anObject("leaving"), false],
    "omits the copy of a former registration of the cluster": [anObject("web", { registration: "former" }), false],
    "keeps a dependency that sync records name for other clusters": [anObject("elsewhere", { type: configMap }), true],
    "keeps a copy without a sync record": [anObject("old"), true],
    "omits a dependency that a sync record names": [anObject("settings", { type: configMap }), false],
    "keeps a dependency that no sync record names": [anObject("other", { type: configMap }), true],
    "keeps a copy whose namesake of another type has a sync record": [anObject("web", { type: configMap }), true],
  };
  it.each(Object.entries(cases))("isUnaccountedFor %s", (_, [object, isCandidate]) => {
    expect(isUnaccountedFor(records, "east")(object)).toBe(isCandidate);
  });
});

const aWorkload = (name: string, metadata: Partial<Workload["metadata"]> = {}): Workload => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "shop", name, labels: { app: "shop" }, ...metadata },
});
const aPlacement = (selectedClusters: readonly string[], metadata: object = {}): WorkloadPlacement & KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name: "shop", ...metadata },
  spec: { strategy: "Spread", workloadSelector: { labelSelector: { matchLabels: { app: "shop" } } } },
  status: { selectedClusters: [...selectedClusters] },
});

describe("the decision on one object", () => {
  const workload = aWorkload("web");
  const claim: WorkloadType = {
    ...configMap,
    type: referenceTypes.PersistentVolumeClaim,
    kind: "PersistentVolumeClaim",
  };
  const elsewhere: OwnerFacts = {
    workload,
    record: aRecord("web", { clusters: ["west"] }),
    placement: aPlacement(["west"]),
    registration: "east",
    mayBeNeeded: false,
  };
  const cases: Record<string, readonly [facts: Partial<OwnerFacts>, orphaned: boolean, type?: WorkloadType]> = {
    "is true if neither the sync record nor the placement names the cluster": [{}, true],
    "is true if the workload is gone": [{ workload: undefined }, true],
    "is true if workload and sync record are gone": [{ workload: undefined, record: undefined }, true],
    "is true if no placement selects the workload": [{ placement: undefined, record: undefined }, true],
    "is false if the sync record names the cluster": [{ record: aRecord("web", { clusters: ["east"] }) }, false],
    "is false while the cluster is cleaned up": [{ record: aRecord("web", { pendingCleanup: ["east"] }) }, false],
    "is false if the sync record of a vanished workload names the cluster": [
      { workload: undefined, record: aRecord("web", { clusters: ["east"] }) },
      false,
    ],
    "is false if the placement selects the cluster": [{ placement: aPlacement(["east"]) }, false],
    "is true if the workload excludes the cluster that its placement selects": [
      {
        placement: aPlacement(["east"]),
        workload: aWorkload("web", { annotations: { "tmc.kcp.io/exclude-clusters": "east" } }),
      },
      true,
    ],
    "is false if the sync record was lost, because it is created again from the copies": [
      { record: undefined, placement: undefined, workload: aWorkload("web", { finalizers: ["tmc.kcp.io/sync"] }) },
      false,
    ],
    "is false for a claim that a move left behind": [{}, false, claim],
    "is true for a claim that is gone upstream": [{ workload: undefined, record: undefined }, true, claim],
    "is false for a dependency that a workload may need": [{ mayBeNeeded: true }, false, configMap],
  };
  it.each(Object.entries(cases))("isOrphaned %s", (_, [facts, orphaned, type = deployment]) => {
    expect(isOrphaned(anObject("web", { type }), { ...elsewhere, ...facts })).toBe(orphaned);
  });
});

const now = "2026-01-01T00:00:00Z";
const later = "2026-01-01T01:00:00Z";

describe("withOrphanedCopies", () => {
  it("reports the number, the first ten names and a condition, and is idempotent", () => {
    const orphans = Array.from({ length: 12 }, (_, index) => anObject(`w${String(index).padStart(2, "0")}`));
    const status = withOrphanedCopies({}, orphans, now);
    expect(status.orphanedCopies).toMatchObject({ count: 12, since: now });
    expect(status.orphanedCopies?.names).toHaveLength(10);
    expect(status.orphanedCopies?.names[0]).toBe("Deployment shop/w00");
    expect(status.conditions).toMatchObject([{ type: "NoOrphanedCopies", status: "False", reason: "OrphanedCopies" }]);
    expect(withOrphanedCopies(status, orphans.toReversed(), later)).toBe(status);
  });
  it("keeps the time at which the first was found, and removes everything but the condition when none is left", () => {
    const status = withOrphanedCopies({}, [anObject("a")], now);
    expect(withOrphanedCopies(status, [anObject("a"), anObject("b")], later).orphanedCopies).toMatchObject({
      since: now,
    });
    const after = withOrphanedCopies(status, [], later);
    expect(after.orphanedCopies).toBeUndefined();
    expect(after.conditions).toMatchObject([{ status: "True", reason: "NoOrphanedCopies" }]);
  });
  it("leaves the status of a registration without orphans unchanged", () => {
    const status = { kubernetesVersion: "v1.36" };
    expect(withOrphanedCopies(status, [], now)).toBe(status);
  });
});

describe("confirmedOrphans", () => {
  const status = { orphanedCopies: { count: 3, names: [], since: now } };
  const cases: Record<string, readonly [annotation: string | undefined, count: number]> = {
    "is 0 without a confirmation": [undefined, 0],
    "is the number that a user has seen": [orphanConfirmation(status.orphanedCopies), 3],
    "is 0 for a confirmation of earlier orphans": [`3@${later}`, 0],
    "is 0 for a number alone": ["3", 0],
    "is 0 for any other text": [`many@${now}`, 0],
  };
  it.each(Object.entries(cases))("confirmedOrphans %s", (_, [annotation, count]) => {
    const annotations = annotation === undefined ? {} : { [deleteOrphansAnnotation]: annotation };
    expect(confirmedOrphans({ metadata: { annotations }, status })).toBe(count);
  });
});

/** A registration, the upstream and the cluster of an orphan reconciler. */
function aWorld(objects: readonly OwnedObject[]) {
  const clock = createManualClock();
  const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
  const world = {
    clock,
    key,
    objects: [...objects],
    registration: {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: { name: "east" },
      spec: { location: "x" },
      status: {
        conditions: [{ type: "Ready", status: "True", reason: "ClusterReady", message: "", lastTransitionTime: now }],
      },
    } as ClusterRegistration,
    otherRegistrations: new Set<string>(),
    /** The workloads that exist upstream, by name. */
    upstream: new Map<string, Workload>(),
    placements: [] as (WorkloadPlacement & KubeObject)[],
    /** Placements that the list lacks. */
    unlisted: [] as (WorkloadPlacement & KubeObject)[],
    cachedRecords: [] as WorkloadSync[],
    storedRecords: [] as WorkloadSync[],
    failure: undefined as Error | undefined,
    lists: 0,
    removed: [] as string[],
    counts: [] as number[],
    beforeRemoval: (): void => {},
  };
  const reconcile = orphanReconciler({
    hub: {
      read: async <T>() => world.registration as T,
      confirm: async <T>({ kind, name }: ObjectKey) => {
        if (kind === "WorkloadPlacement") return world.unlisted.find(({ metadata }) => metadata.name === name) as T;
        return world.otherRegistrations.has(name) ? ({} as T) : undefined;
      },
      list: async <T>() => world.placements as unknown as readonly T[],
      writeStatus: async (_key, observed, status) => {
        world.registration = { ...world.registration, status: status as NonNullable<ClusterRegistration["status"]> };
        return observed;
      },
    },
    workloads: {
      listRecords: async () => world.cachedRecords,
      listRecordsFromServer: async () => world.storedRecords,
      types: [deployment, configMap],
      list: async (_logicalCluster, { plural }) =>
        plural === "deployments" ? [...world.upstream.values()].filter(({ kind }) => kind === "Deployment") : [],
      namespaceLabels: async () => ({}),
      readOwner: async (key) => {
        if (world.failure !== undefined) throw world.failure;
        const { type = deployment.type, name = "" } = parseWorkloadKey(key) ?? {};
        const nameOfRecord = recordName({ type, name });
        return {
          workload: world.upstream.get(name),
          record: world.storedRecords.find(({ metadata }) => metadata.name === nameOfRecord),
        };
      },
    },
    ownedObjects: {
      list: async (_registration, keep) => {
        world.lists += 1;
        return world.objects.filter(keep);
      },
      remove: async (_registration, { uid }) => {
        world.removed.push(uid);
        world.objects = world.objects.filter((each) => each.uid !== uid);
        world.beforeRemoval();
      },
    },
    clock,
    onCount: (_registration, count) => world.counts.push(count),
  });
  const run = (reason: WorkReason) => reconcile({ key, reason }, new AbortController().signal);
  const confirm = (
    value = orphanConfirmation(world.registration.status?.orphanedCopies ?? { count: 0, names: [], since: "" }),
  ) => {
    world.registration = {
      ...world.registration,
      metadata: { name: "east", annotations: { [deleteOrphansAnnotation]: value } },
    };
  };
  return { world, run, confirm, count: () => world.registration.status?.orphanedCopies?.count };
}

describe("orphanReconciler", () => {
  it("counts a copy whose workload and sync record are gone, and deletes nothing", async () => {
    const { world, run, count } = aWorld([anObject("old")]);
    expect(await run("resync")).toEqual(done);
    expect(count()).toBe(1);
    expect(world.counts.at(-1)).toBe(1);
    world.clock.advance(86_400_000);
    await run("resync");
    expect(world.removed).toEqual([]);
  });
  it("does not count a copy whose workload exists, or whose sync record the cache did not show", async () => {
    const { world, run, count } = aWorld([
      anObject("web"),
      anObject("late"),
      anObject("settings", { type: configMap }),
    ]);
    world.upstream.set("web", aWorkload("web", { finalizers: [syncFinalizer] }));
    const references = [{ kind: "ConfigMap" as const, name: "settings" }];
    world.storedRecords = [aRecord("late", { clusters: ["east"], references })];
    await run("resync");
    expect(count()).toBeUndefined();
  });
  it("concludes nothing when the upstream cannot be asked, and asks again with the next resync", async () => {
    const { world, run, count } = aWorld([anObject("old")]);
    world.failure = new ControllerError("unreachable", "upstream: down");
    await run("resync");
    expect(count()).toBeUndefined();
    world.failure = undefined;
    await run("resync");
    expect(count()).toBe(1);
  });
  it("keeps the reported number while the upstream cannot be asked", async () => {
    const { world, run, count } = aWorld([anObject("old")]);
    await run("resync");
    world.failure = new ControllerError("unreachable", "upstream: down");
    await run("on-demand");
    expect(count()).toBe(1);
  });
  it("counts copies of a registration that is gone, and not those of another registration of the same cluster", async () => {
    const { world, run, count } = aWorld([
      anObject("a", { registration: "former" }),
      anObject("b", { registration: "other" }),
    ]);
    world.otherRegistrations.add("other");
    await run("resync");
    expect(count()).toBe(1);
    expect(world.registration.status?.orphanedCopies?.names).toEqual(["Deployment shop/a"]);
  });
  it("lists a cluster at most every 25 minutes, and on demand", async () => {
    const { world, run } = aWorld([]);
    for (const reason of ["changed", "heartbeat", "resync", "resync", "on-demand"] as const) await run(reason);
    expect(world.lists).toBe(2);
    world.clock.advance(25 * 60_000);
    await run("resync");
    expect(world.lists).toBe(3);
  });
  it("does not list a cluster that is not Ready", async () => {
    const { world, run } = aWorld([anObject("old")]);
    world.registration = { ...world.registration, status: {} };
    await run("on-demand");
    expect(world.lists).toBe(0);
  });
  it("deletes confirmed orphans, and nothing after they are gone", async () => {
    const { world, run, confirm, count } = aWorld([anObject("a"), anObject("b"), anObject("c", { isDeleting: true })]);
    await run("resync");
    confirm();
    expect(await run("changed")).toMatchObject({ kind: "requeue" });
    expect(world.removed).toEqual(["uid-a", "uid-b"]);
    world.objects = [];
    await run("requeue");
    expect(count()).toBeUndefined();
    world.clock.advance(3_600_000);
    world.objects = [anObject("later")];
    await run("on-demand");
    await run("on-demand");
    expect(world.removed).toEqual(["uid-a", "uid-b"]);
    expect(count()).toBe(1);
  });
  it("deletes nothing when more copies are orphaned than were confirmed", async () => {
    const { world, run, confirm, count } = aWorld([anObject("a")]);
    await run("resync");
    confirm();
    world.objects.push(anObject("b"));
    await run("changed");
    expect([world.removed, count()]).toEqual([[], 2]);
  });
  it("keeps a confirmed copy whose workload is created again before its deletion", async () => {
    const { world, run, confirm } = aWorld([anObject("a"), anObject("b")]);
    await run("resync");
    confirm();
    world.beforeRemoval = () => void world.upstream.set("b", aWorkload("b", { finalizers: [syncFinalizer] }));
    await run("changed");
    expect(world.removed).toEqual(["uid-a"]);
  });
  it("counts a copy of a workload that is elsewhere, and deletes it after a confirmation", async () => {
    const { world, run, confirm, count } = aWorld([anObject("web"), anObject("settings", { type: configMap })]);
    world.upstream.set("web", aWorkload("web", { finalizers: [syncFinalizer] }));
    world.upstream.set("settings", { ...aWorkload("settings"), apiVersion: "v1", kind: "ConfigMap" });
    world.storedRecords = [
      aRecord("web", { clusters: ["west"], references: [{ kind: "ConfigMap", name: "settings" }], placement: "shop" }),
    ];
    world.placements = [aPlacement(["west"])];
    await run("resync");
    expect(count()).toBe(2);
    confirm();
    await run("changed");
    expect(world.removed).toEqual(["uid-web", "uid-settings"]);
  });
  it("keeps a confirmed copy whose workload is placed on the cluster before its deletion", async () => {
    const { world, run, confirm } = aWorld([anObject("a"), anObject("web")]);
    world.upstream.set("web", aWorkload("web", { finalizers: [syncFinalizer] }));
    world.storedRecords = [aRecord("web", { clusters: ["west"] })];
    world.placements = [aPlacement(["west"])];
    await run("resync");
    confirm();
    world.beforeRemoval = () => {
      world.placements = [aPlacement(["west", "east"])];
    };
    await run("changed");
    expect(world.removed).toEqual(["uid-a"]);
  });
  it("does not count a copy on a cluster that the recorded placement selects, though a list lacks the placement", async () => {
    const { world, run, count } = aWorld([anObject("web")]);
    world.upstream.set("web", aWorkload("web", { finalizers: [syncFinalizer] }));
    world.storedRecords = [aRecord("web", { clusters: ["west"], placement: "shop" })];
    world.unlisted = [aPlacement(["west", "east"])];
    await run("resync");
    expect(count()).toBeUndefined();
  });
  it("does not count a dependency of a workload whose sync record is being replaced", async () => {
    const { world, run, count } = aWorld([anObject("settings", { type: configMap })]);
    const template = { spec: { containers: [{ name: "web", envFrom: [{ configMapRef: { name: "settings" } }] }] } };
    world.upstream.set("web", { ...aWorkload("web", { finalizers: [syncFinalizer] }), spec: { template } });
    world.upstream.set("settings", { ...aWorkload("settings"), apiVersion: "v1", kind: "ConfigMap" });
    await run("resync");
    expect(count()).toBeUndefined();
  });
});
