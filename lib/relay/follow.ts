import type { KubeClient } from "../kube/client.ts";
import { type EndlessWatch, watchForever } from "../kube/watch.ts";
import type { Clock } from "../model/clock.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import { keepRunning } from "./keep-running.ts";
import type { RelayListener, Watched } from "./listener.ts";
import type { Watchable } from "./page-by-page.ts";

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
}>;

/** Takes what a collection tells. */
export interface Follower {
  /** All there is; `list` is the number of the list that was read. */
  listed(objects: readonly KubeObject[], list: number): void;
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
  const client: Watchable = {
    listAll: ((collection, rest) => {
      listsBegun += 1;
      return options.client.listAll(collection, rest);
    }) as KubeClient["listAll"], // it gives what the other one gives
    watch: options.client.watch,
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
        listener.trouble?.({ what, cluster: place, error: event.error, retryInMs: event.retryInMs });
        continue;
      }
      listener.alive?.(what, place);
      if (event.type === "listed") {
        isListed = true;
        told(kind, (each) => listener.relisted?.(each, place));
        follower.listed(event.objects, listsBegun);
      } else if (event.type === "changed") follower.changed(event.object);
      else if (event.type === "deleted") follower.deleted(event.object);
    }
  };
  const onFailure = (error: unknown, retryInMs: number): void =>
    listener.trouble?.({ what, cluster: place, error, retryInMs });
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
