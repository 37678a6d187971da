import type { KubeClient } from "../kube/client.ts";
import { watchForever } from "../kube/watch.ts";
import type { Clock } from "../model/clock.ts";
import { formatKey, type ObjectKey, type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import { collapse } from "../queue/collapse.ts";
import type { WorkItem, WorkQueue } from "../queue/work-queue.ts";
import { fingerprintOf, reconcileRequestedAnnotation } from "./fingerprint.ts";
import { keepRunning } from "./keep-running.ts";
import { createOutbox } from "./outbox.ts";
import { pageByPage } from "./page-by-page.ts";
import { createSecretWatch, type SecretReference, type SecretWatch } from "./secret-watch.ts";

/** A logical cluster to watch, and the way there. */
export type RelayedCluster = Readonly<{ cluster: string; client: KubeClient }>;

/** Hears what the relay sees, before any key of it is sent. A cache in the same process listens here. */
export interface RelayListener {
  listed?(kind: ReconciledKind, cluster: string, objects: readonly KubeObject[]): void;
  changed?(kind: ReconciledKind, cluster: string, object: KubeObject): void;
  deleted?(kind: ReconciledKind, cluster: string, object: KubeObject): void;
  /** A secret that this registration refers to came, changed or went. */
  secretChanged?(registration: ObjectKey): void;
  /** A watch that had ended was taken up again where it left off. */
  restarted?(kind: ReconciledKind, cluster: string): void;
  /** A watch was taken by the server, or has told something. */
  alive?(kind: ReconciledKind, cluster: string): void;
  /** Something failed; it is tried again by itself. */
  trouble?(trouble: RelayTrouble): void;
}

export type RelayTrouble = Readonly<{
  /** Where: one of the kinds, the secrets, or the queue, which has no cluster. */
  what: ReconciledKind | "Secret" | "queue";
  cluster: string;
  error: unknown;
  retryInMs: number;
}>;

export type RelayOptions = Readonly<{
  clusters: readonly RelayedCluster[];
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

/** Turns what happens in the hub into keys on the queue. */
export interface Relay {
  start(): void;
  /** Watches nothing more and sends what is left, for as long as that takes within the time; answers the keys left over. */
  stop(limitMs: number): Promise<number>;
  /** Whether both kinds of a logical cluster have been listed once. */
  isListed(cluster: string): boolean;
  /** Logical clusters of which not everything has been listed yet. */
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

const defaultRelistSeconds = 1_800;

type Tenant = {
  readonly cluster: string;
  readonly listed: Set<ReconciledKind>;
  /** Keys that wait until both kinds are listed; undefined from then on. */
  held: Map<string, WorkItem> | undefined;
  readonly fingerprints: Readonly<Record<ReconciledKind, Map<string, string>>>;
  /** What each object that a person asked for was last asked with. */
  readonly wishes: Readonly<Record<ReconciledKind, Map<string, string>>>;
  readonly secrets: SecretWatch;
};

/**
 * Creates the relay over logical clusters that are reached directly.
 *
 * Of each object it keeps a fingerprint of what reconcilers act on, so that a heartbeat or our own write of status wakes
 * nobody. No key of a logical cluster is sent before both kinds there have been listed: who decided earlier would take
 * clusters for missing that it has only not seen. One that cannot be listed holds up no other.
 */
export function createRelay(options: RelayOptions): Relay {
  const { clusters, types, clock, random, listener = {}, slim = (object) => object } = options;
  const relistSeconds = options.relistSeconds ?? defaultRelistSeconds;
  const end = new AbortController();
  const outbox = createOutbox({
    queue: options.queue,
    clock,
    random,
    batchSize: options.batchSize,
    gatherMs: options.gatherMs,
    onTrouble: (error, { retryInMs }) => listener.trouble?.({ what: "queue", cluster: "", error, retryInMs }),
  });
  const loops: Promise<void>[] = [];
  const waiting = new Set<() => void>();

  const send = (tenant: Tenant, items: readonly WorkItem[]): void => {
    if (tenant.held === undefined) {
      outbox.add(items);
      return;
    }
    for (const item of items) {
      const before = tenant.held.get(formatKey(item.key));
      tenant.held.set(formatKey(item.key), before === undefined ? item : collapse(before, item));
    }
  };

  const tenantOf = ({ cluster, client }: RelayedCluster): Tenant => {
    const tenant: Tenant = {
      cluster,
      listed: new Set(),
      held: new Map(),
      fingerprints: { ClusterRegistration: new Map(), WorkloadPlacement: new Map() },
      wishes: { ClusterRegistration: new Map(), WorkloadPlacement: new Map() },
      secrets: createSecretWatch({
        client,
        clock,
        random,
        relistSeconds,
        onChanged: (names) => {
          const keys = names.map((name): ObjectKey => ({ cluster, kind: "ClusterRegistration", name }));
          for (const key of keys) listener.secretChanged?.(key);
          send(
            tenant,
            // Nothing about the object itself has changed: only this reason has the cluster looked at at once.
            keys.map((key) => ({ key, reason: "on-demand" })),
          );
        },
        onTrouble: (error, retryInMs) => listener.trouble?.({ what: "Secret", cluster, error, retryInMs }),
      }),
    };
    return tenant;
  };
  const tenants = new Map(clusters.map((relayed) => [relayed.cluster, tenantOf(relayed)]));
  const unlisted = (): string[] =>
    [...tenants.values()].filter(({ held }) => held !== undefined).map(({ cluster }) => cluster);

  /** Answers what to send for an object that was seen: nothing when it is as it was. */
  const see = (tenant: Tenant, kind: ReconciledKind, object: KubeObject): WorkItem[] => {
    const { name = "", resourceVersion } = object.metadata;
    if (kind === "ClusterRegistration") tenant.secrets.refer(name, secretReferenceOf(object));
    const fingerprint = fingerprintOf(object);
    if (tenant.fingerprints[kind].get(name) === fingerprint) return [];
    const isKnown = tenant.fingerprints[kind].has(name);
    tenant.fingerprints[kind].set(name, fingerprint);
    const wish = object.metadata.annotations?.[reconcileRequestedAnnotation];
    const isWished = isKnown && wish !== undefined && tenant.wishes[kind].get(name) !== wish;
    if (wish !== undefined) tenant.wishes[kind].set(name, wish);
    const key: ObjectKey = { cluster: tenant.cluster, kind, name };
    return [{ key, reason: isWished ? "on-demand" : "changed", resourceVersion }];
  };
  /** Answers what to send for an object that has gone; a version is known of one whose end was watched. */
  const lose = (tenant: Tenant, kind: ReconciledKind, name: string, resourceVersion?: string): WorkItem[] => {
    tenant.fingerprints[kind].delete(name);
    tenant.wishes[kind].delete(name);
    if (kind === "ClusterRegistration") tenant.secrets.refer(name, undefined);
    return [{ key: { cluster: tenant.cluster, kind, name }, reason: "changed", resourceVersion }];
  };

  const takeList = (tenant: Tenant, kind: ReconciledKind, objects: readonly KubeObject[]): void => {
    listener.listed?.(kind, tenant.cluster, objects);
    const missing = new Set(tenant.fingerprints[kind].keys());
    for (const { metadata } of objects) missing.delete(metadata.name ?? "");
    send(tenant, [
      ...objects.flatMap((object) => see(tenant, kind, object)),
      // Not seen is not gone: the reconciler asks.
      ...[...missing].flatMap((name) => lose(tenant, kind, name)),
    ]);
    tenant.listed.add(kind);
    if (tenant.held === undefined || tenant.listed.size < reconciledKinds.length) return;
    // Clusters first: what placements are decided on should be looked at before them.
    const held = [...tenant.held.values()];
    const inOrder = reconciledKinds.flatMap((first) => held.filter(({ key }) => key.kind === first));
    tenant.held = undefined;
    outbox.add(inOrder);
    if (unlisted().length === 0) for (const tell of [...waiting]) tell();
  };

  const watch = async ({ cluster, client }: RelayedCluster, tenant: Tenant, kind: ReconciledKind): Promise<void> => {
    /** The watch that follows a list begins; any other goes on. */
    let isListed = false;
    const onOpen = (): void => {
      listener.alive?.(kind, cluster);
      if (!isListed) listener.restarted?.(kind, cluster);
      isListed = false;
    };
    const watched = watchForever(
      pageByPage(client, slim),
      { type: types[kind] },
      { signal: end.signal, clock, random, relistSeconds, onOpen },
    );
    for await (const event of watched) {
      if (event.type === "listed") isListed = true;
      if (event.type !== "trouble") listener.alive?.(kind, cluster);
      if (event.type === "listed") takeList(tenant, kind, event.objects);
      else if (event.type === "changed") {
        listener.changed?.(kind, cluster, event.object);
        send(tenant, see(tenant, kind, event.object));
      } else if (event.type === "deleted") {
        listener.deleted?.(kind, cluster, event.object);
        const { name = "", resourceVersion } = event.object.metadata;
        send(tenant, lose(tenant, kind, name, resourceVersion));
      } else if (event.type === "trouble") {
        listener.trouble?.({ what: kind, cluster, error: event.error, retryInMs: event.retryInMs });
      }
    }
  };

  return {
    start: () => {
      if (loops.length > 0) return;
      for (const relayed of clusters) {
        const tenant = tenants.get(relayed.cluster);
        if (tenant === undefined) continue;
        for (const kind of reconciledKinds) {
          const onFailure = (error: unknown, retryInMs: number): void =>
            listener.trouble?.({ what: kind, cluster: relayed.cluster, error, retryInMs });
          loops.push(keepRunning(() => watch(relayed, tenant, kind), { clock, signal: end.signal, onFailure }));
        }
      }
    },
    stop: async (limitMs) => {
      end.abort();
      const limit = new AbortController();
      const cancel = clock.after(limitMs, () => limit.abort());
      await Promise.all([...loops, ...[...tenants.values()].map(({ secrets }) => secrets.stop())]);
      const left = await outbox.drain(limit.signal);
      cancel();
      outbox.stop();
      for (const tell of [...waiting]) tell();
      return left;
    },
    isListed: (cluster) => tenants.get(cluster)?.held === undefined && tenants.has(cluster),
    unlisted,
    whenListed: () =>
      new Promise((resolve) => {
        const tell = (): void => {
          waiting.delete(tell);
          resolve();
        };
        if (unlisted().length === 0 || end.signal.aborted) resolve();
        else waiting.add(tell);
      }),
    get unsent() {
      return outbox.size;
    },
    oldestUnsentSeconds: () => outbox.oldestAgeSeconds(),
    get isQueueFailing() {
      return outbox.isFailing;
    },
  };
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
