import type { CountedRequest } from "@tmc/kube/counted-client.ts";
import type { Readiness } from "../model/condition.ts";
import type { ReconciledKind } from "../model/key.ts";
import type { MemoryQueue } from "../queue/memory-queue.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import type { Metrics } from "./metrics.ts";

/** Records requests to the upstream. */
export function upstreamRequestRecorder(metrics: Pick<Metrics, "add" | "observe">): (request: CountedRequest) => void {
  return ({ verb, code, seconds }) => {
    metrics.add("tmc_upstream_requests_total", { verb, code });
    if (verb !== "watch") metrics.observe("tmc_upstream_request_duration_seconds", { verb }, seconds);
  };
}

/** The part of Node's `process` that the process gauges read. */
export type ProcessFacts = Readonly<{
  cpuUsage: () => Readonly<{ user: number; system: number }>;
  memoryUsage: Readonly<{ rss: () => number }>;
  uptime: () => number;
}>;

/** Sets the process gauges at each scrape. Returns a function that unregisters them. */
export function registerProcessGauges(
  metrics: Metrics,
  facts: Readonly<{ process: ProcessFacts; nowMs: number; version: string; nodeVersion: string }>,
): () => void {
  const { process, nowMs, version, nodeVersion } = facts;
  metrics.set("tmc_build_info", { version, node: nodeVersion }, 1);
  metrics.set("process_start_time_seconds", {}, Math.round(nowMs / 1000 - process.uptime()));
  let countedSeconds = 0;
  return metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.add("process_cpu_seconds_total", {}, seconds - countedSeconds);
    countedSeconds = seconds;
    metrics.set("process_resident_memory_bytes", {}, process.memoryUsage.rss());
  });
}

/** Records the events of a queue, as its listener. */
export function queueEventRecorder(metrics: Pick<Metrics, "add" | "observe">): (event: QueueEvent) => void {
  return (event) => {
    if (event.kind === "unreadable") {
      if (event.error === undefined) metrics.add("tmc_queue_dead_lettered_total", {});
      return;
    }
    const { kind, logicalCluster: tenant } = event.item.key;
    switch (event.kind) {
      case "added":
        metrics.add("tmc_queue_adds_total", { reason: event.item.reason, tenant });
        if (event.coalesced) metrics.add("tmc_queue_coalesced_total", {});
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
        if (outcome === "retry" && event.failureKind !== "permanent")
          metrics.add("tmc_queue_retries_total", { failure: event.failureKind });
        if (outcome === "dead-letter") metrics.add("tmc_queue_dead_lettered_total", {});
      }
    }
  };
}

export type QueueGauges = Pick<
  MemoryQueue,
  "depth" | "inFlight" | "delayed" | "failing" | "oldestAgeSeconds" | "deadLetters"
>;

/** Sets the gauges of a queue at each scrape. Returns a function that unregisters them. */
export function registerQueueGauges(metrics: Metrics, queue: QueueGauges): () => void {
  return metrics.onScrape(() => {
    metrics.set("tmc_queue_depth", {}, queue.depth);
    metrics.set("tmc_queue_in_flight", {}, queue.inFlight);
    metrics.set("tmc_queue_delayed_keys", {}, queue.delayed);
    metrics.set("tmc_queue_failing_keys", {}, queue.failing);
    metrics.set("tmc_queue_dead_letters", {}, queue.deadLetters().length);
    metrics.set("tmc_queue_oldest_age_seconds", {}, queue.oldestAgeSeconds());
  });
}

/** Sets the gauge of objects of a kind by readiness. */
export function recordReadiness(
  metrics: Pick<Metrics, "set">,
  kind: ReconciledKind,
  counts: Readonly<Record<Readiness, number>>,
): void {
  const gauge = kind === "ClusterRegistration" ? "tmc_clusters" : "tmc_placements";
  for (const ready of ["true", "false", "unknown"] as const) metrics.set(gauge, { ready }, counts[ready]);
}
