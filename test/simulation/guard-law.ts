import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { drainTaint } from "../../lib/sync/targets/target-cluster.ts";
import type { WorkloadKind } from "./desired-workloads.ts";
import { type Delivered, kcpServer } from "./process-view.ts";
import { kindOf, selects, targetsOf, type ViewedObject, type WorkloadView } from "./workload-view.ts";

/** How many copies may go at once without a confirmation. */
export type GuardLimits = Readonly<{ maxCopies: number; maxPercent: number; alwaysAllowed: number }>;

type Eviction = Readonly<{ workload: ViewedObject; registration: string; limits: GuardLimits }>;

/** What a process had heard of a tenant at one moment. */
type Moment = Readonly<{
  records: readonly WorkloadSync[];
  placements: readonly WorkloadPlacement[];
  registrations: ReadonlyMap<string, ClusterRegistration>;
  workloads: ReadonlyMap<string, KubeObject>;
}>;

/** The moments of a run that are looked at; a run during which more happens had reason enough to be of two minds. */
const mostMoments = 200;

/** No run has as many copies. */
const unlimited = 1_000;

/** Why an eviction needed a confirmation at every moment of its run; undefined if it did not at one of them. */
export function whyGuarded(view: WorkloadView, eviction: Eviction): string | undefined {
  if (eviction.limits.alwaysAllowed >= unlimited) return undefined;
  const changes = changesOf(view);
  if (changes.moments.length > mostMoments) return undefined;
  let reason: string | undefined;
  for (const moment of changes.moments) {
    reason = whyGuardedAt(changes.at(moment), eviction);
    if (reason === undefined) return undefined;
  }
  return reason;
}

/** A moment of a run, and whether the process has noticed that kcp was restored from a backup. */
type Seen = Readonly<{ seq: number; knowsRestore: boolean }>;

function changesOf({ view, run, tenant }: WorkloadView): Readonly<{
  moments: readonly Seen[];
  at(seen: Seen): Moment;
}> {
  const all = (plural: string): readonly (readonly Delivered[])[] =>
    view.all(run.began, { server: kcpServer, logicalCluster: tenant, plural });
  const histories = {
    records: all("workloadsyncs"),
    placements: all("workloadplacements"),
    registrations: all("clusterregistrations"),
    workloads: ["deployments", "services", "configmaps", "secrets"].map((plural) => ({ plural, all: all(plural) })),
  };
  const { knownSeq } = run.began;
  const lists = [histories.records, histories.placements, histories.registrations];
  const every = [...lists.flat(2), ...histories.workloads.flatMap((each) => each.all).flat()];
  const seqs = new Set([knownSeq, ...every.map(({ seq }) => seq).filter((seq) => seq > knownSeq)]);
  const isRestored = every.some(({ source }) => source === "restore");
  const moments = [...seqs].flatMap((seq): Seen[] => [
    { seq, knowsRestore: true },
    ...(isRestored ? [{ seq, knowsRestore: false }] : []),
  ]);
  /** An object as it was at a moment; the names under which it was delivered are those of the kind's schema. */
  const objectAt = (versions: readonly Delivered[], { seq, knowsRestore }: Seen): KubeObject | undefined =>
    versions.findLast((each) => each.seq <= seq && (knowsRestore || each.source !== "restore"))?.object;
  const objectsAt = <T>(histories: readonly (readonly Delivered[])[], seen: Seen): readonly T[] =>
    histories.flatMap((versions) => {
      const object = objectAt(versions, seen);
      return object === undefined ? [] : [object as T];
    });
  return {
    moments,
    at: (seen) => ({
      records: objectsAt(histories.records, seen),
      placements: objectsAt(histories.placements, seen),
      registrations: new Map(
        objectsAt<ClusterRegistration>(histories.registrations, seen).map((each) => [each.metadata.name ?? "", each]),
      ),
      workloads: new Map(
        histories.workloads.flatMap(({ plural, all: versions }) =>
          objectsAt<KubeObject>(versions, seen).map((each): [string, KubeObject] => {
            const kind: WorkloadKind = kindOf(plural) ?? "ConfigMap";
            const apiVersion = kind === "Deployment" ? "apps/v1" : "v1";
            return [`${kind}/${each.metadata.namespace}/${each.metadata.name}`, { ...each, apiVersion, kind }];
          }),
        ),
      ),
    }),
  };
}

function whyGuardedAt(moment: Moment, { workload, registration, limits }: Eviction): string | undefined {
  const own = moment.records.find(
    ({ metadata, spec }) =>
      metadata.namespace === workload.namespace &&
      spec.workload.kind === workload.kind &&
      spec.workload.name === workload.name,
  );
  if (own === undefined || isIntended(moment, own, registration)) return undefined;
  const entry = own.status?.clusters?.find(({ name }) => name === registration);
  if (entry?.state === "Held" && entry.reason === "DeletionsHeld") return "it is held, and nobody has confirmed it";
  const counts = { tenant: { total: 0, evicted: 0 }, cluster: { total: 0, evicted: 0 } };
  for (const record of moment.records) {
    const remaining = remainingOf(moment, record);
    for (const name of record.spec.clusters ?? []) {
      const isEvicted = remaining?.includes(name) === false && !isIntended(moment, record, name);
      for (const count of name === registration ? [counts.tenant, counts.cluster] : [counts.tenant]) {
        count.total += 1;
        if (isEvicted) count.evicted += 1;
      }
    }
  }
  for (const [where, { total, evicted }] of Object.entries(counts)) {
    const isTooMany = evicted > limits.alwaysAllowed && evicted * 100 > total * limits.maxPercent;
    if (evicted > limits.maxCopies || isTooMany) {
      return `${evicted} of ${total} copies of the ${where} were about to go, and nobody has confirmed it`;
    }
  }
  return undefined;
}

/** Where the copies of a record stay; undefined if none of them goes by a decision. */
function remainingOf(moment: Moment, record: WorkloadSync): readonly string[] | undefined {
  const { metadata, spec } = record;
  const workload = moment.workloads.get(`${spec.workload.kind}/${metadata.namespace}/${spec.workload.name}`);
  if (spec.deleted === true || (workload ?? record).metadata.deletionTimestamp !== undefined) return undefined;
  const recorded = moment.placements.find((placement) => placement.metadata.name === spec.placement);
  if (workload === undefined) return recorded === undefined ? [] : (recorded.status?.selectedClusters ?? []);
  const selecting = moment.placements.filter((placement) => selects(placement, workload) !== false);
  const [governor] = recorded !== undefined && selecting.includes(recorded) ? [recorded] : selecting;
  if (governor === undefined) return [];
  const targets = targetsOf(governor, workload);
  return targets.length === 0 ? undefined : targets;
}

/** Whether a copy goes because of its cluster, and not because of a decision that may be a mistake. */
function isIntended({ registrations, placements }: Moment, record: WorkloadSync, name: string): boolean {
  const registration = registrations.get(name);
  if (registration === undefined || registration.metadata.deletionTimestamp !== undefined) return true;
  const isDrained = registration.spec.taints?.some(({ key, effect }) => key === drainTaint && effect === "NoExecute");
  if (isDrained === true) return true;
  const placement = placements.find((each) => each.metadata.name === record.spec.placement);
  return placement?.status?.evictedClusters?.some(({ cluster }) => cluster === name) === true;
}
