import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { offeredWorkloads, referenceTypes, type WorkloadType } from "../../../lib/api/workload-kinds.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { done } from "../../../lib/model/next.ts";
import type { WorkReason } from "../../../lib/model/work-item.ts";
import {
  confirmedOrphans,
  deleteOrphansAnnotation,
  isUnaccountedFor,
  type OwnedObject,
  orphanConfirmation,
  withOrphanedCopies,
} from "../../../lib/sync/orphans/decide.ts";
import { orphanReconciler } from "../../../lib/sync/orphans/reconcile.ts";
import { recordName } from "../../../lib/sync/ownership/record.ts";

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
  const records = [aRecord("web", { references: [{ kind: "ConfigMap", name: "settings" }] })];
  const cases: Record<string, readonly [object: OwnedObject, isCandidate: boolean]> = {
    "omits the copy of a workload with a sync record": [anObject("web"), false],
    "keeps a copy without a sync record": [anObject("old"), true],
    "omits a dependency that a sync record names": [anObject("settings", { type: configMap }), false],
    "keeps a dependency that no sync record names": [anObject("other", { type: configMap }), true],
    "keeps a copy whose namesake of another type has a sync record": [anObject("web", { type: configMap }), true],
  };
  it.each(Object.entries(cases))("isUnaccountedFor %s", (_, [object, isCandidate]) => {
    expect(isUnaccountedFor(records)(object)).toBe(isCandidate);
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
    /** Names of workloads or sync records that exist upstream. */
    upstream: new Set<string>(),
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
      confirm: async <T>({ name }: ObjectKey) => (world.otherRegistrations.has(name) ? ({} as T) : undefined),
      writeStatus: async (_key, observed, status) => {
        world.registration = { ...world.registration, status: status as NonNullable<ClusterRegistration["status"]> };
        return observed;
      },
    },
    workloads: {
      listRecords: async () => world.cachedRecords,
      listRecordsFromServer: async () => world.storedRecords,
      isGone: async ({ name }) => {
        if (world.failure !== undefined) throw world.failure;
        return ![...world.upstream].some((each) => name.endsWith(`/${each}`));
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
    world.upstream.add("web");
    world.storedRecords = [aRecord("late", { references: [{ kind: "ConfigMap", name: "settings" }] })];
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
    world.beforeRemoval = () => world.upstream.add("b");
    await run("changed");
    expect(world.removed).toEqual(["uid-a"]);
  });
});
