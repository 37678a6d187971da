import { byKey } from "@tmc/kube/compare.ts";
import { userAnnotations } from "../api/annotations.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type ObjectKey, parseWorkloadKey, workloadKey } from "../model/key.ts";
import { type DeletionGuardSettings, exceedsLimit } from "../sync/eviction/deletion-guard.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import { isDeletionLogFull, recentDeletionsOf } from "./deletion-log.ts";
import { isOptedIn, type OptIn } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** A registration and the types that it opts in to. */
export type OptedInRegistration = Readonly<{
  key: ObjectKey;
  registration: ClusterRegistration;
  optIns: readonly OptIn[];
}>;

/** An upstream object, as far as it matters to one registration. */
export type UpstreamEntry = Readonly<{
  uid: string;
  /** Whether its origin is the cluster of this registration. */
  hasThisOrigin: boolean;
  isDeleting: boolean;
  /** Whether the registration still opts in to it. */
  isOptedIn: boolean;
  /** Whether a watch has reported the deletion of the original. */
  isDeletionObserved: boolean;
}>;

/** The copies of the workspace, as far as a deletion on this cluster would delete them too. */
export type CascadingCopies = Readonly<{
  /** The number of copies of all workloads in the workspace. */
  total: number;
  /** Key name → number of copies on other clusters. */
  byName: ReadonlyMap<string, number>;
}>;

export type InventoryFacts = Readonly<{
  /** Key name → uid of every object to upsync on the cluster. */
  downstreamUids: ReadonlyMap<string, string>;
  /** Key name → upstream object, for the types that are opted in. */
  upstream: ReadonlyMap<string, UpstreamEntry>;
  /** Key names whose namespace does not exist upstream. */
  withoutNamespace: ReadonlySet<string>;
  /** Key name → number of copies, of objects that were recently deleted upstream because they were deleted on the cluster. */
  recentDeletions: ReadonlyMap<string, number>;
  copies: CascadingCopies;
  /** Whether the deletion log is full: the number of recent deletions is then unknown. */
  isLogFull: boolean;
  /** How many deletions a user has confirmed. */
  confirmedCount: number;
  /** The name of the registration. */
  registration: string;
  deletionGuard: DeletionGuardSettings;
}>;

/** The comparison of one cluster with upstream. Every list holds key names, sorted. */
export type Inventory = Readonly<{
  /** Every object to upsync on the cluster. */
  present: readonly string[];
  /** Present, and another upstream object has the name. */
  nameTaken: readonly string[];
  /** Present, and its namespace does not exist upstream. */
  namespaceMissing: readonly string[];
  /** Present, and not upstream yet. */
  missingUpstream: readonly string[];
  /** Upstream with this origin, and not found on the cluster. Only a read of the object shows whether it is gone. */
  missingDownstream: readonly string[];
  /** Key name → number of copies on other clusters that are deleted with it, for objects of `missingDownstream` that have any. */
  copyCounts: ReadonlyMap<string, number>;
  /** Why objects of `missingDownstream` must not be deleted upstream now; undefined when they may be. */
  heldMessage: string | undefined;
  /** Whether a user has confirmed the deletion of `missingDownstream`. Confirmed deletions are not logged. */
  isConfirmed: boolean;
}>;

/** The annotation of a registration by which a user confirms that this many upsynced objects may be deleted upstream. */
export const confirmUpsyncAnnotation = userAnnotations.confirmUpsyncDeletions.name;

/**
 * Compares all objects of one cluster with upstream. Returns undefined while the watches of the cluster are not in sync.
 * Throws a fault when the cluster has to be listed and does not answer.
 */
export async function readInventory(
  { workloads, source, clock, settings }: UpsyncTools,
  { key, registration, optIns }: OptedInRegistration,
  signal: AbortSignal,
): Promise<Inventory | undefined> {
  const downstreamUids = await source.listUids(key, optIns, signal);
  if (downstreamUids === undefined) return undefined;
  const observedDeletions = source.observedDeletions(key);
  const lists = await Promise.all(
    optIns.map(async ({ type, rules }) => {
      const objects = await workloads.list(key.logicalCluster, type.type, signal);
      return objects.map(({ metadata }): [string, UpstreamEntry] => {
        const { namespace = "", name = "", uid = "", labels } = metadata;
        const { apiVersion, kind } = type;
        const origin = upsyncOriginOf({ apiVersion, kind, metadata }, key.logicalCluster);
        const { name: id } = workloadKey(key.logicalCluster, { type: type.type, namespace, name });
        return [
          id,
          {
            uid,
            hasThisOrigin: origin?.registration === key.name,
            isDeleting: metadata.deletionTimestamp !== undefined,
            isOptedIn: isOptedIn(rules, { namespace, labels }),
            isDeletionObserved: origin !== undefined && observedDeletions.get(id) === origin.uid,
          },
        ];
      });
    }),
  );
  const upstream = new Map(lists.flat());
  const missing = [...downstreamUids.keys()].filter((name) => !upstream.has(name));
  const namespaceOf = (name: string): string => parseWorkloadKey({ name })?.namespace ?? "";
  const namespaces = new Map<string, boolean>();
  for (const namespace of new Set(missing.map(namespaceOf))) {
    const labels = await workloads.namespaceLabels(key.logicalCluster, namespace, signal);
    namespaces.set(namespace, labels !== undefined);
  }
  const isAnyMissing = [...upstream].some(([name, entry]) => entry.hasThisOrigin && !downstreamUids.has(name));
  const confirmed = Number(registration.metadata.annotations?.[confirmUpsyncAnnotation] ?? 0);
  return decideInventory({
    downstreamUids,
    upstream,
    withoutNamespace: new Set(missing.filter((name) => namespaces.get(namespaceOf(name)) !== true)),
    recentDeletions: recentDeletionsOf(registration.status, clock.now()),
    copies: isAnyMissing ? await readCopies(workloads, { key, optIns }, signal) : noCopies,
    isLogFull: isDeletionLogFull(registration.status, clock.now()),
    confirmedCount: Number.isFinite(confirmed) ? confirmed : 0,
    registration: key.name,
    deletionGuard: settings.deletionGuard,
  });
}

const noCopies: CascadingCopies = { total: 0, byName: new Map() };

/** Counts the copies of the workspace from its sync records. */
async function readCopies(
  workloads: UpsyncTools["workloads"],
  { key: { logicalCluster }, optIns }: Pick<OptedInRegistration, "key" | "optIns">,
  signal: AbortSignal,
): Promise<CascadingCopies> {
  let total = 0;
  const byName = new Map<string, number>();
  for (const { metadata, spec } of await workloads.listRecords(logicalCluster, signal)) {
    const count = spec.clusters?.length ?? 0;
    total += count;
    const { apiVersion, kind, name } = spec.workload;
    const optIn = optIns.find(({ type }) => type.apiVersion === apiVersion && type.kind === kind);
    if (optIn === undefined) continue;
    const { namespace = "" } = metadata;
    byName.set(workloadKey(logicalCluster, { type: optIn.type.type, namespace, name }).name, count);
  }
  return { total, byName };
}

/**
 * Compares one cluster with upstream, and decides whether the deletion guard holds deletions.
 *
 * If all upsynced objects are missing at once, they are held however few they are, unless a watch has reported the deletion of
 * each: a cluster that was emptied, restored or rebuilt has the same effect.
 */
export function decideInventory(facts: InventoryFacts): Inventory {
  const { downstreamUids, upstream, withoutNamespace } = facts;
  const present = [...downstreamUids].toSorted(byKey);
  const missing = present.filter(([name]) => !upstream.has(name)).map(([name]) => name);
  // An object that is no longer opted in is not in the cluster's list, whether it exists or not.
  const upsynced = [...upstream].filter(
    ([name, entry]) => entry.hasThisOrigin && !entry.isDeleting && (entry.isOptedIn || downstreamUids.has(name)),
  );
  const missingDownstream = upsynced
    .filter(([name]) => !downstreamUids.has(name))
    .map(([name]) => name)
    .toSorted();
  // A logged deletion was allowed before, and its process died.
  const isAllowed = ([name, { isDeletionObserved }]: readonly [string, UpstreamEntry]): boolean =>
    isDeletionObserved || facts.recentDeletions.has(name);
  const isAllMissing = missingDownstream.length === upsynced.length && !upsynced.every(isAllowed);
  const isOverLimit =
    isAllMissing || exceedsGuard(facts, { missingDownstream, upsynced: upsynced.map(([name]) => name) });
  const isConfirmed = missingDownstream.length > 0 && missingDownstream.length <= facts.confirmedCount;
  return {
    present: present.map(([name]) => name),
    nameTaken: present
      .filter(([name, uid]) => {
        const entry = upstream.get(name);
        return entry !== undefined && !entry.hasThisOrigin && !entry.isDeleting && entry.uid !== uid;
      })
      .map(([name]) => name),
    namespaceMissing: missing.filter((name) => withoutNamespace.has(name)),
    missingUpstream: missing.filter((name) => !withoutNamespace.has(name)),
    missingDownstream,
    copyCounts: new Map(
      missingDownstream
        .map((name) => [name, facts.copies.byName.get(name) ?? 0] as const)
        .filter(([, count]) => count > 0),
    ),
    heldMessage:
      isOverLimit && !isConfirmed
        ? formatHeldMessage(facts, { missing: missingDownstream.length, total: upsynced.length })
        : undefined,
    isConfirmed,
  };
}

/**
 * Whether the missing objects, with the recent deletions, exceed the deletion guard: as objects of the cluster, or by the
 * copies on other clusters that are deleted with them. The objects of a deleted namespace
 * disappear one by one, so recent deletions count too. A name that is both logged and missing is being deleted and counts once.
 */
function exceedsGuard(
  { recentDeletions, copies, isLogFull, deletionGuard }: InventoryFacts,
  { missingDownstream, upsynced }: Readonly<{ missingDownstream: readonly string[]; upsynced: readonly string[] }>,
): boolean {
  if (missingDownstream.length === 0) return false;
  const missing = new Set(missingDownstream);
  const completed = [...recentDeletions].filter(([name]) => !missing.has(name));
  const objects = {
    total: new Set([...upsynced, ...recentDeletions.keys()]).size,
    evicted: missing.size + completed.length,
  };
  const deletedCopies = sum(completed.map(([, count]) => count));
  const cascade = {
    total: copies.total + deletedCopies,
    evicted: sum(missingDownstream.map((name) => copies.byName.get(name) ?? 0)) + deletedCopies,
  };
  // A single object may be deleted with all its copies, as if its owner had deleted it in the workspace.
  const isCascadeOverLimit = objects.evicted > 1 && exceedsLimit(cascade, deletionGuard);
  return isLogFull || exceedsLimit(objects, deletionGuard) || isCascadeOverLimit;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, each) => total + each, 0);

function formatHeldMessage(
  { registration }: Pick<InventoryFacts, "registration">,
  { missing, total }: Readonly<{ missing: number; total: number }>,
): string {
  return `${missing} of ${total} upsynced objects no longer exist on the cluster; to delete them in the workspace too, run: tmc confirm cluster/${registration}`;
}
