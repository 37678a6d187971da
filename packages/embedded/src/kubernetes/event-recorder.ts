import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTime, type StoredMeta } from "./kinds.ts";
import type { EventContent } from "./world.ts";

/** Storage for events. */
export type EventStore = Readonly<{
  now(): number;
  find(namespace: string, name: string): KubeObject | undefined;
  /** Stores an event. May drop it: nothing depends on events. */
  put(event: KubeObject): void;
  remove(namespace: string, name: string): void;
}>;

// A real server deletes events after an hour; here the count bounds the memory.
const maxEvents = 1000;

/** Creates a recorder that writes events as real components do. Repeated events increase a count. */
export function createEmbeddedEventRecorder(store: EventStore): (regarding: Regarding, event: EventContent) => void {
  const known = new Map<string, { namespace: string; name: string }>();
  let sequence = 0;

  return (regarding, content) => {
    const namespace = regarding.metadata.namespace ?? "default";
    const identity = [regarding.metadata.uid, content.type, content.reason, content.message, content.source].join("\n");
    const now = store.now();
    const earlier = known.get(identity);
    const existing = earlier === undefined ? undefined : store.find(earlier.namespace, earlier.name);
    if (existing !== undefined) {
      const count = typeof existing.count === "number" ? existing.count : 1;
      store.put({ ...existing, count: count + 1, lastTimestamp: formatTime(now) });
      return;
    }
    sequence += 1;
    // Real names end in nanoseconds in hexadecimal; a sequence number replaces the digits below a millisecond.
    const name = `${regarding.metadata.name}.${(BigInt(Math.floor(now)) * 1_000_000n + BigInt(sequence)).toString(16)}`;
    store.put(eventFor(regarding, content, { namespace, name, now }));
    known.set(identity, { namespace, name });
    for (const [oldest, location] of known) {
      if (known.size <= maxEvents) break;
      known.delete(oldest);
      store.remove(location.namespace, location.name);
    }
  };
}

type Regarding = KubeObject & { metadata: StoredMeta };

function eventFor(
  { apiVersion, kind, metadata }: Regarding,
  { type, reason, message, source }: EventContent,
  { namespace, name, now }: { namespace: string; name: string; now: number },
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace, creationTimestamp: formatTime(now) },
    involvedObject: {
      apiVersion,
      kind,
      name: metadata.name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
      uid: metadata.uid,
    },
    type,
    reason,
    message,
    source: { component: source },
    firstTimestamp: formatTime(now),
    lastTimestamp: formatTime(now),
    count: 1,
    eventTime: null,
    reportingComponent: source,
    reportingInstance: "",
  };
}
