import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { dirtyMetric, formatDirtyLine } from "../../../lib/relay/dirty-keys-log.ts";
import { fingerprintOf } from "../../../lib/relay/fingerprint.ts";
import { createWatchPulse, startLoopLag } from "../../../lib/relay/liveness.ts";
import { createFleetCensus } from "../../../lib/relay/object-counts.ts";
import { traceOfObject } from "../../../lib/relay/projection.ts";

import { createManualClock } from "../../support/manual-clock.ts";

const object = (name: string, ready?: "True" | "False" | "Unknown"): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: {
    name,
    uid: "u",
    resourceVersion: "7",
    generation: 2,
    labels: { a: "b" },
    finalizers: ["f"],
    annotations: { "tmc.kcp.io/reconcile-requested": "1", "kcp.io/cluster": "abc" },
    managedFields: [{ manager: "m" }],
  } as KubeObject["metadata"],
  spec: { location: "x", credentials: { secretRef: { namespace: "n", name: "s" } } },
  status: { lastHeartbeat: "now", ...(ready && { conditions: [{ type: "Ready", status: ready }] }) },
});

describe("what the relay looks at of an object", () => {
  it("has the same fingerprint as the whole", () => {
    for (const whole of [object("a"), { ...object("a"), metadata: { name: "a" } }]) {
      expect(fingerprintOf(traceOfObject(whole))).toBe(fingerprintOf(whole));
    }
  });
  it("is little", () => {
    expect(traceOfObject(object("a", "True"))).toEqual({
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: {
        name: "a",
        uid: "u",
        resourceVersion: "7",
        generation: 2,
        labels: { a: "b" },
        finalizers: ["f"],
        annotations: { "tmc.kcp.io/reconcile-requested": "1" },
      },
      spec: { credentials: { secretRef: { namespace: "n", name: "s" } } },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  });
  it("has what a cluster serves only where something may be born there", () => {
    const status = { apis: [{ groupVersion: "apps/v1", kinds: ["Deployment"] }] };
    const upsync = [{ apiVersion: "apps/v1", kind: "Deployment" }];
    const { spec, status: kept } = traceOfObject({ ...object("a"), spec: { location: "x", upsync }, status });
    expect([spec, kept]).toEqual([{ upsync }, status]);
    expect(traceOfObject({ ...object("a"), status })).not.toHaveProperty("status");
  });
});

describe("the census of the fleet", () => {
  it("counts by readiness over all workspaces, and follows what comes and goes", () => {
    const [census, metrics] = [createFleetCensus(), createMetrics()];
    const page = (): string[] => {
      census.record(metrics);
      return metrics.render().match(/^(tmc_clusters|tmc_relay_objects)\{.*$/gm) ?? [];
    };
    census.takeList("ClusterRegistration", "one", [object("a", "True"), object("b", "False"), object("c")]);
    census.takeList("ClusterRegistration", "two", [object("a", "True")]);
    expect(page()).toEqual(
      expect.arrayContaining([
        'tmc_clusters{ready="true"} 2',
        'tmc_clusters{ready="false"} 1',
        'tmc_clusters{ready="unknown"} 1',
        'tmc_relay_objects{kind="ClusterRegistration"} 4',
      ]),
    );
    census.take("ClusterRegistration", "one", object("b", "True"));
    census.lose("ClusterRegistration", "two", "a");
    census.takeList("ClusterRegistration", "three", []);
    expect(page()).toEqual(expect.arrayContaining(['tmc_clusters{ready="true"} 2', 'tmc_clusters{ready="false"} 0']));
  });
});

describe("signs of life", () => {
  it("a process that comes late to its timers is not well until it comes in time again", () => {
    const clock = createManualClock();
    let lateMs = 0;
    const lag = startLoopLag({ now: () => clock.now() + lateMs, after: clock.after });
    clock.advance(10_000);
    expect(lag.look().ok).toBe(true);
    lateMs = 7_000; // the machine's time goes on while no timer runs
    expect(lag.look()).toEqual({ ok: false, detail: "timers come 6000 ms late" });
    clock.advance(2_000);
    expect(lag.look().ok).toBe(true);
    lag.stop();
    expect(clock.pending).toBe(0);
  });
  it("a watch that has said nothing for twelve minutes hangs; the others do not speak for it", () => {
    const clock = createManualClock();
    const pulse = createWatchPulse(clock, ["a", "b"]);
    clock.advance(12 * 60_000);
    pulse.beat("a");
    expect(pulse.look().ok).toBe(true);
    clock.advance(1);
    expect(pulse.look()).toEqual({ ok: false, detail: "b: silent for 12 minutes" });
    pulse.beat("b");
    expect(pulse.look().ok).toBe(true);
  });
});

describe("the line that becomes a metric", () => {
  it("has the form that CloudWatch reads", () => {
    const line: unknown = JSON.parse(formatDirtyLine({ stage: "prod", atMs: 5, oldestSeconds: 1.23456 }));
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
