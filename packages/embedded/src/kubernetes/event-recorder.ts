import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTime, type StoredMeta } from "./kinds.ts";
import type { EventNote } from "./world.ts";

/** What the recorder needs: somewhere to keep events. */
export type EventStore = Readonly<{
  now(): number;
  find(namespace: string, name: string): KubeObject | undefined;
  /** Keeps a new or changed event, or drops it: an event is a courtesy, and nothing depends on it. */
  put(event: KubeObject): void;
  remove(namespace: string, name: string): void;
}>;

// A real server forgets events after an hour; here the number is what keeps memory small.
const mostEvents = 1000;

/** Creates a recorder that writes events the way real components do; the same news twice is one event that counts. */
export function createEventRecorder(store: EventStore): (regarding: Regarding, note: EventNote) => void {
  const known = new Map<string, { namespace: string; name: string }>();
  let sequence = 0;

  return (regarding, note) => {
    const namespace = regarding.metadata.namespace ?? "default";
    const identity = [regarding.metadata.uid, note.type, note.reason, note.message, note.source].join("\n");
    const now = store.now();
    const earlier = known.get(identity);
    const existing = earlier === undefined ? undefined : store.find(earlier.namespace, earlier.name);
    if (existing !== undefined) {
      const count = typeof existing.count === "number" ? existing.count : 1;
      store.put({ ...existing, count: count + 1, lastTimestamp: formatTime(now) });
      return;
    }
    sequence += 1;
    // Nanoseconds in hexadecimal, as real names have them; the sequence stands for those the clock does not know.
    const name = `${regarding.metadata.name}.${(BigInt(Math.floor(now)) * 1_000_000n + BigInt(sequence)).toString(16)}`;
    store.put(eventFor(regarding, note, { namespace, name, now }));
    known.set(identity, { namespace, name });
    for (const [oldest, place] of known) {
      if (known.size <= mostEvents) break;
      known.delete(oldest);
      store.remove(place.namespace, place.name);
    }
  };
}

type Regarding = KubeObject & { metadata: StoredMeta };

function eventFor(
  { apiVersion, kind, metadata }: Regarding,
  { type, reason, message, source }: EventNote,
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
