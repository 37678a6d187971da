import { beforeEach, describe, expect, test } from "vitest";
import { createEmfMetrics, type EmfMetrics } from "../../../lib/lambda/emf-metrics.ts";

type Emf = Readonly<Record<string, unknown>> & {
  _aws: {
    CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string; Unit: string }[] }[];
  };
};

let lines: string[];
let metrics: EmfMetrics;
beforeEach(() => {
  lines = [];
  metrics = createEmfMetrics({ stage: "prod", write: (line) => lines.push(line) });
});
const written = (): Emf[] => {
  metrics.flush();
  return lines.splice(0).map((line) => JSON.parse(line) as Emf);
};

test("EMF has the sum of a counter, the last value of a gauge and all values of a histogram", () => {
  metrics.add("tmc_queue_dead_lettered_total", {});
  metrics.add("tmc_queue_dead_lettered_total", {}, 2);
  metrics.add("tmc_queue_dead_lettered_total", {}, 0);
  metrics.set("tmc_queue_depth", {}, 5);
  metrics.set("tmc_queue_depth", {}, 3);
  metrics.observe("tmc_queue_wait_seconds", {}, 0.5);
  metrics.observe("tmc_queue_wait_seconds", {}, 1.5);
  metrics.observe("tmc_queue_wait_seconds", {}, Number.NaN);
  const [line, ...more] = written();
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    service: "tmc-prod",
    tmc_queue_dead_lettered_total: 3,
    tmc_queue_depth: 3,
    tmc_queue_wait_seconds: [0.5, 1.5],
  });
  expect(line?._aws.CloudWatchMetrics).toEqual([
    {
      Namespace: "TMC",
      Dimensions: [["service"]],
      Metrics: [
        { Name: "tmc_queue_dead_lettered_total", Unit: "Count" },
        { Name: "tmc_queue_depth", Unit: "Count" },
        { Name: "tmc_queue_wait_seconds", Unit: "Seconds" },
      ],
    },
  ]);
});

test("EMF has one line per label combination, and a flush leaves nothing for the next invocation", () => {
  for (const outcome of ["done", "retry"] as const) {
    metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome });
    metrics.observe("tmc_reconcile_duration_seconds", { kind: "WorkloadPlacement", outcome }, 1);
  }
  const both = written();
  expect(both.map(({ outcome }) => outcome)).toEqual(["done", "retry"]);
  expect(both[1]?._aws.CloudWatchMetrics[0]?.Dimensions).toEqual([["service", "kind", "outcome"]]);
  expect(written()).toEqual([]);
});

describe("EMF dimensions", () => {
  test("EMF dimensions never contain a tenant", () => {
    metrics.add("tmc_reconcile_total", { kind: "WorkloadPlacement", outcome: "done", tenant: "abc" });
    expect(JSON.stringify(written())).not.toContain("abc");
  });

  test("EMF dimensions group status codes by their class", () => {
    for (const code of ["200", "201", "404", "none"]) metrics.add("tmc_upstream_requests_total", { verb: "get", code });
    expect(written().map((line) => [line.code, line.tmc_upstream_requests_total])).toEqual([
      ["2xx", 2],
      ["4xx", 1],
      ["none", 1],
    ]);
  });
});

test("many values are split into lines of the length that CloudWatch accepts", () => {
  for (let at = 0; at < 250; at++) metrics.observe("tmc_queue_wait_seconds", {}, at);
  const values = written().map(({ tmc_queue_wait_seconds: each }) => (Array.isArray(each) ? each.length : 1));
  expect(values).toEqual([99, 99, 52]);
});
