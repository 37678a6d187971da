import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Clock } from "../model/clock.ts";
import type { Hub } from "../model/hub.ts";
import type { KubeObject } from "../model/kube-object.ts";
import { type ClusterFacts, clusterFacts, type Registration } from "./facts.ts";
import { LoadBook } from "./load-book.ts";
import type { PlacementWorld } from "./reconcile.ts";

export type PlacementWorldOptions = Readonly<{
  hub: Hub;
  clock: Clock;
  /**
   * How long a count of all placements is gone by, with what was decided here since. Where each list is a request, a thousand
   * new placements would otherwise be listed a hundred times; how evenly they are dealt out is all that suffers. @default 0
   */
  countSeconds?: number | undefined;
}>;

/** Gives the placement reconciler its world over a hub. */
export function createPlacementWorld({ hub, clock, countSeconds = 0 }: PlacementWorldOptions): PlacementWorld {
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
    async observe(key, signal) {
      const placement = await hub.read<WorkloadPlacement>(key, signal);
      if (placement === undefined) return undefined;
      const registrations = await hub.list<RegistrationObject>("ClusterRegistration", key.cluster, signal);
      return { placement, clusters: factsOfAll(registrations), nowMs: clock.now() };
    },
    async deal(key, seen, decideUnder, signal) {
      const book = await countedBook(key.cluster, signal);
      // From here to the end nothing waits: whoever deals next sees this answer.
      const plan = decideUnder(book.without(key.name));
      book.promise(seen, plan.status.selectedClusters ?? []);
      return plan;
    },
    async writeStatus(key, seen, status, signal) {
      await hub.writeStatus(key, seen, status, signal);
    },
  };
}

type RegistrationObject = KubeObject & Registration;

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
