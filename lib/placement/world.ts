import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey } from "../model/key.ts";
import { LoadBook } from "./cluster-load.ts";
import { type ClusterFacts, clusterFacts, type Registration } from "./observed.ts";
import type { Followers, PlacementWorld } from "./reconcile.ts";

export type PlacementWorldOptions = Readonly<{
  hub: Hub;
  clock: Clock;
  /**
   * How long a count of all placements is gone by, with what was decided here since. Where each list is a request, a thousand
   * new placements would otherwise be listed a hundred times; how evenly they are dealt out is all that suffers. @default 0
   */
  countSeconds?: number | undefined;
  /** The workloads that follow placements. @default none do */
  followers?: Followers | undefined;
}>;

/** Gives the placement reconciler its world over a hub. */
export function createPlacementWorld({
  hub,
  clock,
  countSeconds = 0,
  followers,
}: PlacementWorldOptions): PlacementWorld {
  const books = new Map<string, { readonly book: LoadBook; countedMs: number }>();
  const countedBook = async (cluster: string, signal: AbortSignal): Promise<LoadBook> => {
    const known = books.get(cluster);
    if (known !== undefined && clock.now() - known.countedMs < countSeconds * 1000) return known.book;
    const placements = await hub.list<WorkloadPlacement>("WorkloadPlacement", cluster, signal);
    // Another may have begun the book meanwhile.
    const entry = books.get(cluster) ?? { book: new LoadBook(), countedMs: 0 };
    books.set(cluster, entry);
    entry.book.update(placements);
    entry.countedMs = clock.now();
    return entry.book;
  };
  return {
    followers,
    async observe(key, signal) {
      const placement = await hub.read<WorkloadPlacement>(key, signal);
      if (placement === undefined) return undefined;
      const listed = factsOfAll(await hub.list<RegistrationObject>("ClusterRegistration", key.logicalCluster, signal));
      const unlisted = await unlistedOf(hub, { key, placement, listed }, signal);
      return { placement, clusters: unlisted.length === 0 ? listed : [...listed, ...unlisted], nowMs: clock.now() };
    },
    async deal(key, seen, decideUnder, signal) {
      const book = await countedBook(key.logicalCluster, signal);
      // From here to the end nothing waits: whoever deals next sees this answer.
      const plan = decideUnder(book.without(key.name));
      book.promise(seen, plan.status.selectedClusters ?? []);
      return plan;
    },
    async writeStatus(key, seen, status, signal) {
      return hub.writeStatus(key, seen, status, signal);
    },
  };
}

type RegistrationObject = KubeObject & Registration;

/** The clusters that run the work, are in no list, and are there all the same: whoever goes by a short list sends it away. */
async function unlistedOf(
  hub: Hub,
  {
    key,
    placement,
    listed,
  }: Readonly<{ key: ObjectKey; placement: WorkloadPlacement; listed: readonly ClusterFacts[] }>,
  signal: AbortSignal,
): Promise<readonly ClusterFacts[]> {
  const { selectedClusters = [] } = placement.status ?? {};
  if (selectedClusters.length === 0) return [];
  const known = new Set(listed.map(({ name }) => name));
  const found = await Promise.all(
    selectedClusters
      .filter((name) => !known.has(name))
      .map((name) => hub.confirm<RegistrationObject>({ ...key, kind: "ClusterRegistration", name }, signal)),
  );
  return found.filter((registration) => registration !== undefined).map(factsOf);
}

// An object from the hub is never changed, so what was made of it stays true; it goes when the object goes.
const factsOfRegistrations = new WeakMap<object, ClusterFacts>();

/** Hubs that keep a list hand out the same one until something in it changes; then so do we. */
const factsOfLists = new WeakMap<readonly Registration[], readonly ClusterFacts[]>();

function factsOfAll(registrations: readonly Registration[]): readonly ClusterFacts[] {
  const known = factsOfLists.get(registrations);
  if (known !== undefined) return known;
  const facts = registrations.map(factsOf);
  factsOfLists.set(registrations, facts);
  return facts;
}

/** The facts of a registration, made once for each object that the hub hands out. */
export function factsOf(registration: Registration): ClusterFacts {
  const known = factsOfRegistrations.get(registration);
  if (known !== undefined) return known;
  const facts = clusterFacts(registration);
  factsOfRegistrations.set(registration, facts);
  return facts;
}
