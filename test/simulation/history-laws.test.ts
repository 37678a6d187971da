import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { formatKey } from "../../lib/model/key.ts";
import { decidePlacement } from "../../lib/placement/decide.ts";
import { clusterFacts } from "../../lib/placement/observed.ts";
import { ownershipMetadata } from "../../lib/sync/ownership/owner.ts";
import { recordName, syncFinalizer } from "../../lib/sync/ownership/record.ts";
import { upsyncOriginMetadata } from "../../lib/sync/ownership/upsync-origin.ts";
import { drainTaint } from "../../lib/sync/targets/target-cluster.ts";
import type { WorkRun } from "./cause.ts";
import { namespaceFor, simulatedHubId } from "./copies.ts";
import { type WorkloadKind, workloadResources } from "./desired-workloads.ts";
import { checkDecisions } from "./laws.ts";
import { createProcessView, kcpServer, type ProcessView } from "./process-view.ts";
import { whyNamespaceStays, whyNotApplied, whyNotEvicted, whyNotPruned } from "./removal-laws.ts";
import { createSeeded } from "./seeded.ts";
import { createStatusLaws } from "./status-laws.ts";
import { createWorkloadView, type ViewedObject, type WorkloadView } from "./workload-view.ts";

const tenant = "tenant";
const workload = { kind: "Deployment", namespace: "shop", name: "d0" } as const;
const config = { kind: "ConfigMap", namespace: "shop", name: "config-a" } as const;
const limits = { maxCopies: 1_000, maxPercent: 30, alwaysAllowed: 1_000 };

type Part = Readonly<Record<string, unknown>>;

/** What a process has heard before its run, and what it hears in it. */
type Facts = {
  workload: Part | "gone";
  readsWorkload: boolean;
  record: Part;
  selected: readonly string[];
  placement: Part;
  /** What each cluster shows of the copy in the run; undefined where it is not asked. */
  east: Part | undefined;
  west: Part | undefined;
};

const deployment = (replicas: number, ready: number): Part => ({
  spec: { replicas },
  status: { readyReplicas: ready },
});

/** A workload that has moved from east to west, and is ready there. */
const moved = (): Facts => ({
  workload: {},
  readsWorkload: false,
  record: {},
  selected: ["west"],
  placement: {},
  east: deployment(2, 2),
  west: deployment(2, 2),
});

function ownerOn(registration: string, { kind, namespace, name }: ViewedObject): KubeObject["metadata"] {
  const apiVersion = kind === "Deployment" ? "apps/v1" : "v1";
  const owner = { hub: simulatedHubId, logicalCluster: tenant, namespace, registration, apiVersion, kind, name };
  return { name, namespace: namespaceFor(tenant, namespace), ...ownershipMetadata(owner) };
}

const server = (registration: string): string =>
  formatKey({ logicalCluster: tenant, kind: "ClusterRegistration", name: registration });

/** A process that hears of what it is told, and the time for it. */
function listener() {
  const time = { nowMs: 0 };
  const view = createProcessView(() => {
    // No two things happen in the same moment.
    time.nowMs += 0.001;
    return time.nowMs;
  });
  let version = 0;
  const tell = (from: string, path: string, body: Part | undefined): void => {
    version += 1;
    const name = path.split("/").at(-1) ?? "";
    const text = JSON.stringify(
      body === undefined
        ? { kind: "Status", details: { name } }
        : { ...body, metadata: { resourceVersion: String(version), ...(body.metadata ?? {}) } },
    );
    const status = body === undefined ? 404 : 200;
    view.answered(from, { method: "GET", path, headers: {}, timeoutMs: 1 }, { status, text });
  };
  const inKcp = (group: string, resource: string, body: Part | undefined): void =>
    tell(kcpServer, `/clusters/${tenant}/${group}/${resource}`, body);
  const onCluster = (registration: string, of: ViewedObject, body: Part | undefined): void => {
    const { group, plural } = workloadResources[of.kind];
    const root = group === "" ? "api/v1" : `apis/${group}/v1`;
    const path = `/${root}/namespaces/${namespaceFor(tenant, of.namespace)}/${plural}/${of.name}`;
    tell(server(registration), path, body && { metadata: ownerOn(registration, of), ...body });
  };
  return { view, time, tell, inKcp, onCluster };
}

const tmc = "apis/tmc.kcp.io/v1alpha1";

function recordOf(of: ViewedObject, spec: Part, metadata: Part = {}): Part {
  const name = recordName({ type: workloadResources[of.kind], name: of.name });
  const apiVersion = of.kind === "Deployment" ? "apps/v1" : "v1";
  return {
    metadata: { name, namespace: of.namespace, ...metadata },
    spec: {
      workload: { apiVersion, kind: of.kind, name: of.name, uid: "u1" },
      placement: "p0",
      clusters: ["east", "west"],
      deletionPolicy: "Delete",
      ...spec,
    },
  };
}

const recordPath = (of: ViewedObject): string =>
  `namespaces/${of.namespace}/workloadsyncs/${recordName({ type: workloadResources[of.kind], name: of.name })}`;
const registrationOf = (name: string): Part => ({ metadata: { name }, spec: { location: "here" } });

function workloadOf(name: string, { metadata = {}, spec = {} }: Partial<Record<"metadata" | "spec", Part>>): Part {
  return {
    metadata: { name, namespace: "shop", uid: "u1", labels: { place: "p0" }, finalizers: [syncFinalizer], ...metadata },
    spec: { replicas: 2, ...spec },
  };
}

function seen(facts: Facts): WorkloadView {
  const { view, inKcp, onCluster } = listener();
  const hearWorkload = (): void => {
    const { workload: said } = facts;
    const body = said === "gone" ? undefined : workloadOf("d0", said);
    inKcp("apis/apps/v1", "namespaces/shop/deployments/d0", body);
  };
  for (const name of ["east", "west"]) inKcp(tmc, `clusterregistrations/${name}`, registrationOf(name));
  inKcp(tmc, "workloadplacements/p0", {
    metadata: { name: "p0" },
    spec: { workloadSelector: { namespaces: ["shop"], labelSelector: { matchLabels: { place: "p0" } } } },
    status: { selectedClusters: facts.selected },
    ...facts.placement,
  });
  const { status, ...spec } = facts.record;
  inKcp(tmc, recordPath(workload), { ...recordOf(workload, spec), ...(status === undefined ? {} : { status }) });
  if (!facts.readsWorkload) hearWorkload();
  const began = view.begin();
  if (facts.readsWorkload) hearWorkload();
  if (facts.east !== undefined) onCluster("east", workload, facts.east);
  if (facts.west !== undefined) onCluster("west", workload, facts.west);
  return viewOf(view, began);
}

function runOf(view: ProcessView, began = view.begin()): WorkRun {
  const key = { logicalCluster: tenant, kind: "Workload", name: "deployments.v1.apps/shop/d0" } as const;
  return { item: { key, reason: "changed" }, began, deletions: new Set() };
}

const viewOf = (view: ProcessView, began = view.begin()): WorkloadView =>
  createWorkloadView(view, runOf(view, began), tenant);

const eastOf = (view: WorkloadView) => ({ view, workload, registration: "east" });
const paused = { metadata: { annotations: { "tmc.kcp.io/sync": "pause" } } };
const held = { state: "Held", reason: "DeletionsHeld" };
const condition = { type: "DeletionsHeld", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
const confirmation = { "tmc.kcp.io/confirm-deletions": "east@2026-01-01T00:00:00Z" };
const heldRecord = { status: { clusters: [{ name: "east", ...held }], conditions: [condition] } };

const allowed: Record<string, Partial<Facts>> = {
  "a move to a cluster that shows to be ready": {},
  "a workload that no placement selects": { workload: { metadata: { labels: {} } }, west: undefined },
  "a placement that is being deleted": {
    placement: { metadata: { name: "p0", deletionTimestamp: "2026-01-01T00:00:00Z" } },
    west: undefined,
  },
  "a workload that is being deleted": {
    workload: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
    selected: ["east", "west"],
  },
  "a workload that is gone and was seen being deleted": {
    workload: "gone",
    readsWorkload: true,
    record: { deleted: true },
  },
  "a workload that has vanished, once a user confirms": {
    workload: "gone",
    readsWorkload: true,
    record: { status: heldRecord.status },
  },
};

const forbidden: Record<string, Readonly<{ facts: Partial<Facts>; why: RegExp }>> = {
  "a copy that is wanted": { facts: { selected: ["east", "west"] }, why: /wanted there/ },
  "the last copy, because no cluster fits": { facts: { selected: [] }, why: /wanted there/ },
  "a copy whose replacement is not ready": { facts: { west: deployment(2, 1) }, why: /ready where it moves/ },
  "a copy whose replacement was not read in this run": { facts: { west: undefined }, why: /ready where it moves/ },
  "a workload that has vanished": {
    facts: { workload: "gone", readsWorkload: true },
    why: /seen its workload being deleted/,
  },
  "a workload that was not asked for": {
    facts: { workload: "gone", record: { deleted: true } },
    why: /seen its workload being deleted/,
  },
  "a workload whose placement was never heard of": {
    facts: { record: { placement: "p1" }, workload: { metadata: { labels: {} } } },
    why: /wanted there/,
  },
  "a workload that is paused": { facts: { workload: paused }, why: /paused/ },
  "a copy that is to be orphaned": { facts: { record: { deletionPolicy: "Orphan" } }, why: /orphaned/ },
  "a copy that no record names": { facts: { record: { clusters: ["west"] } }, why: /no record/ },
  "a copy that was not read right before": { facts: { east: undefined }, why: /to be ours/ },
  "a copy that is not ours any more": {
    facts: { east: { ...deployment(2, 2), metadata: { name: "d0", namespace: namespaceFor(tenant, "shop") } } },
    why: /to be ours/,
  },
};

describe("the law of evictions", () => {
  test.for(Object.entries(allowed))("allows %s", ([name, facts]) => {
    const view = seen({ ...moved(), ...facts });
    if (name.includes("confirms")) {
      const [record] = view.record(workload);
      const annotated = {
        ...view,
        record: () => [record && { ...record, metadata: { ...record.metadata, annotations: confirmation } }],
      };
      expect(whyNotEvicted(eastOf(annotated), limits)).toBeUndefined();
      return;
    }
    expect(whyNotEvicted(eastOf(view), limits)).toBeUndefined();
  });

  test.for(Object.entries(forbidden))("forbids %s", ([, { facts, why }]) => {
    expect(whyNotEvicted(eastOf(seen({ ...moved(), ...facts })), limits)).toMatch(why);
  });

  test("allows what was decided on what was heard before the run went on", () => {
    const { view, inKcp, onCluster } = listener();
    const place = (selected: readonly string[]): void =>
      inKcp(tmc, "workloadplacements/p0", {
        metadata: { name: "p0" },
        spec: { workloadSelector: { namespaces: ["shop"] } },
        status: { selectedClusters: selected },
      });
    inKcp("apis/apps/v1", "namespaces/shop/deployments/d0", workloadOf("d0", {}));
    inKcp(tmc, recordPath(workload), recordOf(workload, {}));
    place(["west"]);
    const began = view.begin();
    for (const name of ["east", "west"]) onCluster(name, workload, deployment(2, 2));
    place(["east", "west"]);
    expect(whyNotEvicted(eastOf(viewOf(view, began)), limits)).toBeUndefined();
    const later = view.begin();
    for (const name of ["east", "west"]) onCluster(name, workload, deployment(2, 2));
    expect(whyNotEvicted(eastOf(viewOf(view, later)), limits)).toMatch(/wanted there/);
  });
});

/** Three workloads on east, of which some lose their placement. */
function manyUnplaced(
  lost: number,
  { record = {}, registration = {} }: Partial<Record<"record" | "registration", Part>>,
) {
  const { view, inKcp, onCluster } = listener();
  inKcp(tmc, "clusterregistrations/east", { metadata: { name: "east" }, spec: { location: "here", ...registration } });
  inKcp(tmc, "workloadplacements/p0", {
    metadata: { name: "p0" },
    spec: { workloadSelector: { namespaces: ["shop"], labelSelector: { matchLabels: { place: "p0" } } } },
    status: { selectedClusters: ["east"] },
  });
  for (const [index, name] of ["d0", "d1", "d2"].entries()) {
    const of = { ...workload, name };
    const labels = index < lost ? {} : { place: "p0" };
    inKcp("apis/apps/v1", `namespaces/shop/deployments/${name}`, workloadOf(name, { metadata: { labels } }));
    inKcp(tmc, recordPath(of), { ...recordOf(of, { clusters: ["east"] }), ...record });
  }
  const began = view.begin();
  onCluster("east", workload, deployment(2, 2));
  return eastOf(viewOf(view, began));
}

describe("the law of the deletion guard", () => {
  const guarded = { ...limits, alwaysAllowed: 2 };
  const drained = { taints: [{ key: drainTaint, effect: "NoExecute" }] };

  test("allows as many evictions as the settings do", () => {
    expect(whyNotEvicted(manyUnplaced(2, {}), guarded)).toBeUndefined();
  });
  test("forbids one more", () => {
    expect(whyNotEvicted(manyUnplaced(3, {}), guarded)).toMatch(/3 of 3 copies/);
  });
  test("forbids those that are held, however few are left", () => {
    expect(whyNotEvicted(manyUnplaced(1, { record: heldRecord }), guarded)).toMatch(/held/);
  });
  test("does not count what leaves a drained cluster", () => {
    expect(whyNotEvicted(manyUnplaced(3, { registration: drained }), guarded)).toBeUndefined();
  });
});

test("the law of writes forbids a copy before its record, its finalizer, or against its placement", () => {
  const why = (facts: Partial<Facts>, registration = "west"): string | undefined =>
    whyNotApplied({ view: seen({ ...moved(), ...facts }), workload, registration });
  expect(why({})).toBeUndefined();
  expect(why({ record: { clusters: ["east"] } })).toMatch(/no record/);
  expect(why({ workload: { metadata: { finalizers: [] } } })).toMatch(/no finalizer/);
  expect(why({ workload: paused })).toMatch(/paused/);
  expect(why({}, "east")).toMatch(/no placement/);
});

/** A Deployment that has left east, where another one may still need the ConfigMap of both. */
function sharing({
  other,
  unrecorded = false,
}: Readonly<{ other: readonly string[] | undefined; unrecorded?: boolean }>) {
  const { view, inKcp } = listener();
  const pod = { spec: { containers: [], volumes: [{ name: "config", configMap: { name: config.name } }] } };
  const references = [{ kind: config.kind, name: config.name }];
  const second = { ...workload, name: "d1" };
  inKcp("apis/apps/v1", "namespaces/shop/deployments/d0", workloadOf("d0", { metadata: { labels: {} } }));
  inKcp(tmc, recordPath(workload), recordOf(workload, { clusters: [], references }));
  if (other !== undefined) inKcp(tmc, recordPath(second), recordOf(second, { clusters: other, references }));
  if (unrecorded)
    inKcp("apis/apps/v1", "namespaces/shop/deployments/d1", workloadOf("d1", { spec: { template: pod } }));
  return eastOf(viewOf(view));
}

test("the law of dependencies forbids the deletion of one that another workload needs", () => {
  expect(whyNotPruned(sharing({ other: ["west"] }), config)).toBeUndefined();
  expect(whyNotPruned(sharing({ other: ["east", "west"] }), config)).toMatch(/record of d1/);
  expect(whyNotPruned(sharing({ other: undefined, unrecorded: true }), config)).toMatch(/d1 needs it/);
});

/** The dependency of a workload on east, after the cluster has shown its copy or that it has none. */
function depending({ selected, copy }: Readonly<{ selected: readonly string[]; copy: Part | undefined }>) {
  const { view, inKcp, onCluster } = listener();
  const pod = { spec: { containers: [], volumes: [{ name: "config", configMap: { name: config.name } }] } };
  inKcp(tmc, "workloadplacements/p0", {
    metadata: { name: "p0" },
    spec: { workloadSelector: { namespaces: ["shop"] } },
    status: { selectedClusters: selected },
  });
  inKcp("apis/apps/v1", "namespaces/shop/deployments/d0", workloadOf("d0", { spec: { template: pod } }));
  inKcp(tmc, recordPath(workload), recordOf(workload, { clusters: ["east"] }));
  const began = view.begin();
  onCluster("east", workload, copy);
  return eastOf(viewOf(view, began));
}

test("the law of dependencies allows the deletion of one where its workload is gone and nothing selects the cluster", () => {
  expect(whyNotPruned(depending({ selected: [], copy: undefined }), config)).toBeUndefined();
  expect(whyNotPruned(depending({ selected: ["east"], copy: undefined }), config)).toMatch(/its own workload/);
  expect(whyNotPruned(depending({ selected: [], copy: deployment(2, 2) }), config)).toMatch(/its own workload/);
});

test("the law of namespaces forbids the deletion of one that was not seen to be empty, or that another workload uses", () => {
  const namespace = namespaceFor(tenant, "shop");
  const why = (items: Readonly<Partial<Record<WorkloadKind, string>>>, other: readonly string[] = []) => {
    const { view, tell, inKcp } = listener();
    const second = { ...workload, name: "d1" };
    inKcp(tmc, recordPath(second), recordOf(second, { clusters: other }));
    const run = viewOf(view);
    const list = (path: string, name: string | undefined): void =>
      tell(server("east"), path, {
        kind: "List",
        items: name === undefined ? [] : [{ metadata: { name, namespace } }],
      });
    list(`/api/v1/namespaces/${namespace}/pods`, undefined);
    for (const [kind, { group, plural }] of Object.entries(workloadResources)) {
      const root = group === "" ? "api/v1" : `apis/${group}/v1`;
      if (!(kind in items)) list(`/${root}/namespaces/${namespace}/${plural}`, undefined);
      else if (items[kind as WorkloadKind] !== "")
        list(`/${root}/namespaces/${namespace}/${plural}`, items[kind as WorkloadKind]);
    }
    return whyNamespaceStays(eastOf(run), "shop");
  };
  expect(why({})).toBeUndefined();
  expect(why({ ConfigMap: "kube-root-ca.crt" })).toBeUndefined();
  expect(why({ Secret: "stranger" })).toMatch(/seen secrets stranger/);
  expect(why({ Service: "" })).toMatch(/not looked for services/);
  expect(why({}, ["east"])).toMatch(/record of d1/);
});

type SaidFacts = Readonly<{
  afterMs?: number;
  isReady?: boolean;
  tellsAbsence?: boolean;
  isRegistered?: boolean;
  /** What kcp has told of the workload before the run, and tells in it: each a mirror of an original on east, or not. */
  mirrors?: readonly boolean[];
}>;

/** A workload that mirrors an original on east, or the same one of a user. */
function mirrorOf(isMirror: boolean): Part {
  const origin = { logicalCluster: tenant, registration: "east", apiVersion: "apps/v1", ...workload, uid: "o1" };
  return workloadOf("d0", isMirror ? { metadata: { annotations: upsyncOriginMetadata(origin) } } : {});
}

/** What the laws find wrong with what is written about a workload whose cluster has told one ready replica, and three of its original. */
function wrongAbout({
  afterMs = 0,
  isReady = true,
  tellsAbsence = false,
  isRegistered = true,
  mirrors = [],
}: SaidFacts) {
  const { view, time, tell, inKcp, onCluster } = listener();
  const status = { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] };
  inKcp(tmc, "clusterregistrations/east", { ...registrationOf("east"), status });
  onCluster("east", workload, deployment(2, 1));
  const original = { metadata: { name: "d0", namespace: "shop", uid: "o1" }, ...deployment(3, 3) };
  tell(server("east"), "/apis/apps/v1/namespaces/shop/deployments/d0", original);
  const hear = (isMirror: boolean): void => inKcp("apis/apps/v1", "namespaces/shop/deployments/d0", mirrorOf(isMirror));
  for (const isMirror of mirrors.slice(0, 1)) hear(isMirror);
  time.nowMs = afterMs;
  const run = runOf(view);
  for (const isMirror of mirrors.slice(1)) hear(isMirror);
  if (tellsAbsence) onCluster("east", workload, undefined);
  if (!isRegistered) inKcp(tmc, "clusterregistrations/east", undefined);
  const wrong: string[] = [];
  const laws = createStatusLaws((law, message) => wrong.push(`law ${law}: ${message}`));
  const cause = { process: { name: "controller", skewsMs: new Set([0]), view }, work: run };
  const changeOf = (object: Part, previous: Part) => ({
    type: "MODIFIED" as const,
    revision: 1,
    key: { storage: "any", logicalCluster: tenant, namespace: "shop", name: "any" },
    object: object as unknown as KubeObject,
    previous: previous as unknown as KubeObject,
  });
  return {
    record: (spec: Part, entry: Part, before: Part = {}) => {
      const previous = {
        ...recordOf(workload, { clusters: ["east"] }),
        status: { clusters: [{ name: "east", ...before }] },
      };
      const now = { ...recordOf(workload, spec), status: { clusters: [{ name: "east", ...entry }] } };
      laws.record(changeOf(now, previous), cause);
      return wrong;
    },
    workload: (readyReplicas: number) => {
      const object = { kind: "Deployment", ...workloadOf("d0", {}) };
      laws.workload(changeOf({ ...object, status: { readyReplicas } }, object), cause);
      return wrong;
    },
  };
}

describe("the law of what is said of copies", () => {
  const onEast = { clusters: ["east"] };

  test("allows what a cluster has told", () => {
    expect(wrongAbout({}).record(onEast, { state: "Applied", readyReplicas: 1, desiredReplicas: 2 })).toEqual([]);
    expect(wrongAbout({}).workload(1)).toEqual([]);
    expect(wrongAbout({}).workload(0)).toEqual([]);
  });

  test("forbids another number, in the record and in the workload", () => {
    expect(wrongAbout({}).record(onEast, { state: "Applied", readyReplicas: 2 })).toEqual([
      expect.stringContaining("the cluster told 1"),
    ]);
    expect(wrongAbout({}).workload(2)).toEqual([expect.stringContaining("adds up to 0 or 1")]);
  });

  test.for([
    { of: "the original, of a mirror", mirrors: [true], counts: [3], told: "3" },
    { of: "the copy, of a user's workload", mirrors: [false], counts: [1], told: "1" },
    {
      of: "either, of a mirror that a user replaces",
      mirrors: [true, false],
      counts: [1, 3],
      told: "1, and the cluster told 3",
    },
    {
      of: "either, of a workload that becomes a mirror",
      mirrors: [false, true],
      counts: [1, 3],
      told: "1, and the cluster told 3",
    },
  ])("allows what the cluster has told of $of", ({ mirrors, counts, told }) => {
    const wrong = (readyReplicas: number) =>
      wrongAbout({ mirrors }).record(onEast, { state: "Applied", readyReplicas });
    for (const count of [0, 1, 2, 3]) {
      const expected = counts.includes(count) ? [] : [expect.stringMatching(new RegExp(`the cluster told ${told}$`))];
      expect(wrong(count)).toEqual(expected);
    }
  });

  test("forbids Ready while replicas are not", () => {
    const entry = { state: "Ready", readyReplicas: 1, desiredReplicas: 2 };
    expect(wrongAbout({}).record(onEast, entry)).toEqual([expect.stringContaining("not all replicas")]);
  });

  test("forbids to count what was heard too long ago, or of a cluster that is not Ready", () => {
    const entry = { state: "Applied", readyReplicas: 1 };
    expect(wrongAbout({ afterMs: 90_000 }).record(onEast, entry)).toEqual([]);
    expect(wrongAbout({ afterMs: 90_001 }).record(onEast, entry)).toEqual([expect.stringContaining("for too long")]);
    expect(wrongAbout({ afterMs: 90_001 }).workload(1)).toEqual([expect.stringContaining("adds up to 0")]);
    expect(wrongAbout({ isReady: false }).workload(1)).toEqual([expect.stringContaining("adds up to 0")]);
  });

  test("forbids a count of a cluster that is not read", () => {
    expect(wrongAbout({}).record(onEast, { state: "Stale", readyReplicas: 1 })).toHaveLength(1);
    expect(wrongAbout({}).record(onEast, { state: "Stale" })).toEqual([]);
  });

  test("forbids a record to drop a cluster that has not said that it has no copy", () => {
    const dropped = (facts: Parameters<typeof wrongAbout>[0]) => wrongAbout(facts).record({ clusters: [] }, {});
    expect(dropped({})).toEqual([expect.stringContaining("does not name east any more")]);
    expect(dropped({ tellsAbsence: true })).toEqual([]);
    expect(dropped({ isRegistered: false })).toEqual([]);
  });
});

test("a run may go by what was known before the arrivals of the moment in which it begins", () => {
  let nowMs = 0;
  const view = createProcessView(() => nowMs);
  const path = `/clusters/${tenant}/apis/apps/v1/namespaces/shop/deployments/d0`;
  const address = { server: kcpServer, logicalCluster: tenant, plural: "deployments", namespace: "shop", name: "d0" };
  const known = (): unknown => view.versions(view.begin(), address).map(({ object }) => object?.spec);
  for (const replicas of [1, 2]) {
    nowMs += 1;
    const text = JSON.stringify(workloadOf("d0", { metadata: { resourceVersion: `${replicas}` }, spec: { replicas } }));
    view.answered(kcpServer, { method: "GET", path, headers: {}, timeoutMs: 1 }, { status: 200, text });
  }
  expect(known()).toEqual([{ replicas: 1 }, { replicas: 2 }]);
  nowMs += 1;
  expect(known()).toEqual([{ replicas: 2 }]);
});

describe("the law of stored decisions, of a tenant that kcp does not answer for", () => {
  const since = "2026-01-01T00:00:00Z";
  const nowMs = Date.parse("2026-01-01T00:10:00Z");
  const aRegistration = (name: string, status: "True" | "False"): Part => ({
    metadata: { name },
    spec: { location: "here" },
    status: {
      lastHeartbeat: since,
      conditions: [{ type: "Ready", status, reason: "X", message: "", lastTransitionTime: since }],
    },
  });
  // Two of four clusters here and two of three there: together they are most clusters.
  const here = [
    aRegistration("east", "True"),
    aRegistration("north", "False"),
    aRegistration("south", "False"),
    aRegistration("west", "True"),
  ] as unknown as readonly ClusterRegistration[];
  const there = [aRegistration("east", "False"), aRegistration("north", "True"), aRegistration("west", "False")];
  const base: WorkloadPlacement = {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name: "p0", generation: 1 },
    spec: { strategy: "Spread", numberOfClusters: 2 },
    status: { observedGeneration: 1, selectedClusters: ["east", "north"] },
  };
  const stored = { held: [{ fromMs: Date.parse(since), toMs: nowMs }], left: [] };
  const collection = `/clusters/lost/${tmc}/clusterregistrations`;

  // What has left stays away, whatever is known by now.
  test.each([
    { told: "of its clusters", allows: ["held", "left"] },
    { told: "nothing", allows: ["left"] },
    { told: "of its clusters, and that they are gone", allows: ["left"] },
    { told: "of its clusters, and then a list without them", allows: ["left"] },
  ])("allows what a process may decide that was told $told: $allows", ({ told, allows }) => {
    const { view, tell } = listener();
    if (told !== "nothing") for (const each of there) tell(kcpServer, `${collection}/${nameOf(each)}`, each);
    if (told.endsWith("gone")) for (const each of there) tell(kcpServer, `${collection}/${nameOf(each)}`, undefined);
    if (told.endsWith("without them")) tell(kcpServer, collection, { kind: "List", items: [] });
    const allowed = (["held", "left"] as const).filter((outcome) => {
      const { status } = decidePlacement({
        placement: base,
        clusters: here.map(clusterFacts),
        massFailuresOfProcess: stored[outcome],
        nowMs,
      });
      const found: string[] = [];
      checkDecisions(
        {
          monitor: { broken: (_, message) => found.push(message) },
          mode: "direct",
          servers: { tenants: [tenant, "lost"] },
          views: new Set([view]),
        },
        { atMs: nowMs, tenants: [{ cluster: tenant, registrations: here, placements: [{ ...base, status }] }] },
        createSeeded(1),
      );
      return found.length === 0;
    });
    expect(allowed).toEqual(allows);
  });
});

function nameOf({ metadata }: Part): string {
  return (metadata as KubeObject["metadata"]).name ?? "";
}
