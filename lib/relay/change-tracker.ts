import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatKey, type ObjectKey, type ReconciledKind, reconciledKinds } from "../model/key.ts";
import { coalesce, type WorkItem, type WorkQueue } from "../model/work-item.ts";

import type { TenantRate } from "../queue/tenant-rate-limit.ts";
import { fingerprintOf, reconcileRequestedAnnotation } from "./fingerprint.ts";
import type { RelayListener } from "./listener.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import type { LaneBook } from "./resource-watch-group.ts";
import type { Referrer, SecretReference, SecretWatch } from "./secret-watch.ts";
import { createWorkloadBook, type RelayedWorkloads, type WorkloadBook } from "./workload-tracker.ts";

/** What is known of one logical cluster. */
export interface TenantBook extends LaneBook<ReconciledKind> {
  /** Where workloads are watched: what is known of those. */
  readonly workloads?: WorkloadBook | undefined;
}

/**
 * Knows of every logical cluster what was told of it, and sends the keys of what is new.
 *
 * Of each object it keeps a fingerprint of what reconcilers act on, so that a heartbeat or our own write of status wakes
 * nobody. No key of a logical cluster is sent before both kinds there have been listed: who decided earlier would take
 * clusters for missing that it has only not seen.
 */
export interface Ledger {
  /** Begins a book; what registrations refer to is told to the watch of secrets. */
  open(logicalCluster: string, secrets: SecretWatch): TenantBook;
  /** Ends a book: nothing of that logical cluster is sent any more. */
  close(logicalCluster: string): void;
  /** Has registrations looked at whose secrets have changed, or may have. */
  secretsChanged(registrations: readonly Referrer[]): void;
  has(logicalCluster: string): boolean;
  isListed(logicalCluster: string): boolean;
  /** Logical clusters of which not everything has been listed yet. */
  unlisted(): readonly string[];
  readonly outbox: Pick<Outbox, "size" | "limited" | "oldestAgeSeconds" | "isFailing" | "drain" | "stop">;
}

export type LedgerOptions = Readonly<{
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  listener: RelayListener;
  batchSize?: number | undefined;
  gatherMs?: number | undefined;
  tenantRate?: TenantRate | undefined;
  /** @default no workload is looked after */
  workloads?: RelayedWorkloads | undefined;
  /** Hears that everything of a logical cluster has been listed once. */
  onListed: () => void;
}>;

type Book = {
  readonly logicalCluster: string;
  readonly listed: Set<ReconciledKind>;
  /** Keys that wait until both kinds are listed; undefined from then on. */
  held: Map<string, WorkItem> | undefined;
  readonly fingerprints: Readonly<Record<ReconciledKind, Map<string, string>>>;
  /** What each object that a person asked for was last asked with. */
  readonly wishes: Readonly<Record<ReconciledKind, Map<string, string>>>;
  readonly secrets: SecretWatch;
  readonly workloads: WorkloadBook | undefined;
};

/** Creates a ledger without books. */
export function createLedger(options: LedgerOptions): Ledger {
  const { queue, clock, random, batchSize, gatherMs, tenantRate, listener, onListed } = options;
  const books = new Map<string, Book>();
  const outbox = createOutbox({
    queue,
    clock,
    random,
    batchSize,
    gatherMs,
    tenantRate,
    onTrouble: (error, { retryInMs }) => listener.trouble?.({ what: "queue", logicalCluster: "", error, retryInMs }),
  });

  const send = (book: Book, items: readonly WorkItem[]): void => {
    if (book.held === undefined) {
      outbox.add(items);
      return;
    }
    for (const item of items) {
      const before = book.held.get(formatKey(item.key));
      book.held.set(formatKey(item.key), before === undefined ? item : coalesce(before, item));
    }
  };

  const takeList = (book: Book, kind: ReconciledKind, objects: readonly KubeObject[]): void => {
    listener.listed?.(kind, book.logicalCluster, objects);
    const missing = new Set(book.fingerprints[kind].keys());
    for (const { metadata } of objects) missing.delete(metadata.name ?? "");
    send(book, [
      ...objects.flatMap((object) => see(book, kind, object)),
      // Not seen is not gone: the reconciler asks.
      ...[...missing].flatMap((name) => lose(book, kind, name)),
    ]);
    book.listed.add(kind);
    if (book.held === undefined || book.listed.size < reconciledKinds.length) return;
    // Clusters first: what placements are decided on should be looked at before them.
    const held = [...book.held.values()];
    const inOrder = reconciledKinds.flatMap((first) => held.filter(({ key }) => key.kind === first));
    book.held = undefined;
    outbox.add(inOrder);
    book.workloads?.kindsListed();
    onListed();
  };

  return {
    outbox,
    open: (logicalCluster, secrets) => {
      /** A watch may still tell something after the book was closed. */
      const isOpen = (): boolean => books.get(logicalCluster) === book;
      const workloads =
        options.workloads &&
        createWorkloadBook({ ...options.workloads, logicalCluster, send: outbox.add, isOpen, onListed });
      const book: Book = {
        logicalCluster,
        listed: new Set(),
        held: new Map(),
        fingerprints: { ClusterRegistration: new Map(), WorkloadPlacement: new Map() },
        wishes: { ClusterRegistration: new Map(), WorkloadPlacement: new Map() },
        secrets,
        workloads,
      };
      books.set(logicalCluster, book);
      return {
        workloads,
        takeList: (kind, objects) => {
          if (isOpen()) takeList(book, kind, objects);
        },
        takeChanged: (kind, object) => {
          if (!isOpen()) return;
          listener.changed?.(kind, logicalCluster, object);
          send(book, see(book, kind, object));
        },
        takeDeleted: (kind, object) => {
          if (!isOpen()) return;
          listener.deleted?.(kind, logicalCluster, object);
          const { name = "", resourceVersion } = object.metadata;
          send(book, lose(book, kind, name, resourceVersion));
        },
      };
    },
    close: (logicalCluster) => {
      books.get(logicalCluster)?.secrets.release(logicalCluster);
      books.delete(logicalCluster);
      outbox.drop(logicalCluster);
    },
    secretsChanged: (registrations) => {
      for (const { logicalCluster, name } of registrations) {
        const book = books.get(logicalCluster);
        if (book === undefined) continue;
        const key: ObjectKey = { logicalCluster, kind: "ClusterRegistration", name };
        listener.secretChanged?.(key);
        // Nothing about the object itself has changed: only this reason has the cluster looked at at once.
        send(book, [{ key, reason: "on-demand" }]);
      }
    },
    has: (logicalCluster) => books.has(logicalCluster),
    isListed: (logicalCluster) => books.get(logicalCluster)?.held === undefined && books.has(logicalCluster),
    unlisted: () =>
      [...books.values()]
        .filter(({ held, workloads }) => held !== undefined || workloads?.isListed === false)
        .map(({ logicalCluster }) => logicalCluster),
  };
}

/** Answers what to send for an object that was seen: nothing when it is as it was. */
function see(book: Book, kind: ReconciledKind, object: KubeObject): WorkItem[] {
  const { name = "", resourceVersion } = object.metadata;
  const { logicalCluster } = book;
  if (kind === "ClusterRegistration") book.secrets.refer({ logicalCluster, name }, secretReferenceOf(object));
  else book.workloads?.takePlacement(name, object);
  const fingerprint = fingerprintOf(object);
  if (book.fingerprints[kind].get(name) === fingerprint) return [];
  const isKnown = book.fingerprints[kind].has(name);
  book.fingerprints[kind].set(name, fingerprint);
  const wish = object.metadata.annotations?.[reconcileRequestedAnnotation];
  const isWished = isKnown && wish !== undefined && book.wishes[kind].get(name) !== wish;
  if (wish !== undefined) book.wishes[kind].set(name, wish);
  return [{ key: { logicalCluster, kind, name }, reason: isWished ? "on-demand" : "changed", resourceVersion }];
}

/** Answers what to send for an object that has gone; a version is known of one whose end was watched. */
function lose(book: Book, kind: ReconciledKind, name: string, resourceVersion?: string): WorkItem[] {
  const { logicalCluster } = book;
  book.fingerprints[kind].delete(name);
  book.wishes[kind].delete(name);
  if (kind === "ClusterRegistration") book.secrets.refer({ logicalCluster, name }, undefined);
  else book.workloads?.takePlacement(name, undefined);
  return [{ key: { logicalCluster, kind, name }, reason: "changed", resourceVersion }];
}

function secretReferenceOf({ spec }: KubeObject): SecretReference | undefined {
  const reference = fieldOf(fieldOf(spec, "credentials"), "secretRef");
  const [namespace, name] = [fieldOf(reference, "namespace"), fieldOf(reference, "name")];
  return typeof namespace === "string" && typeof name === "string" ? { namespace, name } : undefined;
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, field)?.value;
}
