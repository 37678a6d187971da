import type { Metrics } from "./metrics.ts";

/** What a process says about itself: the part of Node's `process` that is read. */
export type ProcessFacts = Readonly<{
  cpuUsage: () => Readonly<{ user: number; system: number }>;
  memoryUsage: Readonly<{ rss: () => number }>;
  uptime: () => number;
}>;

/** Reads the process's own numbers at each scrape; the answer stops that. */
export function readProcessGauges(
  metrics: Metrics,
  facts: Readonly<{ process: ProcessFacts; nowMs: number; version: string; nodeVersion: string }>,
): () => void {
  const { process, nowMs, version, nodeVersion } = facts;
  metrics.set("tmc_build_info", { version, node: nodeVersion }, 1);
  metrics.set("process_start_time_seconds", {}, Math.round(nowMs / 1000 - process.uptime()));
  let counted = 0;
  return metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.add("process_cpu_seconds_total", {}, seconds - counted);
    counted = seconds;
    metrics.set("process_resident_memory_bytes", {}, process.memoryUsage.rss());
  });
}
