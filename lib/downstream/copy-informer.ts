import type { KubeClient, WatchEvent } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { keepRunning } from "@tmc/kube/keep-running.ts";
import type { KubeList, KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { pageByPage, type Watchable } from "@tmc/kube/paged-list.ts";
import { watchForever } from "@tmc/kube/watch.ts";
import { ownerAnnotation, syncedLabel } from "../sync/ownership/owner.ts";
import type { ClusterGate, Passage } from "./connection-gate.ts";
import type { CopyCache } from "./copy-cache.ts";

/** A watch that has not been open for longer than this is not believed any more. */
export const longestDownMs = 90_000;
/** So long, from its beginning on, a first list is waited for in place of asking for each object by itself: there must be time left to ask. */
const longestListMs = 3_000;

export type CopyLaneOptions = Readonly<{
  type: ResourceType;
  /** What the objects are called, for those that come as metadata alone. */
  apiVersion: string;
  kind: string;
  /** Whether nothing but metadata is asked for. */
  metadataOnly: boolean;
  labelSelector: string;
  /** Takes from an object all that the cache does not look at. @default what it does not look at in a copy */
  trace?: ((object: KubeObject) => KubeObject) | undefined;
  /** The client as it is now. */
  open: (signal: AbortSignal) => Promise<KubeClient>;
  gate: ClusterGate;
  cache: CopyCache;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Hears which workloads have copies that are not what they were. */
  onChanged: (workloads: readonly string[]) => void;
  /** Something failed; the watch goes on by itself. `downMs` is how long it has not been open. */
  onTrouble: (trouble: Readonly<{ error: unknown; retryInMs: number; downMs: number }>) => void;
  /** The cluster does not accept the credentials. */
  onRefused: () => void;
}>;

/** One type of one cluster that is listed and watched until it is stopped. */
export interface CopyLane {
  readonly cache: CopyCache;
  /** Whether what the cache has may be believed. */
  readonly isFresh: boolean;
  /** Waits for the first list, for as long as that is worth it. */
  whenListed(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** Begins to list and to watch. */
export function startCopyLane(options: CopyLaneOptions): CopyLane {
  const { type, labelSelector, cache, clock, random, relistSeconds, onChanged, onTrouble, onRefused } = options;
  const end = new AbortController();
  const startedMs = clock.now();
  let downSinceMs: number | undefined = startedMs;
  const first = Promise.withResolvers<void>();
  const downMs = (): number => (downSinceMs === undefined ? 0 : clock.now() - downSinceMs);

  const client = lazyClient(options, {
    onOpen: () => {
      downSinceMs = undefined;
    },
    onEnd: () => {
      downSinceMs ??= clock.now();
    },
  });
  const tell = (workloads: readonly string[]): void => {
    if (workloads.length > 0) onChanged(workloads);
  };
  const run = async (): Promise<void> => {
    const watched = watchForever(client, { type }, { labelSelector, signal: end.signal, clock, random, relistSeconds });
    for await (const event of watched) {
      switch (event.type) {
        case "listed":
          tell(cache.takeList(event.objects, event.resourceVersion));
          first.resolve();
          break;
        case "changed":
          tell(cache.takeSeen(traced(event.object, options)));
          break;
        case "deleted":
          tell(cache.takeDeleted(traced(event.object, options)));
          break;
        case "bookmark":
          cache.passed(event.resourceVersion);
          break;
        case "trouble": {
          const { error, retryInMs } = event;
          if (error instanceof OtherWay) break;
          first.resolve();
          if (error.fault === "unauthorized") onRefused();
          onTrouble({ error, retryInMs, downMs: downMs() });
        }
      }
    }
  };
  const onFailure = (error: unknown, retryInMs: number): void => {
    first.resolve();
    onTrouble({ error, retryInMs, downMs: downMs() });
  };
  const done = keepRunning(run, { clock, signal: end.signal, onFailure });

  return {
    cache,
    get isFresh() {
      return cache.isListed && downMs() <= longestDownMs;
    },
    whenListed: async (signal) => {
      const leftMs = startedMs + longestListMs - clock.now();
      if (cache.isListed || leftMs <= 0) return;
      const cancel = clock.after(leftMs, () => first.resolve());
      try {
        await unlessAborted(first.promise, signal);
      } finally {
        cancel();
      }
    },
    stop: async () => {
      end.abort();
      first.resolve();
      await done;
    },
  };
}

/** Says that another client leads to the cluster than the one that listed: perhaps to another cluster. */
class OtherWay extends ApiError {}

/**
 * A client that is found anew for each attempt, so that renewed credentials count from the next one on. A watch goes on only
 * over the client that has listed; over any other everything is listed first.
 */
function lazyClient(
  { open, gate, metadataOnly, apiVersion, kind, trace }: CopyLaneOptions,
  { onOpen, onEnd }: Readonly<{ onOpen: () => void; onEnd: () => void }>,
): Watchable {
  let listedWith: KubeClient | undefined;
  const readsOf = (client: KubeClient): KubeClient["metadata"] => (metadataOnly ? client.metadata : client);
  /** Says at the gate how an attempt has failed, in a form that the watch goes on after. */
  const failed = (passage: Passage, error: unknown, signal: AbortSignal): unknown => {
    if (signal.aborted) return error;
    const fault = faultOf(error);
    if (fault === "unreachable" || fault === "unauthorized") passage.failed();
    else passage.answered();
    if (error instanceof ApiError || !(error instanceof ControllerError)) return error;
    return new ApiError(error.fault, error.message, {}, { cause: error });
  };
  const listAll = async (
    collection: Parameters<KubeClient["listAll"]>[0],
    options: Parameters<KubeClient["listAll"]>[1] = {},
  ): Promise<KubeList> => {
    const signal = options.signal ?? new AbortController().signal;
    const passage = await gate.pass(signal);
    if (passage === undefined) throw signal.reason;
    try {
      const client = await open(signal);
      const slim = (object: KubeObject): KubeObject =>
        trace === undefined ? traceOfCopy(object, { apiVersion, kind }) : trace({ ...object, apiVersion, kind });
      const list = await pageByPage(readsOf(client), slim).listAll(collection, options);
      listedWith = client;
      passage.answered();
      return list;
    } catch (error) {
      throw failed(passage, error, signal);
    } finally {
      passage.end();
    }
  };
  async function* watch(
    collection: Parameters<KubeClient["watch"]>[0],
    options: Parameters<KubeClient["watch"]>[1] = {},
  ): AsyncGenerator<WatchEvent, void, undefined> {
    const signal = options.signal ?? new AbortController().signal;
    let passage: Passage | undefined;
    try {
      passage = await gate.pass(signal);
      if (passage === undefined) throw signal.reason;
      const client = await open(signal);
      if (client !== listedWith) throw new OtherWay("expired", "the way to the cluster is another one");
      const current = passage;
      yield* readsOf(client).watch(collection, {
        ...options,
        onOpen: () => {
          onOpen();
          current.answered();
          options.onOpen?.();
        },
      });
    } catch (error) {
      throw passage === undefined ? error : failed(passage, error, signal);
    } finally {
      passage?.end();
      onEnd();
    }
  }
  // They give what the other one gives: what a server sends is taken for the type that the caller names.
  return { listAll: listAll as KubeClient["listAll"], watch: watch as KubeClient["watch"] };
}

/** What answers requests for metadata alone calls its objects by another name. */
function traced(object: KubeObject, { apiVersion, kind, metadataOnly, trace }: CopyLaneOptions): KubeObject {
  const named = metadataOnly ? { ...object, apiVersion, kind } : object;
  return trace === undefined ? named : trace(named);
}

/** Takes from a copy all that the cache does not look at. */
function traceOfCopy(
  { metadata, status }: KubeObject,
  { apiVersion, kind }: Readonly<{ apiVersion: string; kind: string }>,
): KubeObject {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, labels, annotations } = metadata;
  const [label, origin] = [labels?.[syncedLabel], annotations?.[ownerAnnotation]];
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(generation === undefined ? {} : { generation }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(label === undefined ? {} : { labels: { [syncedLabel]: label } }),
      ...(origin === undefined ? {} : { annotations: { [ownerAnnotation]: origin } }),
    },
    ...(status === undefined ? {} : { status }),
  };
}
