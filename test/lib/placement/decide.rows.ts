import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { Condition } from "../../../lib/model/condition.ts";
import { done, type Next, requeueAfter } from "../../../lib/model/work-item.ts";
import type { ClusterDecision } from "../../../lib/placement/explain.ts";
import type { ClusterFacts, ObservedPlacement } from "../../../lib/placement/observed.ts";
import type { DecisionReason } from "../../../lib/placement/reasons.ts";
import { aCluster, ago, aPlacement, now } from "../../support/placement-builders.ts";

type Row = Readonly<{
  given: ObservedPlacement;
  selected: readonly string[];
  reasons?: Readonly<Record<string, DecisionReason>>;
  decisions?: Readonly<Record<string, Partial<ClusterDecision>>>;
  ready?: Partial<Condition>;
  messagePrefix?: string;
  next?: Next;
}>;

type Spec = WorkloadPlacement["spec"];
const given = (placement: WorkloadPlacement, ...clusters: readonly ClusterFacts[]): ObservedPlacement => ({
  placement,
  clusters,
  nowMs: now,
});
const withoutStatus = (spec: Spec, ...clusters: readonly ClusterFacts[]): ObservedPlacement =>
  given(aPlacement(spec), ...clusters);
const selectedBefore = (
  selected: readonly string[],
  spec: Spec,
  ...clusters: readonly ClusterFacts[]
): ObservedPlacement => given(aPlacement(spec, { selected }), ...clusters);
const hinted = (
  annotations: Record<string, string>,
  spec: Spec,
  ...clusters: readonly ClusterFacts[]
): ObservedPlacement => given(aPlacement(spec, { annotations }), ...clusters);

const eu = (name: string, zone = "") => aCluster(name, { labels: { region: "eu", ...(zone === "" ? {} : { zone }) } });
const us = (name: string) => aCluster(name, { labels: { region: "us" } });
const tainted = (name: string, effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute", timeAdded?: string) =>
  aCluster(name, {
    spec: { taints: [{ key: "k", value: "v", effect, ...(timeAdded === undefined ? {} : { timeAdded }) }] },
  });
const notReady = (name: string, seconds: number) => aCluster(name, { ready: "False", since: ago(seconds) });
/** A cluster that was Ready before. */
const lost = (name: string, seconds: number) =>
  aCluster(name, { ready: "False", since: ago(seconds), status: { lastHeartbeat: ago(seconds + 60) } });
const byRegion = { matchLabels: { region: "eu" } };

/** Facts and the expected decision; each name states a rule. */
export const rows: Readonly<Record<string, Row>> = {
  // basic selection
  "selects the first by name of several equal clusters": {
    given: withoutStatus({}, aCluster("b"), aCluster("a")),
    selected: ["a"],
    reasons: { a: "Selected", b: "NotSelected" },
    decisions: {
      a: { rule: "RoundRobin", score: 0, message: "selected by RoundRobin" },
      b: { message: "fits, but RoundRobin selected other clusters" },
    },
    ready: { status: "True", reason: "PlacementReady", message: "RoundRobin selected a", observedGeneration: 1 },
    next: done,
  },
  "reports NoClusters if no cluster is registered": {
    given: withoutStatus({}),
    selected: [],
    ready: { status: "False", reason: "NoClusters", message: "no cluster is registered" },
    next: done,
  },

  // filters
  "evicts from a cluster whose registration is being deleted": {
    given: selectedBefore(["a"], {}, aCluster("a", { deleting: true }), aCluster("b")),
    selected: ["b"],
    reasons: { a: "Deleting" },
  },
  "selects only clusters in clusterNames and reports a name that is not registered": {
    given: withoutStatus({ clusterNames: ["b", "unregistered"], numberOfClusters: 3 }, aCluster("a"), aCluster("b")),
    selected: ["b"],
    reasons: { a: "NotListed", b: "Selected", unregistered: "NotFound" },
    decisions: { unregistered: { selected: false, rule: "clusterNames" } },
    ready: { message: "RoundRobin selected b; 3 clusters are requested, other clusters: 1 NotFound, 1 NotListed" },
  },
  "reports an unregistered name in clusterNames even if no cluster is registered": {
    given: withoutStatus({ clusterNames: ["unregistered"] }),
    selected: [],
    reasons: { unregistered: "NotFound" },
    ready: { reason: "NoSuitableClusters", message: "0 of 0 clusters fit: 1 NotFound" },
  },
  "selects clusters that match the locationSelector": {
    given: withoutStatus({ locationSelector: byRegion }, us("a"), eu("b"), aCluster("c")),
    selected: ["b"],
    reasons: { a: "SelectorMismatch", c: "SelectorMismatch" },
    decisions: {
      a: {
        rule: "locationSelector[region]",
        expected: "region=eu",
        actual: "region=us",
        message: "locationSelector[region] requires region=eu, the cluster has region=us",
      },
      c: { actual: "region=somewhere" },
    },
  },
  "supports every operator of the locationSelector": {
    given: withoutStatus(
      {
        strategy: "Spread",
        locationSelector: {
          matchExpressions: [
            { key: "region", operator: "In", values: ["eu", "us"] },
            { key: "tier", operator: "NotIn", values: ["base"] },
            { key: "gold", operator: "Exists" },
            { key: "old", operator: "DoesNotExist" },
          ],
        },
      },
      aCluster("a", { labels: { region: "eu", gold: "" } }),
      aCluster("b", { labels: { region: "us", gold: "", tier: "base" } }),
      aCluster("c", { labels: { region: "us" } }),
      aCluster("d", { labels: { region: "us", gold: "", old: "1" } }),
    ),
    selected: ["a"],
    decisions: {
      b: { expected: "tier!=base", actual: "tier=base" },
      c: { expected: "gold", actual: "no gold" },
      d: { expected: "!old", actual: "old=1" },
    },
  },
  "matches a selector on a key that is derived from the location": {
    given: withoutStatus(
      { locationSelector: { matchLabels: { zone: "us-west-2a" } } },
      aCluster("a", { spec: { location: "us-west-2a" } }),
    ),
    selected: ["a"],
  },
  "keeps the selected clusters if a selector is invalid, and names the selector": {
    given: selectedBefore(
      ["b"],
      {
        locationSelector: {
          matchExpressions: [
            { key: "ok", operator: "Exists" },
            { key: "region", operator: "In", values: [] },
          ],
        },
      },
      aCluster("a"),
      notReady("b", 9999),
    ),
    selected: ["b"],
    reasons: { a: "InvalidPlacement", b: "KeptInvalidPlacement" },
    ready: {
      status: "False",
      reason: "InvalidSelector",
      message:
        "spec.locationSelector.matchExpressions[1]: values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    },
    next: done,
  },
  "names an invalid affinity term": {
    given: withoutStatus(
      { affinity: { clusterAffinity: { required: [{ matchLabels: { "a b": "c" } }] } } },
      aCluster("a"),
    ),
    selected: [],
    reasons: { a: "InvalidPlacement" },
    ready: { reason: "InvalidSelector" },
    messagePrefix: "spec.affinity.clusterAffinity.required[0].matchLabels: key: Invalid value",
  },
  "names an invalid resource quantity": {
    given: withoutStatus({ resources: { cpu: "lots" } }, aCluster("a")),
    selected: [],
    ready: { reason: "InvalidResources" },
    messagePrefix: 'spec.resources.cpu: "lots": quantities must match',
  },
  "rejects clusters that match no required affinity term": {
    given: withoutStatus(
      { affinity: { clusterAffinity: { required: [{ matchLabels: { tier: "gold" } }, byRegion] } } },
      us("a"),
      eu("b"),
    ),
    selected: ["b"],
    reasons: { a: "AffinityMismatch" },
    decisions: { a: { rule: "affinity.clusterAffinity", expected: "tier=gold or region=eu", actual: "no tier" } },
  },
  "rejects clusters that match a required anti-affinity term": {
    given: withoutStatus(
      { affinity: { clusterAntiAffinity: { required: [byRegion, { matchLabels: { x: "y" } }] } } },
      eu("a"),
      us("b"),
    ),
    selected: ["b"],
    reasons: { a: "AntiAffinityMatch" },
    decisions: { a: { expected: "region=eu", actual: "region=eu" } },
  },
  "rejects clusters without a required capability": {
    given: withoutStatus(
      { capabilityRequirements: [{ type: "gpu" }] },
      aCluster("a"),
      aCluster("b", { spec: { capabilities: [{ type: "gpu" }] } }),
    ),
    selected: ["b"],
    reasons: { a: "CapabilityMissing" },
    decisions: { a: { rule: "capabilityRequirements[gpu]", expected: "gpu", actual: "no gpu" } },
  },
  "rejects a cluster that declares a detected capability as not available": {
    given: withoutStatus(
      { capabilityRequirements: [{ type: "gpu", required: true }] },
      aCluster("a", {
        spec: { capabilities: [{ type: "gpu", available: false }] },
        status: { capabilities: [{ type: "gpu" }] },
      }),
      aCluster("b", { status: { capabilities: [{ type: "gpu" }] } }),
    ),
    selected: ["b"],
    decisions: { a: { reason: "CapabilityMissing", actual: "gpu declared as not available" } },
  },
  "reports NotReady instead of CapabilityMissing for a cluster that was never probed": {
    given: withoutStatus(
      { capabilityRequirements: [{ type: "gpu" }] },
      aCluster("a", { ready: "never", status: { capabilitiesDetected: undefined } }),
    ),
    selected: [],
    reasons: { a: "NotReady" },
  },
  "does not reject a cluster that lacks an optional capability": {
    given: withoutStatus({ capabilityRequirements: [{ type: "gpu", required: false }] }, aCluster("a")),
    selected: ["a"],
  },
  "rejects clusters whose capability is older than minVersion or has no known version": {
    given: withoutStatus(
      { strategy: "Spread", capabilityRequirements: [{ type: "gpu", minVersion: "12.4" }] },
      aCluster("a", { spec: { capabilities: [{ type: "gpu", version: "12.10" }] } }),
      aCluster("b", { spec: { capabilities: [{ type: "gpu", version: "v12.3.9" }] } }),
      aCluster("c", { spec: { capabilities: [{ type: "gpu" }] } }),
      aCluster("d", {
        spec: { capabilities: [{ type: "gpu" }] },
        status: { capabilities: [{ type: "gpu", version: "13" }] },
      }),
    ),
    selected: ["a", "d"],
    reasons: { b: "CapabilityTooOld", c: "CapabilityTooOld" },
    decisions: { b: { expected: "gpu 12.4 or later", actual: "gpu v12.3.9" }, c: { actual: "gpu of unknown version" } },
  },
  "rejects clusters that do not serve a workload type": {
    given: withoutStatus(
      {
        workloadSelector: {
          workloadTypes: [
            { apiVersion: "apps/v1", kind: "Deployment" },
            { apiVersion: "example.com/v1", kind: "Widget" },
          ],
        },
      },
      aCluster("a"),
      aCluster("b", {
        status: {
          apis: [
            { groupVersion: "apps/v1", kinds: ["Deployment"] },
            { groupVersion: "example.com/v1", kinds: ["Widget"] },
          ],
        },
      }),
    ),
    selected: ["b"],
    reasons: { a: "ApiNotServed" },
    decisions: {
      a: { message: "the cluster does not serve example.com/v1 Widget, which workloadSelector.workloadTypes requires" },
    },
  },
  "with customResources Install, rejects a cluster for a missing built-in type but not for a missing custom type": {
    given: withoutStatus(
      {
        strategy: "Spread",
        customResources: "Install",
        workloadSelector: {
          workloadTypes: [
            { apiVersion: "networking.k8s.io/v1", kind: "Ingress" },
            { apiVersion: "example.com/v1", kind: "Widget" },
            { apiVersion: "gateway.networking.k8s.io/v1", kind: "HTTPRoute" },
          ],
        },
      },
      aCluster("a", { status: { apis: [{ groupVersion: "networking.k8s.io/v1", kinds: ["Ingress"] }] } }),
      aCluster("b", { status: { apis: [{ groupVersion: "example.com/v1", kinds: ["Widget"] }] } }),
    ),
    selected: ["a"],
    reasons: { b: "ApiNotServed" },
  },
  "ranks a cluster with unknown served types behind one with known types": {
    given: withoutStatus(
      { strategy: "Affinity", workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] } },
      aCluster("a", { status: { apis: undefined } }),
      aCluster("b"),
    ),
    selected: ["b"],
    decisions: { a: { reason: "NotSelected", score: -10, parts: [{ name: "apisUnknown", value: -10 }] } },
  },
  "does not select a new cluster that is not Ready": {
    given: withoutStatus({}, notReady("a", 1), aCluster("b", { ready: "Unknown" }), aCluster("c", { ready: "never" })),
    selected: [],
    reasons: { a: "NotReady", b: "NotReady", c: "NotReady" },
    decisions: {
      a: { message: "the cluster is not ready: Ready=False (ClusterUnhealthy)" },
      c: { actual: "Ready=Unknown (NeverSeen)" },
    },
    ready: { status: "False", reason: "NoSuitableClusters", message: "0 of 3 clusters fit: 3 NotReady" },
    next: done,
  },
  "does not select a new cluster that is cordoned": {
    given: withoutStatus({}, aCluster("a", { spec: { unschedulable: true } }), aCluster("b")),
    selected: ["b"],
    reasons: { a: "Unschedulable" },
  },
  "does not select a new cluster with a NoSchedule or NoExecute taint": {
    given: withoutStatus(
      { strategy: "Spread" },
      tainted("a", "NoSchedule"),
      tainted("b", "NoExecute"),
      tainted("c", "PreferNoSchedule"),
    ),
    selected: ["c"],
    reasons: { a: "UntoleratedTaint", b: "UntoleratedTaint" },
    decisions: { a: { actual: "taint k=v:NoSchedule" }, c: { parts: [{ name: "preferNoSchedule", value: -50 }] } },
  },
  "selects clusters with tolerated taints": {
    given: withoutStatus(
      { strategy: "Spread", tolerations: [{ key: "k", operator: "Exists" }] },
      tainted("a", "NoSchedule"),
      tainted("b", "NoExecute"),
      tainted("c", "PreferNoSchedule"),
    ),
    selected: ["a", "b", "c"],
    decisions: { c: { score: 0 } },
  },
  "does not select a new cluster with a taint that is tolerated only for a limited time": {
    given: withoutStatus(
      { tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 60 }] },
      tainted("a", "NoExecute", ago(1)),
    ),
    selected: [],
    reasons: { a: "UntoleratedTaint" },
  },
  "rejects clusters with too few allocatable resources": {
    given: withoutStatus(
      { strategy: "Spread", resources: { cpu: "4", memory: "8Gi" } },
      aCluster("a", { status: { allocatable: { cpu: "3900m", memory: "64Gi" } } }),
      aCluster("b", { status: { allocatable: { cpu: "4000m", memory: "8192Mi" } } }),
      aCluster("c", { status: { allocatable: undefined } }),
      aCluster("d", { status: { allocatable: { cpu: "99", memory: "8191Mi" } } }),
    ),
    selected: ["b", "c"],
    reasons: { a: "InsufficientResources", d: "InsufficientResources" },
    decisions: {
      a: { rule: "resources.cpu", expected: "4 cpu", actual: "3900m cpu" },
      b: { parts: [{ name: "headroom", value: 4 }] },
      c: { parts: [{ name: "headroom", value: 5 }] },
    },
  },
  "rejects a cluster whose resources other placements have reserved, and decides again": {
    given: {
      ...withoutStatus({ resources: { cpu: "6" }, numberOfClusters: 2 }, aCluster("a"), aCluster("b")),
      reserved: new Map([["a", { cpu: 2_500_000_000n, memory: 0n }]]),
    },
    selected: ["b"],
    reasons: { a: "InsufficientCapacity" },
    decisions: { a: { rule: "resources.cpu", expected: "6 cpu", actual: "5500m of 8 cpu" } },
    next: requeueAfter(60),
  },
  "reports the reason of the first failing filter": {
    given: withoutStatus(
      { locationSelector: byRegion, resources: { cpu: "99" } },
      aCluster("a", { ready: "False", labels: { region: "us" } }),
    ),
    selected: [],
    reasons: { a: "SelectorMismatch" },
  },

  // retention of selected clusters
  "keeps the selected cluster when a better one appears": {
    given: selectedBefore(["b"], { strategy: "Affinity", preferredClusters: ["a"] }, aCluster("a"), aCluster("b")),
    selected: ["b"],
    decisions: { a: { reason: "NotSelected", score: 50 } },
  },
  "keeps a cluster that is not Ready within the tolerated time": {
    given: selectedBefore(["b"], {}, aCluster("a"), notReady("b", 100)),
    selected: ["b"],
    decisions: {
      b: {
        reason: "KeptTolerated",
        rule: "Ready",
        expected: "tolerated for 300 s",
        actual: "Ready=False (ClusterUnhealthy)",
        until: "2030-01-01T12:03:20Z",
        message: "kept while Ready=False (ClusterUnhealthy) is tolerated",
      },
    },
    ready: { status: "True" },
    next: requeueAfter(200),
  },
  "evicts from a cluster that is not Ready exactly when the tolerated time ends": {
    given: selectedBefore(["b"], {}, aCluster("a"), notReady("b", 300)),
    selected: ["a"],
    reasons: { b: "NotReady" },
    next: done,
  },
  "keeps a cluster that is not Ready until the last second of the tolerated time": {
    given: selectedBefore(["b"], {}, aCluster("a"), notReady("b", 299.5)),
    selected: ["b"],
    next: requeueAfter(1),
  },
  "tolerates a cluster that is not Ready for the time in the placement's toleration": {
    given: selectedBefore(
      ["b"],
      {
        tolerations: [
          { key: "tmc.kcp.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1000 },
        ],
      },
      aCluster("a"),
      notReady("b", 900),
    ),
    selected: ["b"],
    next: requeueAfter(100),
  },
  "keeps clusters beyond the tolerated time if most of them lost Ready at once": {
    given: selectedBefore(["b"], {}, aCluster("a"), ...["b", "c", "d"].map((name) => lost(name, 400))),
    selected: ["b"],
    decisions: { b: { reason: "KeptMassFailure" }, c: { reason: "NotReady" } },
    ready: { status: "True" },
    next: requeueAfter(60),
  },
  "tolerates a cluster that is not Ready without limit if the toleration has no time": {
    given: selectedBefore(["b"], { tolerations: [{ operator: "Exists" }] }, aCluster("a"), notReady("b", 99_999)),
    selected: ["b"],
    decisions: { b: { reason: "KeptTolerated", expected: "tolerated without limit" } },
    next: done,
  },
  "requeues at least once a day": {
    given: selectedBefore(
      ["b"],
      { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 9_000_000 }] },
      aCluster("a"),
      notReady("b", 10),
    ),
    selected: ["b"],
    next: requeueAfter(86_400),
  },
  "treats a tolerated time beyond the year 9999 as no limit": {
    given: selectedBefore(
      ["b"],
      { tolerations: [{ operator: "Exists", tolerationSeconds: Number.MAX_SAFE_INTEGER }] },
      aCluster("a"),
      notReady("b", 10),
    ),
    selected: ["b"],
    next: done,
  },
  "evicts at once from a cluster that is not Ready if the tolerated time is 0": {
    given: selectedBefore(
      ["b"],
      { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 0 }] },
      aCluster("a"),
      notReady("b", 0),
    ),
    selected: ["a"],
  },
  "selects no cluster if none fits any more": {
    given: selectedBefore(["a"], {}, notReady("a", 301)),
    selected: [],
    ready: { status: "False", reason: "NoSuitableClusters" },
  },
  "keeps a selected cluster that is cordoned": {
    given: selectedBefore(["b"], {}, aCluster("a"), aCluster("b", { spec: { unschedulable: true } })),
    selected: ["b"],
    decisions: { b: { reason: "KeptUnschedulable", rule: "unschedulable", actual: "unschedulable=true" } },
    next: done,
  },
  "keeps a selected cluster with a NoSchedule taint": {
    given: selectedBefore(["b"], {}, aCluster("a"), tainted("b", "NoSchedule")),
    selected: ["b"],
    decisions: { b: { reason: "KeptUnschedulable", actual: "taint k=v:NoSchedule" } },
  },
  "evicts from a cluster with a NoExecute taint": {
    given: selectedBefore(["b"], {}, aCluster("a"), tainted("b", "NoExecute", ago(0))),
    selected: ["a"],
    reasons: { b: "UntoleratedTaint" },
  },
  "counts the tolerated time of a NoExecute taint from its timeAdded": {
    given: selectedBefore(
      ["b"],
      { tolerations: [{ key: "k", operator: "Equal", value: "v", tolerationSeconds: 60 }] },
      aCluster("a"),
      tainted("b", "NoExecute", ago(20)),
    ),
    selected: ["b"],
    decisions: { b: { reason: "KeptTolerated", rule: "tolerations", until: "2030-01-01T12:00:40Z" } },
    next: requeueAfter(40),
  },
  "evicts when the tolerated time of a NoExecute taint is over": {
    given: selectedBefore(
      ["b"],
      { tolerations: [{ key: "k", operator: "Equal", value: "v", tolerationSeconds: 60 }] },
      aCluster("a"),
      tainted("b", "NoExecute", ago(60)),
    ),
    selected: ["a"],
  },
  "counts the tolerated time of a taint without timeAdded from the first observation": {
    given: given(
      aPlacement(
        { tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 60 }] },
        {
          status: {
            selectedClusters: ["b"],
            observedGeneration: 1,
            decisions: [
              {
                cluster: "b",
                selected: true,
                reason: "KeptTolerated",
                actual: "taint k=v:NoExecute",
                until: "2030-01-01T12:00:25Z",
                message: "",
              },
            ],
          },
        },
      ),
      aCluster("a"),
      tainted("b", "NoExecute"),
    ),
    selected: ["b"],
    next: requeueAfter(25),
  },
  "restarts the tolerated time of a taint without timeAdded when the placement changes": {
    given: given(
      aPlacement(
        { tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 90 }] },
        {
          status: {
            selectedClusters: ["b"],
            observedGeneration: 0,
            decisions: [
              {
                cluster: "b",
                selected: true,
                reason: "KeptTolerated",
                actual: "taint k=v:NoExecute",
                until: "2030-01-01T12:00:25Z",
                message: "",
              },
            ],
          },
        },
      ),
      tainted("b", "NoExecute"),
    ),
    selected: ["b"],
    next: requeueAfter(90),
  },
  "keeps selected clusters that only observations speak against": {
    given: selectedBefore(
      ["a", "b", "c"],
      {
        strategy: "Spread",
        resources: { cpu: "4" },
        capabilityRequirements: [{ type: "gpu" }],
        workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
      },
      aCluster("a", { spec: { capabilities: [{ type: "gpu" }] }, status: { allocatable: { cpu: "1" } } }),
      aCluster("b"),
      aCluster("c", { spec: { capabilities: [{ type: "gpu" }] }, status: { apis: [] } }),
    ),
    selected: ["a", "b", "c"],
    reasons: { a: "KeptUnschedulable", b: "KeptUnschedulable", c: "KeptUnschedulable" },
  },
  "evicts from clusters that a user excludes": {
    given: selectedBefore(
      ["a", "b", "c", "d"],
      {
        strategy: "Spread",
        clusterNames: ["a", "b", "c", "e"],
        locationSelector: { matchExpressions: [{ key: "bad", operator: "DoesNotExist" }] },
        capabilityRequirements: [{ type: "compute" }],
        affinity: { clusterAntiAffinity: { required: [{ matchLabels: { worse: "1" } }] } },
      },
      aCluster("a", { labels: { bad: "1" } }),
      aCluster("b", { spec: { capabilities: [{ type: "compute", available: false }] } }),
      aCluster("c", { labels: { worse: "1" } }),
      aCluster("d"),
      aCluster("e"),
    ),
    selected: ["e"],
    reasons: { a: "SelectorMismatch", b: "CapabilityMissing", c: "AntiAffinityMatch", d: "NotListed" },
  },
  "replaces a selected cluster that is no longer registered": {
    given: selectedBefore(["gone"], {}, aCluster("a")),
    selected: ["a"],
  },

  // number of clusters
  "drops the worst cluster if fewer are requested": {
    given: selectedBefore(
      ["a", "b", "c"],
      { strategy: "Affinity", numberOfClusters: 2, preferredClusters: ["c"] },
      aCluster("a"),
      aCluster("b"),
      aCluster("c"),
    ),
    selected: ["a", "c"],
    reasons: { b: "NotSelected" },
  },
  "drops a cordoned cluster first if fewer are requested": {
    given: selectedBefore(
      ["a", "b"],
      { numberOfClusters: 1, preferredClusters: ["a"] },
      aCluster("a", { spec: { unschedulable: true } }),
      aCluster("b"),
    ),
    selected: ["b"],
    reasons: { a: "Unschedulable" },
  },
  "adds the best cluster if more are requested": {
    given: selectedBefore(
      ["c"],
      { strategy: "Affinity", numberOfClusters: 2, preferredClusters: ["b"] },
      aCluster("a"),
      aCluster("b"),
      aCluster("c"),
    ),
    selected: ["b", "c"],
  },
  "selects all clusters that fit if more are requested, and reports that": {
    given: withoutStatus({ numberOfClusters: 3 }, aCluster("a"), aCluster("b"), notReady("c", 1)),
    selected: ["a", "b"],
    ready: {
      status: "True",
      message: "RoundRobin selected a, b; 3 clusters are requested, other clusters: 1 NotReady",
    },
  },

  // strategies and scores
  "RoundRobin selects the least loaded cluster": {
    given: {
      ...withoutStatus({}, aCluster("a"), aCluster("b"), aCluster("c")),
      load: new Map([
        ["a", 3],
        ["b", 1],
        ["c", 1],
      ]),
    },
    selected: ["b"],
  },
  "RoundRobin selects several of the least loaded clusters": {
    given: {
      ...withoutStatus({ numberOfClusters: 2 }, aCluster("a"), aCluster("b"), aCluster("c")),
      load: new Map([["a", 1]]),
    },
    selected: ["b", "c"],
  },
  "RoundRobin ranks a preferred cluster before a less loaded one": {
    given: { ...withoutStatus({ preferredClusters: ["a"] }, aCluster("a"), aCluster("b")), load: new Map([["a", 3]]) },
    selected: ["a"],
  },
  "RoundRobin ignores the size of clusters that fit": {
    given: {
      ...withoutStatus(
        { resources: { cpu: "1" } },
        aCluster("a", { status: { allocatable: { cpu: "99" } } }),
        aCluster("b", { status: { allocatable: { cpu: "1" } } }),
      ),
      load: new Map([["a", 1]]),
    },
    selected: ["b"],
  },
  "Spread selects all clusters that fit": {
    given: withoutStatus({ strategy: "Spread" }, aCluster("c"), aCluster("a"), notReady("b", 1)),
    selected: ["a", "c"],
  },
  "Spread selects the requested number, first in the domains with the fewest clusters": {
    given: withoutStatus(
      {
        strategy: "Spread",
        numberOfClusters: 3,
        preferredClusters: ["e2"],
        spreadConstraints: [{ topologyKey: "region" }],
      },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
      us("u2"),
    ),
    selected: ["e1", "e2", "u1"],
  },
  "does not exceed the maxSkew of a strict spread constraint": {
    given: withoutStatus(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "region", maxSkew: 1 }] },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "u1"],
    decisions: {
      e3: {
        reason: "SkewTooLarge",
        score: 0,
        message:
          "fits, but would violate spreadConstraints[region]: a skew of at most 1 is allowed, the cluster has region=eu",
      },
    },
  },
  "selects clusters up to the given maxSkew": {
    given: withoutStatus(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "region", maxSkew: 2 }] },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "e3", "u1"],
    ready: { message: "Spread selected e1, e2, e3, u1" },
  },
  "reports by how much it exceeds a maxSkew with ScheduleAnyway": {
    given: withoutStatus(
      {
        strategy: "Spread",
        spreadConstraints: [{ topologyKey: "region", maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway" }],
      },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "e3", "u1"],
    ready: { message: "Spread selected e1, e2, e3, u1; the skew over region is 2, which exceeds 1" },
  },
  "satisfies two spread constraints at once": {
    given: withoutStatus(
      {
        strategy: "Spread",
        numberOfClusters: 2,
        spreadConstraints: [{ topologyKey: "region" }, { topologyKey: "zone" }],
      },
      eu("e1", "1"),
      eu("e2", "2"),
      aCluster("u1", { labels: { region: "us", zone: "1" } }),
      aCluster("u2", { labels: { region: "us", zone: "2" } }),
    ),
    selected: ["e1", "u2"],
  },
  "rejects clusters without the label of a strict spread constraint": {
    given: withoutStatus(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "rack" }] },
      aCluster("a"),
      aCluster("b", { labels: { rack: "1" } }),
    ),
    selected: ["b"],
    decisions: { a: { reason: "TopologyKeyMissing", rule: "spreadConstraints[rack]", actual: "no rack" } },
  },
  "does not require the label of a spread constraint with ScheduleAnyway": {
    given: withoutStatus(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway" }] },
      aCluster("a"),
      aCluster("b", { labels: { rack: "1" } }),
    ),
    selected: ["a", "b"],
  },
  "keeps selected clusters that exceed a strict skew": {
    given: selectedBefore(
      ["e1", "e2", "e3"],
      { strategy: "Spread", numberOfClusters: 3, spreadConstraints: [{ topologyKey: "region" }] },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "e3"],
    ready: { message: "Spread selected e1, e2, e3; the skew over region is 3, which exceeds 1" },
  },
  "drops a cluster from the domain with the most clusters": {
    given: selectedBefore(
      ["e1", "e2", "u1"],
      { strategy: "Spread", numberOfClusters: 2, spreadConstraints: [{ topologyKey: "region" }] },
      eu("e1"),
      eu("e2"),
      us("u1"),
    ),
    selected: ["e1", "u1"],
  },
  "adds the weights of preferred affinity and anti-affinity terms": {
    given: withoutStatus(
      {
        strategy: "Affinity",
        affinity: {
          clusterAffinity: {
            preferred: [
              { weight: 1, term: byRegion },
              { weight: 100, term: { matchLabels: { tier: "gold" } } },
            ],
          },
          clusterAntiAffinity: { preferred: [{ weight: 30, term: { matchLabels: { noisy: "1" } } }] },
        },
      },
      eu("a"),
      aCluster("b", { labels: { tier: "gold", noisy: "1" } }),
      aCluster("c", { labels: { region: "eu", noisy: "1" } }),
    ),
    selected: ["b"],
    decisions: {
      a: { score: 1, parts: [{ name: "affinity region=eu", value: 1 }] },
      b: {
        score: 70,
        parts: [
          { name: "affinity tier=gold", value: 100 },
          { name: "antiAffinity noisy=1", value: -30 },
        ],
      },
      c: { score: -29 },
    },
  },
  "prefers clusters with optional capabilities": {
    given: withoutStatus(
      { strategy: "Affinity", capabilityRequirements: [{ type: "gpu", required: false }] },
      aCluster("a"),
      aCluster("b", { spec: { capabilities: [{ type: "gpu" }] } }),
    ),
    selected: ["b"],
    decisions: { b: { parts: [{ name: "capability gpu", value: 10 }] } },
  },
  "prefers a cluster that is not degraded": {
    given: withoutStatus(
      {},
      aCluster("a", { status: { nodes: { ready: 1, total: 3 } } }),
      aCluster("b", { status: { nodes: { ready: 3, total: 3 } } }),
    ),
    selected: ["b"],
    decisions: { a: { parts: [{ name: "degraded", value: -25 }] } },
  },
  "prefers clusters with more allocatable resources, in steps": {
    given: withoutStatus(
      { strategy: "Affinity", resources: { cpu: "2" } },
      aCluster("a", { status: { allocatable: { cpu: "2" } } }),
      aCluster("b", { status: { allocatable: { cpu: "4" } } }),
      aCluster("c", { status: { allocatable: { cpu: "10" } } }),
      aCluster("d", { status: { allocatable: { cpu: "20" } } }),
      aCluster("e", { status: { allocatable: { cpu: "200" } } }),
    ),
    selected: ["d"],
    decisions: { a: { score: 4 }, b: { score: 6 }, c: { score: 8 }, d: { score: 10 }, e: { score: 10 } },
  },
  "scores the hint of a preferred cluster": {
    given: hinted({ "tmc.kcp.io/preferred-cluster": "b" }, { strategy: "Affinity" }, aCluster("a"), aCluster("b")),
    selected: ["b"],
    decisions: {
      a: { parts: [{ name: "clusterHint", value: 25 }] },
      b: { parts: [{ name: "clusterHint", value: 100 }] },
    },
  },
  "scores the hint of a cluster to avoid": {
    given: hinted({ "tmc.kcp.io/avoid-cluster": "a" }, {}, aCluster("a"), aCluster("b")),
    selected: ["b"],
    decisions: {
      a: { parts: [{ name: "clusterHint", value: 0 }] },
      b: { parts: [{ name: "clusterHint", value: 50 }] },
    },
  },
  "scores the hint of a preferred location": {
    given: hinted({ "tmc.kcp.io/preferred-location": "eu" }, { strategy: "Affinity" }, us("a"), eu("b")),
    selected: ["b"],
    decisions: {
      a: { parts: [{ name: "locationHint", value: 30 }] },
      b: { parts: [{ name: "locationHint", value: 100 }] },
    },
  },
  "does not select a hinted cluster that does not fit": {
    given: hinted({ "tmc.kcp.io/preferred-cluster": "b" }, {}, aCluster("a"), notReady("b", 1)),
    selected: ["a"],
  },

  // evictAfterSeconds of the registration
  "evicts after the evictAfterSeconds of the registration": {
    given: selectedBefore(
      ["b"],
      {},
      aCluster("a"),
      aCluster("b", { ready: "False", since: ago(30), spec: { evictAfterSeconds: 30 } }),
    ),
    selected: ["a"],
    reasons: { b: "NotReady" },
    next: done,
  },
  "tolerates a cluster that is not Ready for the evictAfterSeconds of the registration if the placement has no toleration":
    {
      given: selectedBefore(
        ["b"],
        {},
        aCluster("a"),
        aCluster("b", { ready: "False", since: ago(400), spec: { evictAfterSeconds: 600 } }),
      ),
      selected: ["b"],
      decisions: { b: { reason: "KeptTolerated", expected: "tolerated for 600 s", until: "2030-01-01T12:03:20Z" } },
      next: requeueAfter(200),
    },
  "prefers the placement's toleration over the evictAfterSeconds of the registration": {
    given: selectedBefore(
      ["b"],
      { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 60 }] },
      aCluster("a"),
      aCluster("b", { ready: "False", since: ago(30), spec: { evictAfterSeconds: 0 } }),
    ),
    selected: ["b"],
    decisions: { b: { reason: "KeptTolerated", until: "2030-01-01T12:00:30Z" } },
    next: requeueAfter(30),
  },

  // failback
  "does not fail back before the waiting time is over, and reports when it will": {
    given: given(
      aPlacement(
        { failback: { afterSeconds: 240 } },
        {
          status: {
            selectedClusters: ["b"],
            failback: [{ cluster: "a", reason: "NotReady", since: ago(900), standIn: "b", fittingSince: ago(40) }],
          },
        },
      ),
      aCluster("a"),
      aCluster("b"),
    ),
    selected: ["b"],
    reasons: { a: "FailingBack", b: "Selected" },
    decisions: {
      a: {
        rule: "failback",
        expected: "240 s",
        until: "2030-01-01T12:03:20Z",
        message: "fits; failback moves back to it when it has fit for 240 s",
      },
    },
    next: requeueAfter(200),
  },
  "fails back when the waiting time is over": {
    given: given(
      aPlacement(
        { failback: { afterSeconds: 240 } },
        {
          status: {
            selectedClusters: ["b"],
            failback: [{ cluster: "a", reason: "NotReady", since: ago(900), standIn: "b", fittingSince: ago(240) }],
          },
        },
      ),
      aCluster("a"),
      aCluster("b"),
    ),
    selected: ["a"],
    reasons: { a: "Selected", b: "NotSelected" },
    next: done,
  },
};
