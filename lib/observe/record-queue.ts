import type { MemoryQueue } from "../queue/memory-queue.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import type { Metrics } from "./metrics.ts";

/** Counts what happens in a queue; to be handed to it as its listener. */
export function queueEventRecorder(metrics: Pick<Metrics, "add" | "observe">): (event: QueueEvent) => void {
  return (event) => {
    if (event.kind === "unreadable") {
      if (event.error === undefined) metrics.add("tmc_queue_given_up_total", {});
      return;
    }
    const { kind, cluster: tenant } = event.item.key;
    switch (event.kind) {
      case "added":
        metrics.add("tmc_queue_adds_total", { reason: event.item.reason, tenant });
        if (event.collapsed) metrics.add("tmc_queue_collapsed_total", {});
        return;
      case "delayed":
        return;
      case "started":
        metrics.observe("tmc_queue_wait_seconds", {}, event.waitedSeconds);
        return;
      case "ended": {
        const { outcome, durationSeconds } = event;
        metrics.add("tmc_reconcile_total", { kind, outcome, tenant });
        metrics.observe("tmc_reconcile_duration_seconds", { kind, outcome }, durationSeconds);
        if (outcome === "retry" && event.sort !== "lasting")
          metrics.add("tmc_queue_retries_total", { sort: event.sort });
        if (outcome === "set-aside") metrics.add("tmc_queue_given_up_total", {});
      }
    }
  };
}

/** The part of a queue that its gauges are read from. */
export type QueueGauges = Pick<
  MemoryQueue,
  "depth" | "inFlight" | "waiting" | "failing" | "oldestAgeSeconds" | "setAside"
>;

/** Reads a queue's gauges at each scrape; the answer stops that. */
export function readQueueGauges(metrics: Metrics, queue: QueueGauges): () => void {
  return metrics.onScrape(() => {
    metrics.set("tmc_queue_depth", {}, queue.depth);
    metrics.set("tmc_queue_in_flight", {}, queue.inFlight);
    metrics.set("tmc_queue_delayed_keys", {}, queue.waiting);
    metrics.set("tmc_queue_failing_keys", {}, queue.failing);
    metrics.set("tmc_queue_set_aside_keys", {}, queue.setAside().length);
    metrics.set("tmc_queue_oldest_age_seconds", {}, queue.oldestAgeSeconds());
  });
}
