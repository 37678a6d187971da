import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { readableCause } from "../queue/retry-policy.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { EventSink, EventSubject } from "../upstream/events.ts";

/**
 * The Event for the end of a reconcile: only for a dead letter, with its cause.
 *
 * Transient faults are retried without an Event. Permanent faults are in the object's status. Unexpected errors are retried
 * a few times first.
 */
export function deadLetterEventOf(event: QueueEvent): ObjectEvent | undefined {
  if (event.kind !== "ended" || event.outcome !== "dead-letter") return undefined;
  const message = `TMC stopped retrying until the object changes or is resynced: ${readableCause(event.error)}`;
  return { type: "Warning", reason: "ControllerError", message };
}

export type DeadLetterRecorderOptions = Readonly<{
  events: Pick<EventSink, "record">;
  hub: Pick<Hub, "read">;
  /** @default no Events for workloads */
  workloads?: Pick<WorkloadHub, "read"> | undefined;
  clock: Clock;
  /** Called if the object of an Event could not be read; the Event is dropped. */
  onError: (error: unknown, key: WorkKey) => void;
}>;

/** Records an Event for every dead-lettered key. */
export interface DeadLetterRecorder {
  /** Listener of a queue; ignores all events but dead letters. */
  onQueueEvent(event: QueueEvent): void;
  /** Resolves when all Events so far were passed on or dropped. */
  flush(): Promise<void>;
}

/** At most one Event per object in this time: an object that fails at every resync may have a different message each time. */
const minIntervalMs = 10 * 60_000;
const maxRemembered = 4_096;
const readTimeoutMs = 5_000;

/** Creates the recorder of dead-letter Events. */
export function createDeadLetterRecorder(options: DeadLetterRecorderOptions): DeadLetterRecorder {
  const { events, hub, workloads, clock, onError } = options;
  /** Time of the last Event per object, oldest first. */
  const recordedMs = new Map<string, number>();
  const inFlight = new Set<Promise<void>>();

  const isDue = (key: WorkKey): boolean => {
    const [id, nowMs] = [formatKey(key), clock.monotonicMs()];
    if (nowMs - (recordedMs.get(id) ?? Number.NEGATIVE_INFINITY) < minIntervalMs) return false;
    recordedMs.delete(id);
    const [oldest] = recordedMs.keys();
    if (recordedMs.size >= maxRemembered && oldest !== undefined) recordedMs.delete(oldest);
    recordedMs.set(id, nowMs);
    return true;
  };
  const readSubject = async (key: WorkKey): Promise<EventSubject | undefined> => {
    const deadline = createDeadline(clock, { signal: undefined, timeoutMs: readTimeoutMs });
    try {
      if (key.kind === "Workload") return await workloads?.read(key, deadline.signal);
      return await hub.read(key, deadline.signal);
    } finally {
      deadline.end();
    }
  };
  const recordEvent = async (key: WorkKey, event: ObjectEvent): Promise<void> => {
    const subject = await readSubject(key);
    if (subject !== undefined) events.record(key, subject, event);
  };

  return {
    onQueueEvent: (queueEvent) => {
      const event = deadLetterEventOf(queueEvent);
      if (event === undefined || queueEvent.kind !== "ended" || !isDue(queueEvent.item.key)) return;
      const { key } = queueEvent.item;
      const recording = recordEvent(key, event)
        .catch((error: unknown) => onError(error, key))
        .finally(() => inFlight.delete(recording));
      inFlight.add(recording);
    },
    flush: async () => {
      await Promise.all(inFlight);
    },
  };
}
