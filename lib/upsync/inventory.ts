import { byKey } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type ObjectKey, workloadAddress, workloadKey } from "../model/key.ts";
import { type DeletionGuardSettings, exceedsLimit } from "../sync/eviction/deletion-guard.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import { endedLately, isFull } from "./deletion-log.ts";
import { isOptedIn, type OptIn } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** One cluster, and what it opts in to. */
export type Subject = Readonly<{ key: ObjectKey; registration: ClusterRegistration; optIns: readonly OptIn[] }>;

/**
 * Looks at everything of one cluster; undefined while its watches do not know all of it. Fails with a fault when the cluster
 * has to be asked and does not answer.
 */
export async function takeInventory(
  { workloads, source, clock, settings }: UpsyncTools,
  { key, registration, optIns }: Subject,
  signal: AbortSignal,
): Promise<Inventory | undefined> {
  const all = await source.listUids(key, optIns, signal);
  if (all === undefined) return undefined;
  const lists = await Promise.all(
    optIns.map(async ({ type, rules }) => {
      const objects = await workloads.list(key.logicalCluster, type.type, signal);
      return objects.map(({ metadata }): [string, Known] => {
        const { namespace = "", name = "", uid = "", labels } = metadata;
        const { apiVersion, kind } = type;
        const place = upsyncOriginOf({ apiVersion, kind, metadata }, key.logicalCluster);
        const { name: id } = workloadKey(key.logicalCluster, { type: type.type, namespace, name });
        return [
          id,
          {
            uid,
            isFromHere: place?.registration === key.name,
            isDeleting: metadata.deletionTimestamp !== undefined,
            isOptedIn: isOptedIn(rules, { namespace, labels }),
          },
        ];
      });
    }),
  );
  const upstream = new Map(lists.flat());
  const missing = [...all.keys()].filter((name) => !upstream.has(name));
  const namespaces = new Map<string, boolean>();
  for (const namespace of new Set(missing.map((name) => workloadAddress({ name })?.namespace ?? ""))) {
    const labels = await workloads.namespaceLabels(key.logicalCluster, namespace, signal);
    namespaces.set(namespace, labels !== undefined);
  }
  const confirmed = Number(registration.metadata.annotations?.[confirmUpsyncAnnotation] ?? 0);
  return decideInventory({
    births: all,
    upstream,
    homeless: new Set(missing.filter((name) => namespaces.get(workloadAddress({ name })?.namespace ?? "") !== true)),
    endedLately: endedLately(registration.status, clock.now()),
    isFull: isFull(registration.status, clock.now()),
    confirmed: Number.isFinite(confirmed) ? confirmed : 0,
    brake: settings.brake,
  });
}

/** An object of a workspace, as far as it matters to one registration. */
export type Known = Readonly<{
  uid: string;
  /** Whether it says that it was born on the cluster of this registration. */
  isFromHere: boolean;
  isDeleting: boolean;
  /** Whether the registration still opts in to it. */
  isOptedIn: boolean;
}>;

export type InventoryFacts = Readonly<{
  /** The uids of all that was born on the cluster, by the names of their keys. */
  births: ReadonlyMap<string, string>;
  /** What the workspace has of the types that are opted in, by the names of their keys. */
  upstream: ReadonlyMap<string, Known>;
  /** The keys whose namespace is not in the workspace. */
  homeless: ReadonlySet<string>;
  /** What has been removed from the workspace lately because it had gone from the cluster, by the names of keys. */
  endedLately: ReadonlySet<string>;
  /** Whether no more of those can be noted down: how many go is then not known any more. */
  isFull: boolean;
  /** How many somebody has said may go at once. */
  confirmed: number;
  brake: DeletionGuardSettings;
}>;

/** What is true of a cluster as a whole; every list holds names of keys, sorted. */
export type Inventory = Readonly<{
  /** Everything that was born there. */
  born: readonly string[];
  /** Born, and another object has the name. */
  taken: readonly string[];
  /** Born, and the workspace has no such namespace. */
  homeless: readonly string[];
  /** Born, and not in the workspace yet. */
  lacking: readonly string[];
  /** In the workspace, born here, and not known here any more. Only the cluster itself can say whether they are gone. */
  vanished: readonly string[];
  /** Why none of those may go now; undefined when they may. */
  held: string | undefined;
  /** Whether somebody has said that so many may go; such ends do not count against others. */
  isConfirmed: boolean;
}>;

/** By this annotation of a registration somebody says how many objects may go from the workspace at once. */
export const confirmUpsyncAnnotation = "tmc.kcp.io/confirm-upsync-deletions";

/** Looks at everything of one cluster at once. */
export function decideInventory(facts: InventoryFacts): Inventory {
  const { births, upstream, homeless } = facts;
  const born = [...births].toSorted(byKey);
  const missing = born.filter(([name]) => !upstream.has(name)).map(([name]) => name);
  // What nobody opts in to any more has not vanished, whether it is there or not.
  const own = [...upstream].filter(
    ([name, each]) => each.isFromHere && !each.isDeleting && (each.isOptedIn || births.has(name)),
  );
  const vanished = own
    .filter(([name]) => !births.has(name))
    .map(([name]) => name)
    .toSorted();
  const isTooMuch = areTooMany(facts, { vanished, own: own.map(([name]) => name) });
  const isConfirmed = vanished.length > 0 && vanished.length <= facts.confirmed;
  return {
    born: born.map(([name]) => name),
    taken: born
      .filter(([name, uid]) => {
        const known = upstream.get(name);
        return known !== undefined && !known.isFromHere && !known.isDeleting && known.uid !== uid;
      })
      .map(([name]) => name),
    homeless: missing.filter((name) => homeless.has(name)),
    lacking: missing.filter((name) => !homeless.has(name)),
    vanished,
    held: isTooMuch && !isConfirmed ? heldWords(vanished.length, own.length) : undefined,
    isConfirmed,
  };
}

/**
 * A namespace that goes tells of its objects one by one, so those that went a moment ago count too; one that was noted down and is
 * still there is on its way, and counts once.
 */
function areTooMany(
  { endedLately, isFull, brake }: InventoryFacts,
  { vanished, own }: Readonly<{ vanished: readonly string[]; own: readonly string[] }>,
): boolean {
  const count = {
    all: new Set([...own, ...endedLately]).size,
    leaving: new Set([...vanished, ...endedLately]).size,
  };
  return vanished.length > 0 && (isFull || exceedsLimit(count, brake));
}

function heldWords(vanished: number, own: number): string {
  return `${vanished} of ${own} objects that were born on the cluster are not there any more; to let them go set the annotation ${confirmUpsyncAnnotation} to "${vanished}"`;
}

/** Reads what `survey` says of what is held: how many objects, and why in words without the remedy. */
export function parseHeldWords(words: string): Readonly<{ count: number; why: string }> | undefined {
  const match = /^(([0-9]+) of [0-9]+ objects [^;]*);/.exec(words);
  const [, why, count] = match ?? [];
  return why === undefined || count === undefined ? undefined : { count: Number(count), why };
}
