import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../../../lib/observe/metrics.ts";
import { dirtyMetric, formatDirtyKeysLine } from "../../../../lib/relay/observe/dirty-keys-metric.ts";
import { createWatchLiveness, startLoopLag } from "../../../../lib/relay/observe/liveness.ts";
import { createObjectCounts } from "../../../../lib/relay/observe/object-counts.ts";

/** A registration as far as its readiness is counted. */
const registration = (name: string, ready?: "True" | "False" | "Unknown"): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name },
  status: { ...(ready && { conditions: [{ type: "Ready", status: ready }] }) },
});

describe("ObjectCounts", () => {
  it("counts registrations by readiness over all workspaces, and follows changes and deletions", () => {
    const [counts, metrics] = [createObjectCounts(), createMetrics()];
    const page = (): string[] => {
      counts.record(metrics);
      return metrics.render().match(/^(tmc_clusters|tmc_relay_objects)\{.*$/gm) ?? [];
    };
    counts.applyList("ClusterRegistration", "one", [
      registration("a", "True"),
      registration("b", "False"),
      registration("c"),
    ]);
    counts.applyList("ClusterRegistration", "two", [registration("a", "True")]);
    expect(page()).toEqual(
      expect.arrayContaining([
        'tmc_clusters{ready="true"} 2',
        'tmc_clusters{ready="false"} 1',
        'tmc_clusters{ready="unknown"} 1',
        'tmc_relay_objects{kind="ClusterRegistration"} 4',
      ]),
    );
    counts.apply("ClusterRegistration", "one", registration("b", "True"));
    counts.remove("ClusterRegistration", "two", "a");
    counts.applyList("ClusterRegistration", "three", []);
    expect(page()).toEqual(expect.arrayContaining(['tmc_clusters{ready="true"} 2', 'tmc_clusters{ready="false"} 0']));
  });
});

describe("liveness", () => {
  it("LoopLag fails while timers fire late, and passes when they fire in time again", () => {
    const clock = createManualClock();
    let lateMs = 0;
    const lag = startLoopLag({ ...clock, monotonicMs: () => clock.monotonicMs() + lateMs });
    clock.advance(10_000);
    expect(lag.check().ok).toBe(true);
    lateMs = 7_000; // time passes while no timer fires
    expect(lag.check()).toEqual({ ok: false, detail: "timers fire 6000 ms late" });
    clock.advance(2_000);
    expect(lag.check().ok).toBe(true);
    lag.stop();
    expect(clock.pending).toBe(0);
  });
  it("WatchLiveness fails for a watch without activity for twelve minutes, whatever other watches do", () => {
    const clock = createManualClock();
    const watches = createWatchLiveness(clock, ["a", "b"]);
    clock.advance(12 * 60_000);
    watches.recordActivity("a");
    expect(watches.check().ok).toBe(true);
    clock.advance(1);
    expect(watches.check()).toEqual({ ok: false, detail: "b: silent for 12 minutes" });
    watches.recordActivity("b");
    expect(watches.check().ok).toBe(true);
  });
});

describe("dirty-keys metric", () => {
  it("is a log line in the embedded metric format of CloudWatch", () => {
    const line: unknown = JSON.parse(formatDirtyKeysLine({ stage: "prod", atMs: 5, oldestSeconds: 1.23456 }));
    expect(line).toEqual({
      _aws: {
        Timestamp: 5,
        CloudWatchMetrics: [
          {
            Namespace: dirtyMetric.namespace,
            Dimensions: [["stage"]],
            Metrics: [{ Name: "relay_oldest_dirty_seconds", Unit: "Seconds" }],
          },
        ],
      },
      stage: "prod",
      relay_oldest_dirty_seconds: 1.235,
    });
  });
});
