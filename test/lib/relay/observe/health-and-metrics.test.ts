import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import type { CallAws } from "../../../../lib/credentials/aws-call.ts";
import { createLog } from "../../../../lib/observe/log.ts";
import { createMetrics } from "../../../../lib/observe/metrics.ts";
import { formatRelayMetrics, relayMetrics } from "../../../../lib/relay/observe/cloudwatch-metrics.ts";
import { createWatchLiveness, startLoopLag } from "../../../../lib/relay/observe/liveness.ts";
import { createObjectCounts } from "../../../../lib/relay/observe/object-counts.ts";
import { putRelayMetrics, startMetricsReport } from "../../../../lib/relay/observe/report-metrics.ts";

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

describe("blindness", () => {
  it("WatchLiveness counts from the first failure of a watch until the watch works again, whatever other watches do", () => {
    const clock = createManualClock();
    const watches = createWatchLiveness(clock, ["a", "b"]);
    expect(watches.blindSeconds()).toBe(0);
    watches.recordFailure("a");
    clock.advance(60_000);
    watches.recordFailure("a");
    watches.recordFailure("b");
    clock.advance(30_000);
    watches.recordActivity("b");
    expect([watches.blindSeconds(), watches.failing()]).toEqual([90, ["a"]]);
    expect(watches.check().ok, "an unreachable upstream is no reason for a restart").toBe(true);
    watches.recordActivity("a");
    expect([watches.blindSeconds(), watches.failing()]).toEqual([0, []]);
  });

  it("WatchLiveness counts a watch whose connection is stalled: the server would have ended it within five minutes", () => {
    const clock = createManualClock();
    const watches = createWatchLiveness(clock, ["a", "b"]);
    clock.advance(6 * 60_000);
    watches.recordActivity("b");
    expect(watches.blindSeconds()).toBe(0);
    clock.advance(1_000);
    expect([watches.blindSeconds(), watches.failing()]).toEqual([361, ["a"]]);
  });

  it("WatchLiveness does not count a watch that was stopped", () => {
    const watches = createWatchLiveness(createManualClock(), ["a"]);
    watches.recordFailure("a");
    watches.forget("a");
    expect(watches.failing()).toEqual([]);
  });
});

describe("the report of metrics to CloudWatch", () => {
  const values = { stage: "prod", atMs: 5, dirtySeconds: 1, blindSeconds: 61 };

  it("is repeated every minute, also after a failure, until it is ended", async () => {
    const clock = createManualClock();
    const lines: string[] = [];
    const log = createLog({ level: 2, write: (line) => void lines.push(line), clock });
    let sends = 0;
    const end = startMetricsReport(
      { clock, log },
      async () => {
        sends += 1;
        if (sends === 1) throw new Error("no network");
      },
      () => values,
    );
    clock.advance(59_999);
    expect(sends).toBe(0);
    clock.advance(1);
    await Promise.resolve();
    clock.advance(60_000);
    expect(sends).toBe(2);
    expect(lines.join("")).toContain("metrics not reported");
    end();
    clock.advance(600_000);
    expect(sends).toBe(2);
    expect(clock.pending).toBe(0);
  });

  it("is a signed PutMetricData with the same metrics and dimension as the log line, outside of ECS", async () => {
    const calls: Parameters<CallAws>[] = [];
    const send = putRelayMetrics({
      callAws: async (...call) => {
        calls.push(call);
        return "";
      },
      credentials: async () => ({ accessKeyId: "AKIA", secretAccessKey: "key" }),
      region: "eu-west-1",
    });
    await send(values);
    const [[request, scope] = []] = calls;
    expect(scope).toMatchObject({ service: "monitoring", region: "eu-west-1" });
    expect(request).toMatchObject({ method: "GET", hostname: "monitoring.eu-west-1.amazonaws.com", path: "/" });
    expect(request?.query).toMatchObject({
      Action: "PutMetricData",
      Namespace: relayMetrics.namespace,
      "MetricData.member.2.MetricName": "relay_blind_seconds",
      "MetricData.member.2.Value": "61",
      "MetricData.member.2.Unit": "Seconds",
      "MetricData.member.2.Dimensions.member.1.Name": "stage",
      "MetricData.member.2.Dimensions.member.1.Value": "prod",
    });
  });
});

describe("the relay's CloudWatch metrics", () => {
  it("are a log line in the embedded metric format of CloudWatch", () => {
    const line: unknown = JSON.parse(
      formatRelayMetrics({ stage: "prod", atMs: 5, dirtySeconds: 1.23456, blindSeconds: 61 }),
    );
    expect(line).toEqual({
      _aws: {
        Timestamp: 5,
        CloudWatchMetrics: [
          {
            Namespace: relayMetrics.namespace,
            Dimensions: [["stage"]],
            Metrics: [
              { Name: "relay_oldest_dirty_seconds", Unit: "Seconds" },
              { Name: "relay_blind_seconds", Unit: "Seconds" },
            ],
          },
        ],
      },
      stage: "prod",
      relay_oldest_dirty_seconds: 1.235,
      relay_blind_seconds: 61,
    });
  });
});
