import { createHash } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { WorkKey } from "../model/key.ts";
import { clientOf } from "./logical-cluster.ts";

/** The fields of an object that an Event about it contains. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind"> &
  Readonly<{ metadata: Pick<KubeObject["metadata"], "namespace" | "name" | "uid"> }>;

/** The logical cluster of the object, and the kind of the key whose reconcile records the Event, if it is one. */
export type EventContext = Readonly<{ logicalCluster: string; kind?: WorkKey["kind"] }>;

/** Writes Kubernetes Events about upstream objects into their logical clusters. */
export interface EventSink {
  /** Writes an Event in the background. Equal Events become one object with a count, and at most one request per minute. */
  record(context: EventContext, about: EventSubject, event: ObjectEvent): void;
  /** Resolves when every recorded Event was written or has failed. */
  whenFlushed(): Promise<void>;
}

/** The object whose Event could not be written. */
export type FailedEvent = Readonly<{ logicalCluster: string; name: string }>;

export type EventSinkOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  clock: Clock;
  /** Called for an Event that could not be written; it is not retried. */
  onFailure?: ((error: unknown, about: FailedEvent) => void) | undefined;
  /** Called before every write, for metrics. */
  onWrite?: ((context: EventContext) => void) | undefined;
}>;

const events: ResourceType = { group: "", version: "v1", plural: "events" };
/** Equal Events within this time are dropped. */
const repeatMs = 60_000;
/** The number of Events whose count is remembered. An older one costs one more request: its create fails with "exists". */
const maxRemembered = 4_096;
/** No caller waits for an Event, so Events must not use up the connections that reconciles need. */
const maxConcurrentWrites = 2;
/** Events beyond this queue length are dropped. */
const maxQueued = 1_000;
const maxMessageLength = 1_024;
const maxNameLength = 200;
const fieldManager = "tmc";
/** Servers accept Events about cluster-scoped objects only in this namespace. */
const clusterScopedNamespace = "default";

type QueuedEvent = Readonly<{
  context: EventContext;
  about: EventSubject;
  event: ObjectEvent;
  namespace: string;
  name: string;
}>;
type Memory = { atMs: number; count: number };

/** Creates an event sink. */
export function createEventSink({
  client,
  clock,
  onFailure = () => {},
  onWrite = () => {},
}: EventSinkOptions): EventSink {
  /** In the order of their first recording. */
  const memories = new Map<string, Memory>();
  const queue: QueuedEvent[] = [];
  const flushed = new Set<() => void>();
  let writing = 0;

  const memoryOf = (id: string): Memory => {
    const known = memories.get(id);
    if (known !== undefined) return known;
    const [oldest] = memories.keys();
    if (memories.size >= maxRemembered && oldest !== undefined) memories.delete(oldest);
    const created: Memory = { atMs: Number.NEGATIVE_INFINITY, count: 0 };
    memories.set(id, created);
    return created;
  };

  const write = async (queued: QueuedEvent): Promise<void> => {
    const { context, namespace } = queued;
    const tenant = clientOf(client, context.logicalCluster);
    const collection = { type: events, namespace };
    const memory = memoryOf(idOf(queued));
    const nowText = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const create = async (): Promise<void> => {
      onWrite(context);
      await tenant.create(collection, eventObject(queued, nowText), { fieldManager });
      memory.count = 1;
    };
    const setCount = async (count: number): Promise<void> => {
      onWrite(context);
      const patch = { type: "merge", body: { count, lastTimestamp: nowText } } as const;
      await tenant.patch({ ...collection, name: queued.name }, patch, { fieldManager });
      memory.count = count;
    };
    if (memory.count > 0) {
      try {
        await setCount(memory.count + 1);
        return;
      } catch (error) {
        if (faultOf(error) !== "not-found") throw error; // servers delete Events after an hour by default
      }
    }
    try {
      await create();
    } catch (error) {
      if (faultOf(error) !== "exists") throw error;
      const present = await tenant.get<KubeObject>({ ...collection, name: queued.name });
      await setCount((typeof present.count === "number" ? present.count : 1) + 1);
    }
  };

  const work = (): void => {
    while (writing < maxConcurrentWrites) {
      const next = queue.shift();
      if (next === undefined) break;
      writing += 1;
      write(next)
        .catch((error: unknown) =>
          onFailure(error, { logicalCluster: next.context.logicalCluster, name: next.about.metadata.name ?? "" }),
        )
        .finally(() => {
          writing -= 1;
          work();
        });
    }
    if (writing > 0 || queue.length > 0) return;
    for (const resolve of flushed) resolve();
    flushed.clear();
  };

  return {
    record: (context, about, event) => {
      const namespace = about.metadata.namespace ?? clusterScopedNamespace;
      const queued: QueuedEvent = { context, about, event, namespace, name: eventName(about, event) };
      const memory = memoryOf(idOf(queued));
      if (clock.monotonicMs() - memory.atMs < repeatMs || queue.length >= maxQueued) return;
      memory.atMs = clock.monotonicMs();
      queue.push(queued);
      work();
    },
    whenFlushed: () =>
      new Promise((resolve) => {
        if (writing === 0 && queue.length === 0) resolve();
        else flushed.add(resolve);
      }),
  };
}

/** Equal Events about one object have the same name in every process. */
function eventName({ apiVersion, kind, metadata }: EventSubject, { type, reason, message }: ObjectEvent): string {
  const parts = [apiVersion, kind, metadata.name, metadata.uid ?? "", type, reason, message];
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
  return `${(metadata.name ?? "").slice(0, maxNameLength)}.${hash}`;
}

const idOf = ({ context, namespace, name }: QueuedEvent): string => `${context.logicalCluster}|${namespace}/${name}`;

function eventObject({ about, event, namespace, name }: QueuedEvent, nowText: string): object {
  const { apiVersion, kind, metadata } = about;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: {
      apiVersion,
      kind,
      ...(metadata.namespace !== undefined && { namespace }),
      name: metadata.name,
      uid: metadata.uid,
    },
    type: event.type,
    reason: event.reason,
    message: event.message.slice(0, maxMessageLength),
    source: { component: "tmc" },
    reportingComponent: "tmc.kcp.io/controller",
    reportingInstance: "tmc",
    firstTimestamp: nowText,
    lastTimestamp: nowText,
    count: 1,
  };
}
