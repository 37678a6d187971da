import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { createEventSink, type EventSink, type EventSinkOptions } from "../upstream/events.ts";
import {
  createDeadLetterRecorder,
  type DeadLetterRecorder,
  type DeadLetterRecorderOptions,
} from "./dead-letter-recorder.ts";

/** Records Kubernetes Events for what TMC observes on clusters, and for keys that were dead-lettered. */
export type EventRecorder = Readonly<{
  record: EventSink["record"];
  onQueueEvent: DeadLetterRecorder["onQueueEvent"];
  /** Resolves when everything recorded so far was written or has failed. */
  flush: () => Promise<void>;
}>;

export type EventRecorderOptions = Pick<EventSinkOptions, "client" | "clock"> &
  Pick<DeadLetterRecorderOptions, "hub" | "workloads"> &
  Readonly<{ log: Pick<Log, "debug">; metrics: Pick<Metrics, "add"> }>;

/** Creates the event recorder of a controller or a function. An Event that cannot be written affects no reconcile. */
export function createEventRecorder({
  client,
  clock,
  hub,
  workloads,
  log,
  metrics,
}: EventRecorderOptions): EventRecorder {
  // Debug level: nothing depends on an Event, and a tenant may deny them.
  const onError = (
    error: unknown,
    { logicalCluster, name }: Readonly<{ logicalCluster: string; name: string }>,
  ): void => log.debug("event not written", { logicalCluster, name, error });
  const events = createEventSink({
    client,
    clock,
    onFailure: onError,
    onWrite: ({ kind }) => {
      if (kind !== undefined) metrics.add("tmc_upstream_writes_total", { kind, part: "event" });
    },
  });
  const deadLetters = createDeadLetterRecorder({ events, hub, workloads, clock, onError });
  return {
    record: events.record,
    onQueueEvent: deadLetters.onQueueEvent,
    flush: async () => {
      await deadLetters.flush();
      await events.whenFlushed();
    },
  };
}
