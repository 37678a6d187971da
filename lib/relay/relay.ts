import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";
import { workloadLanes } from "../upstream/watched-resources.ts";
import { createLedger, type Ledger } from "./change-tracker.ts";
import { type Follower, type Following, type FollowOptions, follow } from "./follow.ts";
import { createListing, type Listing } from "./initial-lists.ts";
import type { RelayListener } from "./listener.ts";
import { followLane, orderOfLanes } from "./resource-watch.ts";
import { createSecretWatch } from "./secret-watch.ts";
import type { RelayedWorkloads } from "./workload-tracker.ts";

export type { RelayListener, RelayTrouble } from "./listener.ts";

/** A logical cluster to watch, and the way there. */
export type RelayedCluster = Readonly<{ logicalCluster: string; client: KubeClient }>;

/** What every relay works with, whatever it watches. */
export type RelayParts = Readonly<{
  types: Readonly<Record<ReconciledKind, ResourceType>>;
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  listener?: RelayListener | undefined;
  /** Takes from an object what the listener does not keep. @default nothing */
  slim?: ((object: KubeObject) => KubeObject) | undefined;
  /** How many keys are sent at a time (`lib/relay/outbox.ts`). @default 1000 */
  batchSize?: number | undefined;
  /** How long a key waits for others to be sent with. @default 0 */
  gatherMs?: number | undefined;
  /** How fast the keys of one tenant may go. @default as fast as the queue takes them */
  tenantRate?: TenantRate | undefined;
  /** How often everything is listed again, so that a watch that missed something heals. @default 30 minutes */
  relistSeconds?: number | undefined;
  /**
   * Follows the clusters of a workspace in place of its registrations alone, where other kinds make clusters known as well;
   * an export shows none. @default none
   */
  followClusters?: FollowClusters | undefined;
  /** Watches workloads as well, and sends keys of them. @default none are looked after */
  workloads?: RelayedWorkloads | undefined;
}>;

/** Follows the clusters of one logical cluster, whatever kinds make them known. */
export type FollowClusters = (
  options: Omit<FollowOptions, "type" | "what">,
  follower: Follower,
) => readonly Following[];

export type RelayOptions = RelayParts & Readonly<{ clusters: readonly RelayedCluster[] }>;

/** Turns what happens in the hub into keys on the queue. */
export interface Relay {
  start(): void;
  /** Watches nothing more and sends what is left, for as long as that takes within the time; answers the keys left over. */
  stop(limitMs: number): Promise<number>;
  /** Whether both kinds of a logical cluster have been listed once. */
  isListed(logicalCluster: string): boolean;
  /** Of what not everything has been listed yet: logical clusters, and whatever it takes to know of them. */
  unlisted(): readonly string[];
  /** Resolves when everything has been listed once. */
  whenListed(): Promise<void>;
  /** Keys that wait to be sent. */
  readonly unsent: number;
  /** Those of them that wait because their tenant is over its limit. */
  readonly limited: number;
  /** How long the key that waits longest for the queue has been waiting; those over a limit do not wait for it. */
  oldestUnsentSeconds(): number;
  /** Whether keys wait because the queue did not take the last ones. */
  readonly isQueueFailing: boolean;
}

export const defaultRelistSeconds = 1_800;

/** Creates the relay over logical clusters that are reached directly. One that cannot be listed holds up no other. */
export function createRelay(options: RelayOptions): Relay {
  const { clusters, types, clock, random, followClusters, listener = {}, slim = (object) => object } = options;
  const relistSeconds = options.relistSeconds ?? defaultRelistSeconds;
  const ledger = createLedger({ ...options, listener, onListed: () => listing.look() });
  const listing = createListing(ledger.unlisted);
  const following: Following[] = [];
  const tenants = clusters.map(({ logicalCluster, client }) => {
    const secrets = createSecretWatch({
      client: options.workloads === undefined ? client : undefined,
      clusterOf: () => logicalCluster,
      clock,
      random,
      relistSeconds,
      onChanged: ledger.secretsChanged,
      onTrouble: (error, retryInMs) => listener.trouble?.({ what: "Secret", logicalCluster, error, retryInMs }),
    });
    return { logicalCluster, client, secrets, book: ledger.open(logicalCluster, secrets) };
  });

  const followWorkloads = ({
    logicalCluster,
    client,
    secrets,
    book,
  }: (typeof tenants)[number]): readonly Following[] => {
    const { workloads } = book;
    if (options.workloads === undefined || workloads === undefined) return [];
    const { slim: slimWorkload = (object) => object } = options.workloads;
    const lanes = workloadLanes(options.workloads.types);
    const watching = { place: logicalCluster, listener, clock, random, relistSeconds };
    const watched = { ...watching, client, slim: slimWorkload, secrets, order: orderOfLanes(lanes, clock) };
    return lanes.map((lane) =>
      followLane(lane, watched, {
        listed: (objects) => workloads.takeList(lane.id, objects),
        absent: () => workloads.takeAbsent(lane.id),
        changed: (object) => workloads.takeChanged(lane.id, object),
        deleted: (object) => workloads.takeDeleted(lane.id, object),
      }),
    );
  };

  return {
    ...relayOf(ledger, listing, ledger.unlisted),
    start: () => {
      if (following.length > 0) return;
      for (const tenant of tenants) {
        const { logicalCluster, client, book } = tenant;
        for (const kind of reconciledKinds) {
          const watched = {
            client: pageByPage(client, slim),
            place: logicalCluster,
            listener,
            clock,
            random,
            relistSeconds,
          };
          const follower: Follower = {
            listed: (objects) => book.takeList(kind, objects),
            changed: (object) => book.takeChanged(kind, object),
            deleted: (object) => book.takeDeleted(kind, object),
          };
          if (kind === "ClusterRegistration" && followClusters !== undefined) {
            following.push(...followClusters(watched, follower));
          } else following.push(follow({ ...watched, type: types[kind], what: kind }, follower));
        }
        following.push(...followWorkloads(tenant));
      }
    },
    stop: (limitMs) =>
      stopRelay({ clock, ledger, listing, limitMs }, [
        ...following.map((each) => each.stop()),
        ...tenants.map(({ secrets }) => secrets.stop()),
      ]),
    // Not spread: these are asked for anew each time.
    get unsent() {
      return ledger.outbox.size;
    },
    get limited() {
      return ledger.outbox.limited;
    },
    get isQueueFailing() {
      return ledger.outbox.isFailing;
    },
  };
}

/** What is the same for every relay that keeps a ledger. */
export function relayOf(
  ledger: Ledger,
  listing: Listing,
  unlisted: () => readonly string[],
): Pick<Relay, "isListed" | "unlisted" | "whenListed" | "oldestUnsentSeconds"> {
  return {
    isListed: ledger.isListed,
    unlisted,
    whenListed: listing.whenListed,
    oldestUnsentSeconds: () => ledger.outbox.oldestAgeSeconds(),
  };
}

/** Waits for the watches to end and sends what is left within the time; answers the keys left over. */
export async function stopRelay(
  { clock, ledger, listing, limitMs }: Readonly<{ clock: Clock; ledger: Ledger; listing: Listing; limitMs: number }>,
  ends: readonly Promise<unknown>[],
): Promise<number> {
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort());
  await Promise.all(ends);
  const left = await ledger.outbox.drain(limit.signal);
  cancel();
  ledger.outbox.stop();
  listing.end();
  return left;
}
