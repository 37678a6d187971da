import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { catalogue, type MetricDefinition } from "../../../lib/observe/catalogue.ts";
import { createMetrics, seriesBudget } from "../../../lib/observe/metrics.ts";
import { queueEventRecorder, registerProcessGauges, registerQueueGauges } from "../../../lib/observe/recorders.ts";

import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import { aliases } from "../../../scripts/docs/metric-aliases.ts";
import { metricsPage } from "../../../scripts/docs/metrics-page.ts";
import { parseExposition } from "./exposition.ts";

const definitions: readonly (readonly [string, MetricDefinition])[] = Object.entries(catalogue);

describe("the metrics catalogue", () => {
  test.each(definitions)("%s follows the naming rules of Prometheus", (name, { type, unit, help, labels, buckets }) => {
    expect(name).toMatch(/^(tmc|process)_[a-z][a-z_]*[a-z]$/);
    expect(name.endsWith("_total")).toBe(type === "counter");
    if (unit !== "") expect(name.replace(/_total$/, "")).toMatch(new RegExp(`_${unit}$`));
    else expect(name).not.toMatch(/_(seconds|bytes)/);
    expect(help).toMatch(/^[A-Z].*\.$/);
    for (const label of Object.keys(labels)) expect(label).toMatch(/^[a-z][a-z_]*$/);
    expect(buckets !== undefined).toBe(type === "histogram");
  });

  test("no two metric names differ only by a suffix, which other formats do not distinguish", () => {
    const bare = definitions.map(([name]) => name.replace(/_(total|count|sum|bucket|info)$/, ""));
    expect(new Set(bare).size).toBe(bare.length);
  });

  test("no metric label is the name of an object", () => {
    const labels = definitions.flatMap(([, { labels }]) => Object.keys(labels));
    expect(labels).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(name|namespace|cluster|placement|workload|tenant)$/)]),
    );
  });

  test("every metric name of earlier designs has an alias in the catalogue or a reason why it has none", () => {
    expect(Object.keys(aliases)).toHaveLength(86);
    for (const alias of Object.values(aliases)) {
      if ("metrics" in alias) for (const name of alias.metrics) expect(Object.keys(catalogue)).toContain(name);
      else expect(alias.none).not.toBe("");
    }
  });

  test("docs/metrics.md is generated from the catalogue", async () => {
    expect(await readFile(new URL("../../../docs/metrics.md", import.meta.url), "utf8")).toBe(metricsPage());
  });
});

describe("recording metrics", () => {
  test("counters add, gauges are set, and histograms count in buckets", () => {
    const metrics = createMetrics();
    metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome: "done" });
    metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome: "done" }, 2);
    metrics.set("tmc_clusters", { ready: "true" }, 7);
    metrics.set("tmc_clusters", { ready: "true" }, 3);
    for (const seconds of [0.001, 0.0011, 4, 60]) metrics.observe("tmc_queue_wait_seconds", {}, seconds);
    const families = parseExposition(metrics.render());
    expect(families.get("tmc_reconcile_total")?.samples).toEqual([
      { name: "tmc_reconcile_total", labels: { kind: "WorkloadPlacement", outcome: "done" }, value: 3 },
    ]);
    expect(families.get("tmc_clusters")?.samples).toMatchObject([{ labels: { ready: "true" }, value: 3 }]);
    const wait = families.get("tmc_queue_wait_seconds")?.samples ?? [];
    const bucket = (le: string) => wait.find(({ labels }) => labels.le === le)?.value;
    expect([bucket("0.001"), bucket("0.0025"), bucket("5"), bucket("10"), bucket("+Inf")]).toEqual([1, 2, 3, 3, 4]);
    expect(wait.find(({ name }) => name.endsWith("_sum"))?.value).toBeCloseTo(64.0021);
  });

  test("only metrics, labels and label values of the catalogue compile", () => {
    const metrics = createMetrics();
    const wrong = (): void => {
      // @ts-expect-error: there is no such metric
      metrics.add("tmc_made_up_total", {});
      // @ts-expect-error: a gauge does not count
      metrics.add("tmc_clusters", { ready: "true" });
      // @ts-expect-error: a label is missing
      metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement" });
      // @ts-expect-error: no such outcome
      metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome: "fine" });
      // @ts-expect-error: a label too many
      metrics.set("tmc_queue_depth", { name: "web" }, 1);
    };
    expect(wrong).toBeTypeOf("function");
  });

  test("a counter never decreases", () => {
    const metrics = createMetrics();
    metrics.add("tmc_fanout_enqueued_total", {}, 5);
    metrics.add("tmc_fanout_enqueued_total", {}, -3);
    metrics.add("tmc_fanout_enqueued_total", {}, Number.NaN);
    expect(metrics.render()).toContain("tmc_fanout_enqueued_total 5\n");
  });

  test("counters without labels are rendered as 0 before their first increment", () => {
    const families = parseExposition(createMetrics().render());
    expect(families.get("tmc_queue_dead_lettered_total")?.samples).toMatchObject([{ value: 0 }]);
  });

  test("onScrape is called at each rendering until it is unregistered", () => {
    const metrics = createMetrics();
    let depth = 1;
    const stop = metrics.onScrape(() => metrics.set("tmc_queue_depth", {}, depth));
    expect(metrics.render()).toContain("tmc_queue_depth 1\n");
    depth = 2;
    expect(metrics.render()).toContain("tmc_queue_depth 2\n");
    stop();
    depth = 3;
    expect(metrics.render()).toContain("tmc_queue_depth 2\n");
  });
});

describe("metric series", () => {
  /** Values that the compiler does not check: from a server, or from plain JavaScript. */
  const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('a"b', "a\\b", "a\nb", "__proto__", ""));

  test("any input results in valid exposition text with names of the catalogue only", () => {
    const property = fc.property(fc.array(fc.tuple(anyText, anyText, fc.double()), { maxLength: 20 }), (inputs) => {
      const metrics = createMetrics({ tenants: 3 });
      for (const [one, two, value] of inputs) {
        metrics.add("tmc_upstream_requests_total", { verb: one as "get", code: two }, value);
        metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome: "done", tenant: one });
        metrics.set("tmc_build_info", { version: one, node: two }, value);
        metrics.observe("tmc_probe_duration_seconds", { outcome: two as "healthy" }, value);
      }
      for (const name of parseExposition(metrics.render()).keys()) expect(Object.keys(catalogue)).toContain(name);
    });
    fc.assert(property);
  });

  test("a thousand tenants and unknown status codes stay within the series budget", () => {
    const metrics = createMetrics({ tenants: 10 });
    for (let tenant = 0; tenant < 1000; tenant++) {
      metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome: "done", tenant: `t${tenant}` });
      metrics.add("tmc_upstream_requests_total", { verb: "get", code: String(tenant) });
    }
    const families = parseExposition(metrics.render());
    const reconciles = families.get("tmc_reconcile_total")?.samples ?? [];
    expect(reconciles).toHaveLength(11);
    expect(reconciles.find(({ labels }) => labels.tenant === "other")?.value).toBe(990);
    expect(families.get("tmc_upstream_requests_total")?.samples.length).toBeLessThan(60);
    expect(seriesBudget()).toBeLessThan(1500);
  });

  test("metrics have no tenant label by default", () => {
    const metrics = createMetrics();
    metrics.add("tmc_queue_adds_total", { reason: "changed", tenant: "secret-project" });
    expect(metrics.render()).not.toContain("secret-project");
  });
});

describe("metric recorders", () => {
  const item: WorkItem = { key: { logicalCluster: "a", kind: "ClusterRegistration", name: "east" }, reason: "changed" };
  const events: readonly QueueEvent[] = [
    { kind: "added", item, coalesced: false },
    { kind: "added", item, coalesced: true },
    { kind: "delayed", item, afterSeconds: 1 },
    { kind: "started", item, waitedSeconds: 0.5 },
    { kind: "ended", item, durationSeconds: 0.1, outcome: "done" },
    ...(["retry", "dead-letter"] as const).map(
      (outcome): QueueEvent => ({
        kind: "ended",
        item,
        durationSeconds: 0.1,
        outcome,
        error: new Error("bug"),
        failureKind: "unexpected",
        attempts: 1,
        afterSeconds: undefined,
      }),
    ),
  ];

  test("queueEventRecorder counts every queue event once", () => {
    const metrics = createMetrics();
    const record = queueEventRecorder(metrics);
    for (const event of events) record(event);
    const families = parseExposition(metrics.render());
    const value = (name: string) => families.get(name)?.samples.reduce((sum, sample) => sum + sample.value, 0);
    expect(value("tmc_queue_adds_total")).toBe(2);
    expect(value("tmc_queue_coalesced_total")).toBe(1);
    expect(value("tmc_reconcile_total")).toBe(3);
    expect(value("tmc_queue_retries_total")).toBe(1);
    expect(value("tmc_queue_dead_lettered_total")).toBe(1);
    expect(metrics.render()).toContain("tmc_queue_wait_seconds_count 1\n");
    expect(metrics.render()).toContain('outcome="done"} 1\n');
  });

  test("gauges of queue and process are read at each scrape", () => {
    const metrics = createMetrics();
    registerQueueGauges(metrics, {
      depth: 3,
      inFlight: 2,
      delayed: 4,
      failing: 1,
      oldestAgeSeconds: () => 1.5,
      deadLetters: () => [],
    });
    let cpu = 1e6;
    registerProcessGauges(metrics, {
      process: { cpuUsage: () => ({ user: cpu, system: 5e5 }), memoryUsage: { rss: () => 42 }, uptime: () => 10 },
      nowMs: 100_000,
      version: "0.1.0",
      nodeVersion: "24",
    });
    expect(metrics.render()).toContain("process_cpu_seconds_total 1.5\n");
    cpu = 3e6;
    const text = metrics.render();
    for (const line of [
      "tmc_queue_depth 3",
      "tmc_queue_in_flight 2",
      "tmc_queue_delayed_keys 4",
      "tmc_queue_failing_keys 1",
      "tmc_queue_dead_letters 0",
      "tmc_queue_oldest_age_seconds 1.5",
      "process_cpu_seconds_total 3.5",
      "process_resident_memory_bytes 42",
      "process_start_time_seconds 90",
      'tmc_build_info{version="0.1.0",node="24"} 1',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    parseExposition(text);
  });
});
