import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { keepRunning } from "@tmc/kube/keep-running.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { Watchable } from "@tmc/kube/paged-list.ts";
import { type EndlessWatch, watchForever } from "@tmc/kube/watch.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import { tolerateAbsence } from "./absent-type.ts";
import type { RelayListener, Watched } from "./listener.ts";

export type FollowOptions = Readonly<{
  client: Watchable;
  type: ResourceType;
  what: Watched;
  /** A logical cluster, or the address of an endpoint; for whoever listens. */
  place: string;
  listener: RelayListener;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Whether it is no trouble when the type is not served, or not given to us. @default false */
  mayBeAbsent?: boolean | undefined;
}>;

/** Takes what a collection tells. */
export interface Follower {
  /** All there is; `list` is the number of the list that was read. */
  listed(objects: readonly KubeObject[], list: number): void;
  /** In place of that: the type is not there to be listed. Nothing that was known has gone by that. */
  absent?(list: number): void;
  changed(object: KubeObject): void;
  deleted(object: KubeObject): void;
}

/** A collection that is listed and watched until it is stopped. */
export interface Following {
  /** Lists again now. */
  relist(): void;
  /** How many lists have been begun so far: one with a greater number began later. */
  readonly listsBegun: number;
  stop(): Promise<void>;
}

/** Lists a collection and watches it, whatever happens; the listener hears how that goes. */
export function follow(options: FollowOptions, follower: Follower): Following {
  const { type, what, place, listener, clock, random, relistSeconds } = options;
  const kind = reconciledKinds.find((each) => each === what);
  const end = new AbortController();
  let listsBegun = 0;
  let watched: EndlessWatch | undefined;
  const tolerant = options.mayBeAbsent === true ? tolerateAbsence(options.client, clock) : undefined;
  const source: Watchable = tolerant ?? options.client;
  const client: Watchable = {
    listAll: ((collection, rest) => {
      listsBegun += 1;
      return source.listAll(collection, rest);
    }) as KubeClient["listAll"], // it gives what the other one gives
    watch: source.watch,
  };
  let isAbsent = false;
  const takeList = (objects: readonly KubeObject[]): void => {
    const missing = tolerant?.missing();
    if (isAbsent !== (missing !== undefined)) {
      isAbsent = missing !== undefined;
      listener.absent?.({ what, logicalCluster: place, error: missing });
    }
    if (missing === undefined) follower.listed(objects, listsBegun);
    else follower.absent?.(listsBegun);
  };

  const run = async (): Promise<void> => {
    /** The watch that follows a list begins; any other goes on. */
    let isListed = false;
    const onOpen = (): void => {
      listener.alive?.(what, place);
      if (!isListed) told(kind, (each) => listener.restarted?.(each, place));
      isListed = false;
    };
    watched = watchForever(client, { type }, { signal: end.signal, clock, random, relistSeconds, onOpen });
    for await (const event of watched) {
      if (event.type === "trouble") {
        // It is listed again next, and that says how it is.
        if (tolerant !== undefined && event.error.fault === "not-found") continue;
        listener.trouble?.({ what, logicalCluster: place, error: event.error, retryInMs: event.retryInMs });
        continue;
      }
      listener.alive?.(what, place);
      if (event.type === "listed") {
        isListed = true;
        told(kind, (each) => listener.relisted?.(each, place));
        takeList(event.objects);
      } else if (event.type === "changed") follower.changed(event.object);
      else if (event.type === "deleted") follower.deleted(event.object);
    }
  };
  const onFailure = (error: unknown, retryInMs: number): void =>
    listener.trouble?.({ what, logicalCluster: place, error, retryInMs });
  const done = keepRunning(run, { clock, signal: end.signal, onFailure });

  return {
    relist: () => watched?.relist(),
    get listsBegun() {
      return listsBegun;
    },
    stop: async () => {
      end.abort();
      await done;
      listener.ended?.(what, place);
    },
  };
}

function told(kind: ReconciledKind | undefined, tell: (kind: ReconciledKind) => void): void {
  if (kind !== undefined) tell(kind);
}
