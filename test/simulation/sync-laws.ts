import { isDeepStrictEqual } from "node:util";
import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { type Condition, findCondition } from "../../lib/model/condition.ts";
import { formatKey, workloadKey } from "../../lib/model/key.ts";
import { controlsOf } from "../../lib/sync/control-annotations.ts";
import { limitJob } from "../../lib/sync/decide.ts";
import { referencesOf } from "../../lib/sync/dependencies/references.ts";
import { isServerCreated } from "../../lib/sync/desired/server-fields.ts";
import { holdId } from "../../lib/sync/eviction/deletion-guard.ts";
import { syncFinalizer } from "../../lib/sync/ownership/record.ts";
import { upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { hasValidSelector } from "../../lib/sync/selection.ts";
import { candidatesFor, idOf, type TenantState } from "./actual-state.ts";
import { copiesOn, copyStorages, type FoundCopy, isRecorded, namespaceFor } from "./copies.ts";
import { isPlacedKind, isWorkloadKind, replicatedKinds, workloadResources } from "./desired-workloads.ts";
import type { SimulationEnvironment } from "./environment.ts";
import { expectedOn, overriddenPartsOf } from "./expected-overrides.ts";
import { foreignStorages } from "./foreign-objects.ts";
import type { Rest } from "./monitor.ts";
import { mirroredBy, type Original } from "./originals.ts";
import { checkedNamespaces } from "./servers.ts";
import { includes, sortedJson } from "./sorted-json.ts";
import { heldTargets, isAutoscaled } from "./workload-laws.ts";
import { readyReplicasOf, replicasOf } from "./workload-view.ts";

/** A workload in a namespace where the result follows from the desired objects, with its state in kcp and on clusters. */
type Case = Readonly<{
  tenant: string;
  id: string;
  workload: KubeObject;
  /** The original of an upsynced workload, if it exists. */
  original: Original | undefined;
  governor: WorkloadPlacement | undefined;
  /** Where it belongs. */
  targets: readonly string[];
  record: WorkloadSync | undefined;
  /** By registration: on every cluster that is Ready. */
  copies: ReadonlyMap<string, FoundCopy>;
  ready: ReadonlySet<string>;
  /** What it refers to and is not there. */
  missing: readonly string[];
  isPaused: boolean;
  isHeld: boolean;
}>;

/** What two runs must agree on where they agree on what it rests on. */
export type SyncOutcome = ReadonlyMap<string, Readonly<{ under: string; said: string }>>;

/** Law 1 and 5 once all is at rest: what is on the clusters, and what is said of it, is what the present facts give. */
export function checkSync(world: SimulationEnvironment): void {
  for (const tenant of world.judged) {
    const cases = casesOf(world, tenant);
    for (const each of cases) {
      if (each.workload.metadata.deletionTimestamp === undefined) checkWanted(world, each);
      else checkDeleted(world, each);
      checkStatus(world, each);
    }
    checkLeftovers(world, tenant, cases);
  }
}

/** What a run has come to, as far as it does not depend on the way there. */
export function syncOutcomeOf(world: SimulationEnvironment): SyncOutcome {
  const outcome = new Map<string, Readonly<{ under: string; said: string }>>();
  for (const tenant of world.judged) {
    for (const each of casesOf(world, tenant)) {
      const { id, workload, governor, targets, ready, record, missing, copies } = each;
      const isSettled = !each.isPaused && !each.isHeld && missing.length === 0 && targets.length > 0;
      if (!isSettled || workload.metadata.deletionTimestamp !== undefined) continue;
      // A copy that waits to leave is a trace of where it was.
      const isElsewhere = (record?.spec.clusters ?? []).length > targets.length;
      if (!targets.every((name) => ready.has(name)) || isElsewhere) continue;
      // Whose replicas depend on more than the desired objects.
      const isDivided =
        governor?.spec.replicas?.mode === "Divided" || isAutoscaled(world.monitor.truth.of(tenant), workload);
      const said = {
        finalizers: workload.metadata.finalizers,
        status: isDivided ? undefined : statusOf(workload),
        placement: record?.spec.placement,
        clusters: record?.spec.clusters?.filter((name) => ready.has(name)),
        references: record?.spec.references,
        states: record?.status?.clusters
          ?.filter(({ name }) => ready.has(name))
          .map(({ name, state, reason, desiredReplicas: desired }) => [
            name,
            state,
            reason,
            isDivided ? undefined : desired,
          ]),
        condition: conditionOf(record),
        copies: [...copies].map(([name, { object }]) => [name, saidByCopy(object, isDivided)]),
        company: targets.map((name) => companyOn(world, each, name)),
      };
      const origin = upsyncOriginOf(workload, tenant)?.registration;
      const under = sortedJson([targets, workload.spec, governor?.spec, origin]);
      outcome.set(`${tenant}/${id}`, { under, said: sortedJson(said) });
    }
  }
  return outcome;
}

/** The first things on which two runs differ where they should not. */
export function syncDifferencesOf(oracle: SyncOutcome, found: SyncOutcome): readonly string[] {
  return [...found].flatMap(([key, { under, said }]) => {
    const other = oracle.get(key);
    if (other === undefined || other.under !== under || other.said === said) return [];
    return [`${key}: ${said}; without faults ${other.said}`];
  });
}

/** Law 2 for workloads: one that is where it belongs, and ready there, costs not even a question. */
export function checkReadsAtRest(world: SimulationEnvironment, { reads }: Pick<Rest, "reads">): void {
  for (const tenant of world.judged) {
    for (const { id, workload, record, targets, isPaused, missing } of casesOf(world, tenant)) {
      const [kind, namespace = "", name = ""] = id.split("/");
      if (kind === undefined || !isWorkloadKind(kind)) continue;
      const type = workloadResources[kind];
      const key = formatKey(workloadKey(tenant, { type, namespace, name }));
      const isCalm =
        workload.metadata.deletionTimestamp === undefined &&
        !isPaused &&
        // Not seen is not gone, so what is missing is asked for.
        missing.length === 0 &&
        conditionOf(record) === "True Ready" &&
        record?.spec.clusters?.length === targets.length;
      const asked = reads.get(key) ?? [];
      if (isCalm && asked.length > 0)
        world.monitor.broken(2, `${key} is at rest, and yet ${asked.slice(0, 3).join(", ")}`);
    }
  }
}

const unselective = { metadata: {}, spec: {} };

function casesOf(world: SimulationEnvironment, tenant: string): readonly Case[] {
  const { servers, monitor } = world;
  const { truth } = monitor;
  const kcp = truth.of(tenant);
  const ready = readyOf(kcp);
  const found = new Map(
    [...ready].map((name) => {
      const physical = servers.clusters.get(truth.physicalOf(tenant, name) ?? "");
      const all = physical === undefined ? [] : copiesOn(physical, tenant);
      return [name, all.filter(({ registration }) => registration === name)];
    }),
  );
  return [...kcp.workloads].flatMap(([id, workload]): Case[] => {
    const { kind, metadata } = workload;
    // A claim is here only for the workloads that use it.
    if (!isPlacedKind(kind) || kind === "PersistentVolumeClaim") return [];
    if (!checkedNamespaces.has(metadata.namespace ?? "")) return [];
    const origin = upsyncOriginOf(workload, tenant);
    const { allows, syncBlocker } = controlsOf(workload);
    const record = kcp.records.get(id);
    const recorded = kcp.placements.get(record?.spec.placement ?? "") ?? unselective;
    const [candidate] = candidatesFor(kcp, workload) ?? [];
    // One whose selector makes no sense keeps what it has, whoever else selects that by now.
    const governor = hasValidSelector(recorded) ? candidate : kcp.placements.get(record?.spec.placement ?? "");
    const copies = [...found].flatMap(([name, all]): [string, FoundCopy][] => {
      const copy = all.find((each) => idOfCopy(each) === id);
      // A registration that went before it could be asked leaves what is there, and who comes back does not know of it.
      const isForgotten =
        record?.spec.clusters?.includes(name) !== true &&
        (monitor.clusters.isAbandoned(tenant, truth.physicalOf(tenant, name) ?? "") ||
          (copy !== undefined && monitor.clusters.isForgotten(copy)));
      return copy === undefined || isForgotten ? [] : [[name, copy]];
    });
    const allowed = (governor?.status?.selectedClusters ?? [])
      .filter((name) => allows(name) && name !== origin?.registration)
      .toSorted();
    const selected = limitJob(allowed, { workload, record, placement: governor });
    return [
      {
        tenant,
        id,
        workload,
        governor,
        original: mirroredBy(world, tenant, workload),
        targets: heldTargets(kcp, { id, workload, selected, volumes: governor?.spec.volumes }) ?? selected,
        record,
        copies: new Map(copies),
        ready,
        missing: referencesOf(workload)
          .map((reference) => `${reference.kind}/${metadata.namespace}/${reference.name}`)
          .filter((reference) => !kcp.workloads.has(reference)),
        isPaused: syncBlocker !== undefined || !hasValidSelector(recorded),
        isHeld: record?.status?.clusters?.some(({ state }) => state === "Held") === true,
      },
    ];
  });
}

function checkWanted(world: SimulationEnvironment, each: Case): void {
  const { tenant, id, workload, governor, targets, record, copies, ready, isPaused, isHeld, missing } = each;
  const broken = (message: string): void => world.monitor.broken(1, `${tenant}/${id}: ${message}`);
  const hasAll = targets.every((name) => ready.has(name));
  if ((record?.spec.clusters ?? []).length > 0 && workload.metadata.finalizers?.includes(syncFinalizer) !== true) {
    broken("may be on clusters, and nothing holds it back");
  }
  if (isPaused) return;
  for (const name of ready) {
    const copy = copies.get(name);
    const entry = record?.status?.clusters?.find((found) => found.name === name);
    if (targets.includes(name)) {
      if (missing.length > 0) {
        if (entry?.reason !== "ReferenceMissing")
          broken(`lacks ${missing.join(", ")}, and of ${name} says ${JSON.stringify(entry)}`);
      } else if (copy === undefined) broken(`${name} has no copy: ${JSON.stringify(entry)}`);
      else {
        for (const difference of differencesIn(world, each, copy)) broken(`on ${name}: ${difference}`);
        for (const difference of lackingOn(world, each, name)) broken(`on ${name}: ${difference}`);
        if (entry?.state !== "Ready") broken(`is on ${name}, of which it says ${JSON.stringify(entry)}`);
      }
    } else if (copy !== undefined && copy.object.metadata.deletionTimestamp === undefined) {
      const isLast = governor !== undefined && targets.length === 0;
      const waits = targets.length > 0 && (!hasAll || missing.length > 0);
      const hold = record === undefined ? undefined : holdId(record, name);
      const isConfirmed = [workload, record].some((object) => controlsOf(object).confirmedHolds.has(hold ?? ""));
      if (entry?.state === "Held" && isConfirmed) broken(`${name} still has a copy, though its deletion is confirmed`);
      if (!isLast && !waits && !isHeld) broken(`${name} still has a copy: ${JSON.stringify(entry)}`);
    } else if (record?.spec.clusters?.includes(name) === true) broken(`${name} has no copy, and the record names it`);
  }
  for (const name of record?.spec.clusters ?? []) {
    // A placement that makes no sense keeps what it has chosen, also when that has gone.
    const isGone = !world.monitor.truth.of(tenant).registrations.has(name);
    if (isGone && !targets.includes(name)) broken(`the record names ${name}, which has gone`);
  }
  const { mode, min, max, clusters } = governor?.spec.replicas ?? {};
  if (mode !== "Divided" || !hasAll || min !== undefined || max !== undefined || clusters !== undefined) return;
  if (missing.length > 0 || targets.length === 0 || !replicatedKinds.has(workload.kind)) return;
  const sum = targets.reduce((all, name) => all + sharedOut(copies.get(name)), 0);
  if (sum !== replicasOf(workload)) broken(`${replicasOf(workload)} replicas were shared out as ${sum}`);
}

/** A workload that is being deleted waits only for clusters that cannot be asked. */
function checkDeleted({ monitor }: SimulationEnvironment, { tenant, id, record, ready, copies }: Case): void {
  const { registrations } = monitor.truth.of(tenant);
  const waitsFor = (record?.spec.clusters ?? []).filter((name) => registrations.has(name) && !ready.has(name));
  if (waitsFor.length === 0) monitor.broken(1, `${tenant}/${id} is deleted, and does not go`);
  for (const [name, { object }] of copies) {
    if (object.metadata.deletionTimestamp === undefined) {
      monitor.broken(1, `${tenant}/${id} is deleted, and ${name} keeps its copy`);
    }
  }
}

/** Law 5: the numbers are those of the clusters that are heard from, and it is said where one is not. */
function checkStatus(
  { monitor }: SimulationEnvironment,
  { tenant, id, workload, original, governor, targets, copies, ready, record }: Case,
): void {
  if (!replicatedKinds.has(workload.kind) || workload.metadata.deletionTimestamp !== undefined) return;
  const heard = [...copies.values()].filter(({ object }) => object.metadata.deletionTimestamp === undefined);
  const ofOriginal = original !== undefined && ready.has(original.registration) ? readyReplicasOf(original.object) : 0;
  const sum = heard.reduce((all, { object }) => all + readyReplicasOf(object), ofOriginal);
  if (readyReplicasOf(workload) !== sum) {
    monitor.broken(
      5,
      `${tenant}/${id} says ${readyReplicasOf(workload)} are ready, its clusters say ${sum} (${governor?.metadata.name ?? "no placement"})`,
    );
  }
  if (governor === undefined) return;
  const silent = targets.filter((name) => !ready.has(name));
  for (const name of silent) {
    const entry = record?.status?.clusters?.find((each) => each.name === name);
    if (entry?.state !== "Stale" || entry.readyReplicas !== undefined) {
      monitor.broken(5, `${tenant}/${id}: ${name} is not heard from, and the record says ${JSON.stringify(entry)}`);
    }
  }
  const { conditions } = (workload.status ?? {}) as Readonly<{ conditions?: readonly Condition[] }>;
  const seen = findCondition(conditions, "tmc.kcp.io/SeenEverywhere");
  if (silent.length > 0 && workload.status !== undefined && seen?.status !== "False") {
    monitor.broken(5, `${tenant}/${id}: ${silent.join(", ")} is not heard from, and the status does not say so`);
  }
}

/** What nobody needs any more is not left on clusters that can be asked, unless their registration went while it was there. */
function checkLeftovers({ servers, monitor }: SimulationEnvironment, tenant: string, cases: readonly Case[]): void {
  const { truth, clusters } = monitor;
  const { registrations, workloads, records } = truth.of(tenant);
  const ready = readyOf(truth.of(tenant));
  const known = new Map(cases.map((each) => [each.id, each]));
  for (const name of registrations.keys()) {
    const physicalName = truth.physicalOf(tenant, name) ?? "";
    const physical = servers.clusters.get(physicalName);
    if (physical === undefined || !ready.has(name) || clusters.isAbandoned(tenant, physicalName)) continue;
    const left = copiesOn(physical, tenant).filter(
      ({ namespace, registration }) => checkedNamespaces.has(namespace) && registration === name,
    );
    const thereIn = (namespace: string): readonly WorkloadSync[] =>
      [...records].flatMap(([id, record]) =>
        id.split("/")[1] === namespace && record.spec.clusters?.includes(name) === true ? [record] : [],
      );
    for (const copy of left) {
      const id = idOfCopy(copy);
      if (copy.object.metadata.deletionTimestamp !== undefined) continue;
      // Not known to any record, and so not deleted: nothing says that it may go.
      if (clusters.isForgotten(copy) && !isRecorded(records, copy)) continue;
      // A claim has data, which a move leaves behind.
      if (copy.kind === "PersistentVolumeClaim") continue;
      if (isPlacedKind(copy.kind)) {
        const isHeld = records.get(id)?.status?.clusters?.some(({ state }) => state === "Held") === true;
        if (!workloads.has(id) && !isHeld) monitor.broken(1, `${tenant}/${id} has gone, and ${name} has a copy`);
        continue;
      }
      const isNeeded = thereIn(copy.namespace).some(({ spec }) =>
        spec.references?.some((each) => each.kind === copy.kind && each.name === copy.name),
      );
      if (!isNeeded) monitor.broken(1, `${tenant}/${id} is needed by nobody on ${name}, and is there`);
    }
    for (const namespace of checkedNamespaces) {
      const isUsed =
        thereIn(namespace).length > 0 ||
        [...known.values()].some(
          ({ workload, targets }) => workload.metadata.namespace === namespace && targets.includes(name),
        );
      const there = emptyNamespace(physical, namespaceFor(tenant, namespace));
      // A restore brought it back, and no record names the cluster.
      if (there === undefined || clusters.isForgotten({ object: there })) continue;
      if (!isUsed) {
        monitor.broken(1, `${tenant}: namespace ${namespace} is empty on ${name}, and is there`);
      }
    }
  }
}

/** A namespace that exists on a cluster and has nothing but what the cluster itself creates there. */
function emptyNamespace({ store }: EmbeddedCluster, namespace: string): KubeObject | undefined {
  const found = store.get({ storage: "namespaces", logicalCluster: "", namespace: "", name: namespace });
  const isWithoutForeign = foreignStorages.every(
    (storage) => store.list(storage, { logicalCluster: "", namespace }).length === 0,
  );
  if (!isWithoutForeign) return undefined;
  const isEmpty = [...copyStorages].every(([kind, storage]) =>
    store
      .list(storage, { logicalCluster: "", namespace })
      .every(({ metadata }) => isServerCreated(kind, metadata.name ?? "")),
  );
  return isEmpty ? found : undefined;
}

function readyOf({ registrations }: TenantState): ReadonlySet<string> {
  return new Set(
    [...registrations].flatMap(([name, registration]) => (isReadyNow(registration) ? [name] : [])).toSorted(),
  );
}

function isReadyNow({ status, metadata }: ClusterRegistration): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True" && metadata.deletionTimestamp === undefined;
}

function differencesIn(
  { monitor }: SimulationEnvironment,
  { tenant, workload: plain, governor }: Case,
  { object, registration: name }: FoundCopy,
): readonly string[] {
  const registration = monitor.truth.of(tenant).registrations.get(name);
  const workload = registration === undefined ? plain : expectedOn(plain, governor?.spec.overrides ?? [], registration);
  const isOverridden = overriddenPartsOf(object) === overriddenPartsOf(workload);
  const { replicas: _, ...spec } = (workload.spec ?? {}) as Readonly<Record<string, unknown>>;
  const isDivided =
    (governor?.spec.replicas?.mode === "Divided" && replicatedKinds.has(workload.kind)) ||
    isAutoscaled(monitor.truth.of(tenant), workload);
  const said = isDivided ? spec : workload.spec;
  const { place, tier } = workload.metadata.labels ?? {};
  return [
    ...(includes(object.spec, said) ? [] : [`${JSON.stringify(object.spec)} in place of ${JSON.stringify(said)}`]),
    ...(isOverridden ? [] : [`${overriddenPartsOf(object)} in place of ${overriddenPartsOf(workload)}`]),
    ...(includes(object.metadata.labels, { place, tier }) ? [] : ["its labels are others"]),
  ];
}

/** The dependencies of a workload are there too, with equal content. */
function lackingOn(
  { servers, monitor }: SimulationEnvironment,
  { tenant, workload }: Case,
  name: string,
): readonly string[] {
  const { truth } = monitor;
  const physical = servers.clusters.get(truth.physicalOf(tenant, name) ?? "");
  const all = physical === undefined ? [] : copiesOn(physical, tenant);
  return referencesOf(workload).flatMap((reference) => {
    const id = `${reference.kind}/${workload.metadata.namespace}/${reference.name}`;
    const copy = all.find((each) => idOfCopy(each) === id);
    if (copy === undefined) return [`${id} is not there`];
    const own = truth.of(tenant).workloads.get(id);
    return isDeepStrictEqual(copy.object.data, own?.data) ? [] : [`${id} says something else than in kcp`];
  });
}

function companyOn({ servers, monitor }: SimulationEnvironment, { tenant, workload }: Case, name: string): unknown {
  const physical = servers.clusters.get(monitor.truth.physicalOf(tenant, name) ?? "");
  const all = physical === undefined ? [] : copiesOn(physical, tenant);
  const { namespace } = workload.metadata;
  const needed = new Set(referencesOf(workload).map((reference) => `${reference.kind}/${namespace}/${reference.name}`));
  return all.filter((each) => needed.has(idOfCopy(each))).map((each) => [idOfCopy(each), each.object.data]);
}

const idOfCopy = ({ kind, namespace, name }: FoundCopy): string =>
  idOf({ apiVersion: "", kind, metadata: { namespace, name } });

const sharedOut = (copy: FoundCopy | undefined): number => (copy === undefined ? 0 : replicasOf(copy.object));

function saidByCopy({ kind, spec, metadata, data }: KubeObject, isDivided: boolean): unknown {
  // Clusters complete what others say with values of their own, such as uids.
  if (kind !== "Deployment" && kind !== "Service") return { labels: metadata.labels };
  const { clusterIP: _, clusterIPs: __, replicas, ...said } = (spec ?? {}) as Readonly<Record<string, unknown>>;
  return { labels: metadata.labels, spec: said, data, ...(isDivided ? {} : { replicas }) };
}

function statusOf({ status }: KubeObject): unknown {
  if (status === undefined) return undefined;
  const {
    conditions,
    observedGeneration: _,
    startTime: __,
    completionTime: ___,
    ...numbers
  } = status as Readonly<{ conditions?: readonly Condition[] }> & Readonly<Record<string, unknown>>;
  // A cluster gives the next address to each load balancer, whichever comes first.
  const { loadBalancer: address, ...rest } = numbers;
  const comparable = { ...rest, ...(address !== undefined && { loadBalancer: "assigned" }) };
  const sorted = Object.entries(comparable).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [sorted, (conditions ?? []).map(({ type, status: value }) => `${type}=${value}`).toSorted()];
}

function conditionOf(record: WorkloadSync | undefined): string {
  const ready = findCondition(record?.status?.conditions, "Ready");
  return ready === undefined ? "none" : `${ready.status} ${ready.reason}`;
}
