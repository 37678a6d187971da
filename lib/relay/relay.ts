import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../model/clock.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import type { WorkQueue } from "../queue/work-queue.ts";
import { type Following, follow } from "./follow.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import type { RelayListener } from "./listener.ts";
import { createListing, type Listing } from "./listing.ts";
import { pageByPage } from "./page-by-page.ts";
import { createSecretWatch, type SecretWatch } from "./secret-watch.ts";

export type { RelayListener, RelayTrouble } from "./listener.ts";

/** A logical cluster to watch, and the way there. */
export type RelayedCluster = Readonly<{ cluster: string; client: KubeClient }>;

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
  /** How often everything is listed again, so that a watch that missed something heals. @default 30 minutes */
  relistSeconds?: number | undefined;
}>;

export type RelayOptions = RelayParts & Readonly<{ clusters: readonly RelayedCluster[] }>;

/** Turns what happens in the hub into keys on the queue. */
export interface Relay {
  start(): void;
  /** Watches nothing more and sends what is left, for as long as that takes within the time; answers the keys left over. */
  stop(limitMs: number): Promise<number>;
  /** Whether both kinds of a logical cluster have been listed once. */
  isListed(cluster: string): boolean;
  /** Of what not everything has been listed yet: logical clusters, and whatever it takes to know of them. */
  unlisted(): readonly string[];
  /** Resolves when everything has been listed once. */
  whenListed(): Promise<void>;
  /** Keys that wait to be sent. */
  readonly unsent: number;
  /** How long the key that waits longest to be sent has been waiting. */
  oldestUnsentSeconds(): number;
  /** Whether keys wait because the queue did not take the last ones. */
  readonly isQueueFailing: boolean;
}

export const defaultRelistSeconds = 1_800;

/** Creates the relay over logical clusters that are reached directly. One that cannot be listed holds up no other. */
export function createRelay(options: RelayOptions): Relay {
  const { clusters, types, clock, random, listener = {}, slim = (object) => object } = options;
  const relistSeconds = options.relistSeconds ?? defaultRelistSeconds;
  const ledger = createLedger({ ...options, listener, onListed: () => listing.look() });
  const listing = createListing(ledger.unlisted);
  const following: Following[] = [];
  const tenants = clusters.map(({ cluster, client }) => {
    const secrets: SecretWatch = createSecretWatch({
      client,
      clusterOf: () => cluster,
      clock,
      random,
      relistSeconds,
      onChanged: ledger.secretsChanged,
      onTrouble: (error, retryInMs) => listener.trouble?.({ what: "Secret", cluster, error, retryInMs }),
    });
    return { cluster, client, secrets, book: ledger.open(cluster, secrets) };
  });

  return {
    ...relayOf(ledger, listing, ledger.unlisted),
    start: () => {
      if (following.length > 0) return;
      for (const { cluster, client, book } of tenants) {
        for (const kind of reconciledKinds) {
          const watched = { client: pageByPage(client, slim), type: types[kind], what: kind, place: cluster };
          following.push(
            follow(
              { ...watched, listener, clock, random, relistSeconds },
              {
                listed: (objects) => book.takeList(kind, objects),
                changed: (object) => book.takeChanged(kind, object),
                deleted: (object) => book.takeDeleted(kind, object),
              },
            ),
          );
        }
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
