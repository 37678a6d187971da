import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { Condition } from "../../../lib/model/condition.ts";
import { done, type Next, requeueAfter } from "../../../lib/model/next.ts";
import type { Decision } from "../../../lib/placement/explain.ts";
import type { ClusterFacts, Observed } from "../../../lib/placement/observed.ts";
import type { DecisionReason } from "../../../lib/placement/reasons.ts";
import { aCluster, ago, aPlacement, now } from "./builders.ts";

type Row = Readonly<{
  given: Observed;
  selected: readonly string[];
  reasons?: Readonly<Record<string, DecisionReason>>;
  says?: Readonly<Record<string, Partial<Decision>>>;
  ready?: Partial<Condition>;
  messageStarts?: string;
  next?: Next;
}>;

type Spec = WorkloadPlacement["spec"];
const given = (placement: WorkloadPlacement, ...clusters: readonly ClusterFacts[]): Observed => ({
  placement,
  clusters,
  nowMs: now,
});
const fresh = (spec: Spec, ...clusters: readonly ClusterFacts[]): Observed => given(aPlacement(spec), ...clusters);
const settledOn = (selected: readonly string[], spec: Spec, ...clusters: readonly ClusterFacts[]): Observed =>
  given(aPlacement(spec, { selected }), ...clusters);
const hinted = (annotations: Record<string, string>, spec: Spec, ...clusters: readonly ClusterFacts[]): Observed =>
  given(aPlacement(spec, { annotations }), ...clusters);

const eu = (name: string, zone = "") => aCluster(name, { labels: { region: "eu", ...(zone === "" ? {} : { zone }) } });
const us = (name: string) => aCluster(name, { labels: { region: "us" } });
const tainted = (name: string, effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute", timeAdded?: string) =>
  aCluster(name, {
    spec: { taints: [{ key: "k", value: "v", effect, ...(timeAdded === undefined ? {} : { timeAdded }) }] },
  });
const down = (name: string, seconds: number) => aCluster(name, { ready: "False", since: ago(seconds) });
const byRegion = { matchLabels: { region: "eu" } };

/** Facts and what follows from them; each name is a rule. */
export const rows: Readonly<Record<string, Row>> = {
  // nothing special
  "takes the first of equals": {
    given: fresh({}, aCluster("b"), aCluster("a")),
    selected: ["a"],
    reasons: { a: "Selected", b: "NotSelected" },
    says: {
      a: { rule: "RoundRobin", score: 0, message: "chosen by RoundRobin" },
      b: { message: "fits, but RoundRobin chose others" },
    },
    ready: { status: "True", reason: "PlacementReady", message: "RoundRobin chose a", observedGeneration: 1 },
    next: done,
  },
  "says that there is no cluster": {
    given: fresh({}),
    selected: [],
    ready: { status: "False", reason: "NoClusters", message: "no cluster is registered" },
    next: done,
  },

  // filters, one by one
  "stays away from a cluster that is being unregistered": {
    given: settledOn(["a"], {}, aCluster("a", { deleting: true }), aCluster("b")),
    selected: ["b"],
    reasons: { a: "Deleting" },
  },
  "takes only named clusters, and says which name does not exist": {
    given: fresh({ clusterNames: ["b", "nowhere"], numberOfClusters: 3 }, aCluster("a"), aCluster("b")),
    selected: ["b"],
    reasons: { a: "NotListed", b: "Selected", nowhere: "NotFound" },
    says: { nowhere: { selected: false, rule: "clusterNames" } },
    ready: { message: "RoundRobin chose b; 3 clusters are wanted, of the others there are: 1 NotFound, 1 NotListed" },
  },
  "says that a name does not exist even where no cluster does": {
    given: fresh({ clusterNames: ["nowhere"] }),
    selected: [],
    reasons: { nowhere: "NotFound" },
    ready: { reason: "NoSuitableClusters", message: "0 of 0 clusters fit: 1 NotFound" },
  },
  "takes clusters that match the selector": {
    given: fresh({ locationSelector: byRegion }, us("a"), eu("b"), aCluster("c")),
    selected: ["b"],
    reasons: { a: "SelectorMismatch", c: "SelectorMismatch" },
    says: {
      a: {
        rule: "locationSelector[region]",
        expected: "region=eu",
        actual: "region=us",
        message: "locationSelector[region] asks for region=eu, the cluster has region=us",
      },
      c: { actual: "region=somewhere" },
    },
  },
  "understands every operator of a selector": {
    given: fresh(
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
    says: {
      b: { expected: "tier!=base", actual: "tier=base" },
      c: { expected: "gold", actual: "no gold" },
      d: { expected: "!old", actual: "old=1" },
    },
  },
  "selects by a key that is derived from the location": {
    given: fresh(
      { locationSelector: { matchLabels: { zone: "us-west-2a" } } },
      aCluster("a", { spec: { location: "us-west-2a" } }),
    ),
    selected: ["a"],
  },
  "keeps what it has when a selector cannot be read, and names it": {
    given: settledOn(
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
      down("b", 9999),
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
  "names a term of the affinity that cannot be read": {
    given: fresh({ affinity: { clusterAffinity: { required: [{ matchLabels: { "a b": "c" } }] } } }, aCluster("a")),
    selected: [],
    reasons: { a: "InvalidPlacement" },
    ready: { reason: "InvalidSelector" },
    messageStarts: "spec.affinity.clusterAffinity.required[0].matchLabels: key: Invalid value",
  },
  "names an amount that cannot be read": {
    given: fresh({ resources: { cpu: "lots" } }, aCluster("a")),
    selected: [],
    ready: { reason: "InvalidResources" },
    messageStarts: 'spec.resources.cpu: "lots": quantities must match',
  },
  "must match one of the required terms": {
    given: fresh(
      { affinity: { clusterAffinity: { required: [{ matchLabels: { tier: "gold" } }, byRegion] } } },
      us("a"),
      eu("b"),
    ),
    selected: ["b"],
    reasons: { a: "AffinityMismatch" },
    says: { a: { rule: "affinity.clusterAffinity", expected: "tier=gold or region=eu", actual: "no tier" } },
  },
  "must match none of the required terms to avoid": {
    given: fresh(
      { affinity: { clusterAntiAffinity: { required: [byRegion, { matchLabels: { x: "y" } }] } } },
      eu("a"),
      us("b"),
    ),
    selected: ["b"],
    reasons: { a: "AntiAffinityMatch" },
    says: { a: { expected: "region=eu", actual: "region=eu" } },
  },
  "needs a required capability": {
    given: fresh(
      { capabilityRequirements: [{ type: "gpu" }] },
      aCluster("a"),
      aCluster("b", { spec: { capabilities: [{ type: "gpu" }] } }),
    ),
    selected: ["b"],
    reasons: { a: "CapabilityMissing" },
    says: { a: { rule: "capabilityRequirements[gpu]", expected: "gpu", actual: "no gpu" } },
  },
  "believes the owner who says that a detected capability is not available": {
    given: fresh(
      { capabilityRequirements: [{ type: "gpu", required: true }] },
      aCluster("a", {
        spec: { capabilities: [{ type: "gpu", available: false }] },
        status: { capabilities: [{ type: "gpu" }] },
      }),
      aCluster("b", { status: { capabilities: [{ type: "gpu" }] } }),
    ),
    selected: ["b"],
    says: { a: { reason: "CapabilityMissing", actual: "gpu declared as not available" } },
  },
  "gives the truer reason where nobody could look yet": {
    given: fresh(
      { capabilityRequirements: [{ type: "gpu" }] },
      aCluster("a", { ready: "never", status: { capabilitiesDetected: undefined } }),
    ),
    selected: [],
    reasons: { a: "NotReady" },
  },
  "never rejects for a capability that is not required": {
    given: fresh({ capabilityRequirements: [{ type: "gpu", required: false }] }, aCluster("a")),
    selected: ["a"],
  },
  "needs the version of a capability": {
    given: fresh(
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
    says: { b: { expected: "gpu 12.4 or later", actual: "gpu v12.3.9" }, c: { actual: "gpu of no known version" } },
  },
  "needs the types of its workloads served": {
    given: fresh(
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
    says: { a: { message: "does not serve example.com/v1 Widget, which workloadSelector.workloadTypes asks for" } },
  },
  "leaves no cluster out for a custom type that it can be given, but for one that it has to come with": {
    given: fresh(
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
  "takes a cluster whose types are not known only behind one whose types are": {
    given: fresh(
      { strategy: "Affinity", workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] } },
      aCluster("a", { status: { apis: undefined } }),
      aCluster("b"),
    ),
    selected: ["b"],
    says: { a: { reason: "NotSelected", score: -10, parts: [{ name: "apisUnknown", value: -10 }] } },
  },
  "sends no new work to a cluster that is not Ready": {
    given: fresh({}, down("a", 1), aCluster("b", { ready: "Unknown" }), aCluster("c", { ready: "never" })),
    selected: [],
    reasons: { a: "NotReady", b: "NotReady", c: "NotReady" },
    says: {
      a: { message: "not ready: the cluster has Ready=False (ClusterUnhealthy)" },
      c: { actual: "Ready=Unknown (NeverSeen)" },
    },
    ready: { status: "False", reason: "NoSuitableClusters", message: "0 of 3 clusters fit: 3 NotReady" },
    next: done,
  },
  "sends no new work to a cordoned cluster": {
    given: fresh({}, aCluster("a", { spec: { unschedulable: true } }), aCluster("b")),
    selected: ["b"],
    reasons: { a: "Unschedulable" },
  },
  "sends no new work to a tainted cluster": {
    given: fresh(
      { strategy: "Spread" },
      tainted("a", "NoSchedule"),
      tainted("b", "NoExecute"),
      tainted("c", "PreferNoSchedule"),
    ),
    selected: ["c"],
    reasons: { a: "UntoleratedTaint", b: "UntoleratedTaint" },
    says: { a: { actual: "taint k=v:NoSchedule" }, c: { parts: [{ name: "preferNoSchedule", value: -50 }] } },
  },
  "bears what it says that it bears": {
    given: fresh(
      { strategy: "Spread", tolerations: [{ key: "k", operator: "Exists" }] },
      tainted("a", "NoSchedule"),
      tainted("b", "NoExecute"),
      tainted("c", "PreferNoSchedule"),
    ),
    selected: ["a", "b", "c"],
    says: { c: { score: 0 } },
  },
  "sends no new work to where it would have to leave again": {
    given: fresh(
      { tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 60 }] },
      tainted("a", "NoExecute", ago(1)),
    ),
    selected: [],
    reasons: { a: "UntoleratedTaint" },
  },
  "needs room": {
    given: fresh(
      { strategy: "Spread", resources: { cpu: "4", memory: "8Gi" } },
      aCluster("a", { status: { allocatable: { cpu: "3900m", memory: "64Gi" } } }),
      aCluster("b", { status: { allocatable: { cpu: "4000m", memory: "8192Mi" } } }),
      aCluster("c", { status: { allocatable: undefined } }),
      aCluster("d", { status: { allocatable: { cpu: "99", memory: "8191Mi" } } }),
    ),
    selected: ["b", "c"],
    reasons: { a: "InsufficientResources", d: "InsufficientResources" },
    says: {
      a: { rule: "resources.cpu", expected: "4 cpu", actual: "3900m cpu" },
      b: { parts: [{ name: "headroom", value: 4 }] },
      c: { parts: [{ name: "headroom", value: 5 }] },
    },
  },
  "gives the reason of the first rule that fails": {
    given: fresh(
      { locationSelector: byRegion, resources: { cpu: "99" } },
      aCluster("a", { ready: "False", labels: { region: "us" } }),
    ),
    selected: [],
    reasons: { a: "SelectorMismatch" },
  },

  // what is chosen stays
  "stays where it is when a better cluster appears": {
    given: settledOn(["b"], { strategy: "Affinity", preferredClusters: ["a"] }, aCluster("a"), aCluster("b")),
    selected: ["b"],
    says: { a: { reason: "NotSelected", score: 50 } },
  },
  "stays on a cluster that is not Ready for as long as that is tolerated": {
    given: settledOn(["b"], {}, aCluster("a"), down("b", 100)),
    selected: ["b"],
    says: {
      b: {
        reason: "KeptTolerated",
        rule: "Ready",
        expected: "tolerated for 300 s",
        actual: "Ready=False (ClusterUnhealthy)",
        until: "2030-01-01T12:03:20Z",
        message: "kept for as long as it is tolerated that the cluster has Ready=False (ClusterUnhealthy)",
      },
    },
    ready: { status: "True" },
    next: requeueAfter(200),
  },
  "leaves a cluster that is not Ready at the very second": {
    given: settledOn(["b"], {}, aCluster("a"), down("b", 300)),
    selected: ["a"],
    reasons: { b: "NotReady" },
    next: done,
  },
  "stays to the last second": {
    given: settledOn(["b"], {}, aCluster("a"), down("b", 299.5)),
    selected: ["b"],
    next: requeueAfter(1),
  },
  "bears a cluster that is not Ready for as long as the placement says": {
    given: settledOn(
      ["b"],
      {
        tolerations: [
          { key: "tmc.kcp.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1000 },
        ],
      },
      aCluster("a"),
      down("b", 900),
    ),
    selected: ["b"],
    next: requeueAfter(100),
  },
  "bears a cluster that is not Ready for ever when told so": {
    given: settledOn(["b"], { tolerations: [{ operator: "Exists" }] }, aCluster("a"), down("b", 99_999)),
    selected: ["b"],
    says: { b: { reason: "KeptTolerated", expected: "tolerated for ever" } },
    next: done,
  },
  "looks again at least once a day": {
    given: settledOn(
      ["b"],
      { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 9_000_000 }] },
      aCluster("a"),
      down("b", 10),
    ),
    selected: ["b"],
    next: requeueAfter(86_400),
  },
  "bears for ever what it bears for longer than anyone can count": {
    given: settledOn(
      ["b"],
      { tolerations: [{ operator: "Exists", tolerationSeconds: Number.MAX_SAFE_INTEGER }] },
      aCluster("a"),
      down("b", 10),
    ),
    selected: ["b"],
    next: done,
  },
  "leaves at once when it bears nothing": {
    given: settledOn(
      ["b"],
      { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 0 }] },
      aCluster("a"),
      down("b", 0),
    ),
    selected: ["a"],
  },
  "is empty when nothing is left that fits": {
    given: settledOn(["a"], {}, down("a", 301)),
    selected: [],
    ready: { status: "False", reason: "NoSuitableClusters" },
  },
  "stays on a cordoned cluster": {
    given: settledOn(["b"], {}, aCluster("a"), aCluster("b", { spec: { unschedulable: true } })),
    selected: ["b"],
    says: { b: { reason: "KeptUnschedulable", rule: "unschedulable", actual: "unschedulable=true" } },
    next: done,
  },
  "stays on a cluster that is tainted NoSchedule": {
    given: settledOn(["b"], {}, aCluster("a"), tainted("b", "NoSchedule")),
    selected: ["b"],
    says: { b: { reason: "KeptUnschedulable", actual: "taint k=v:NoSchedule" } },
  },
  "leaves a cluster that is tainted NoExecute": {
    given: settledOn(["b"], {}, aCluster("a"), tainted("b", "NoExecute", ago(0))),
    selected: ["a"],
    reasons: { b: "UntoleratedTaint" },
  },
  "counts the seconds of a NoExecute taint from when it was added": {
    given: settledOn(
      ["b"],
      { tolerations: [{ key: "k", operator: "Equal", value: "v", tolerationSeconds: 60 }] },
      aCluster("a"),
      tainted("b", "NoExecute", ago(20)),
    ),
    selected: ["b"],
    says: { b: { reason: "KeptTolerated", rule: "tolerations", until: "2030-01-01T12:00:40Z" } },
    next: requeueAfter(40),
  },
  "leaves when the seconds of a NoExecute taint are over": {
    given: settledOn(
      ["b"],
      { tolerations: [{ key: "k", operator: "Equal", value: "v", tolerationSeconds: 60 }] },
      aCluster("a"),
      tainted("b", "NoExecute", ago(60)),
    ),
    selected: ["a"],
  },
  "counts the seconds from when the taint was first seen, where nobody wrote down when it was added": {
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
  "counts anew when the placement has been changed": {
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
  "stays where an observation alone speaks against it": {
    given: settledOn(
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
  "leaves where a person speaks against it": {
    given: settledOn(
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
  "forgets a cluster that is no longer registered": {
    given: settledOn(["gone"], {}, aCluster("a")),
    selected: ["a"],
  },

  // how many
  "drops the worst when fewer are wanted": {
    given: settledOn(
      ["a", "b", "c"],
      { strategy: "Affinity", numberOfClusters: 2, preferredClusters: ["c"] },
      aCluster("a"),
      aCluster("b"),
      aCluster("c"),
    ),
    selected: ["a", "c"],
    reasons: { b: "NotSelected" },
  },
  "drops first what takes no new work": {
    given: settledOn(
      ["a", "b"],
      { numberOfClusters: 1, preferredClusters: ["a"] },
      aCluster("a", { spec: { unschedulable: true } }),
      aCluster("b"),
    ),
    selected: ["b"],
    reasons: { a: "Unschedulable" },
  },
  "adds the best when more are wanted": {
    given: settledOn(
      ["c"],
      { strategy: "Affinity", numberOfClusters: 2, preferredClusters: ["b"] },
      aCluster("a"),
      aCluster("b"),
      aCluster("c"),
    ),
    selected: ["b", "c"],
  },
  "takes what there is when too few fit, and says so": {
    given: fresh({ numberOfClusters: 3 }, aCluster("a"), aCluster("b"), down("c", 1)),
    selected: ["a", "b"],
    ready: {
      status: "True",
      message: "RoundRobin chose a, b; 3 clusters are wanted, of the others there are: 1 NotReady",
    },
  },

  // strategies and scores
  "deals to the least loaded": {
    given: {
      ...fresh({}, aCluster("a"), aCluster("b"), aCluster("c")),
      load: new Map([
        ["a", 3],
        ["b", 1],
        ["c", 1],
      ]),
    },
    selected: ["b"],
  },
  "deals several to the least loaded": {
    given: {
      ...fresh({ numberOfClusters: 2 }, aCluster("a"), aCluster("b"), aCluster("c")),
      load: new Map([["a", 1]]),
    },
    selected: ["b", "c"],
  },
  "puts a preferred cluster before a less loaded one": {
    given: { ...fresh({ preferredClusters: ["a"] }, aCluster("a"), aCluster("b")), load: new Map([["a", 3]]) },
    selected: ["a"],
  },
  "deals to large and small clusters alike": {
    given: {
      ...fresh(
        { resources: { cpu: "1" } },
        aCluster("a", { status: { allocatable: { cpu: "99" } } }),
        aCluster("b", { status: { allocatable: { cpu: "1" } } }),
      ),
      load: new Map([["a", 1]]),
    },
    selected: ["b"],
  },
  "spreads over all that fit": {
    given: fresh({ strategy: "Spread" }, aCluster("c"), aCluster("a"), down("b", 1)),
    selected: ["a", "c"],
  },
  "spreads over as many as are wanted, first where there are fewest": {
    given: fresh(
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
  "leaves clusters out rather than exceed a strict skew": {
    given: fresh(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "region", maxSkew: 1 }] },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "u1"],
    says: {
      e3: {
        reason: "SkewTooLarge",
        score: 0,
        message: "fits, but would exceed spreadConstraints[region]: a skew of at most 1, the cluster has region=eu",
      },
    },
  },
  "allows as much skew as is wished": {
    given: fresh(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "region", maxSkew: 2 }] },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "e3", "u1"],
    ready: { message: "Spread chose e1, e2, e3, u1" },
  },
  "says by how much it exceeds a skew that is only preferred": {
    given: fresh(
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
    ready: { message: "Spread chose e1, e2, e3, u1; the skew over region is 2, more than 1" },
  },
  "keeps to two keys at once": {
    given: fresh(
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
  "needs the key of a strict constraint": {
    given: fresh(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "rack" }] },
      aCluster("a"),
      aCluster("b", { labels: { rack: "1" } }),
    ),
    selected: ["b"],
    says: { a: { reason: "TopologyKeyMissing", rule: "spreadConstraints[rack]", actual: "no rack" } },
  },
  "does not need the key of a constraint that is only preferred": {
    given: fresh(
      { strategy: "Spread", spreadConstraints: [{ topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway" }] },
      aCluster("a"),
      aCluster("b", { labels: { rack: "1" } }),
    ),
    selected: ["a", "b"],
  },
  "stays although its choice has become uneven": {
    given: settledOn(
      ["e1", "e2", "e3"],
      { strategy: "Spread", numberOfClusters: 3, spreadConstraints: [{ topologyKey: "region" }] },
      eu("e1"),
      eu("e2"),
      eu("e3"),
      us("u1"),
    ),
    selected: ["e1", "e2", "e3"],
    ready: { message: "Spread chose e1, e2, e3; the skew over region is 3, more than 1" },
  },
  "drops from where there are most": {
    given: settledOn(
      ["e1", "e2", "u1"],
      { strategy: "Spread", numberOfClusters: 2, spreadConstraints: [{ topologyKey: "region" }] },
      eu("e1"),
      eu("e2"),
      us("u1"),
    ),
    selected: ["e1", "u1"],
  },
  "weighs preferred terms, for and against": {
    given: fresh(
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
    says: {
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
  "prefers optional capabilities": {
    given: fresh(
      { strategy: "Affinity", capabilityRequirements: [{ type: "gpu", required: false }] },
      aCluster("a"),
      aCluster("b", { spec: { capabilities: [{ type: "gpu" }] } }),
    ),
    selected: ["b"],
    says: { b: { parts: [{ name: "capability gpu", value: 10 }] } },
  },
  "prefers a cluster whose nodes are ready": {
    given: fresh(
      {},
      aCluster("a", { status: { nodes: { ready: 1, total: 3 } } }),
      aCluster("b", { status: { nodes: { ready: 3, total: 3 } } }),
    ),
    selected: ["b"],
    says: { a: { parts: [{ name: "degraded", value: -25 }] } },
  },
  "prefers room, counted in steps": {
    given: fresh(
      { strategy: "Affinity", resources: { cpu: "2" } },
      aCluster("a", { status: { allocatable: { cpu: "2" } } }),
      aCluster("b", { status: { allocatable: { cpu: "4" } } }),
      aCluster("c", { status: { allocatable: { cpu: "10" } } }),
      aCluster("d", { status: { allocatable: { cpu: "20" } } }),
      aCluster("e", { status: { allocatable: { cpu: "200" } } }),
    ),
    selected: ["d"],
    says: { a: { score: 4 }, b: { score: 6 }, c: { score: 8 }, d: { score: 10 }, e: { score: 10 } },
  },
  "follows the hint of a preferred cluster": {
    given: hinted({ "tmc.kcp.io/preferred-cluster": "b" }, { strategy: "Affinity" }, aCluster("a"), aCluster("b")),
    selected: ["b"],
    says: { a: { parts: [{ name: "clusterHint", value: 25 }] }, b: { parts: [{ name: "clusterHint", value: 100 }] } },
  },
  "follows the hint of a cluster to avoid": {
    given: hinted({ "tmc.kcp.io/avoid-cluster": "a" }, {}, aCluster("a"), aCluster("b")),
    selected: ["b"],
    says: { a: { parts: [{ name: "clusterHint", value: 0 }] }, b: { parts: [{ name: "clusterHint", value: 50 }] } },
  },
  "follows the hint of a location": {
    given: hinted({ "tmc.kcp.io/preferred-location": "eu" }, { strategy: "Affinity" }, us("a"), eu("b")),
    selected: ["b"],
    says: { a: { parts: [{ name: "locationHint", value: 30 }] }, b: { parts: [{ name: "locationHint", value: 100 }] } },
  },
  "takes a hint as no more than a hint": {
    given: hinted({ "tmc.kcp.io/preferred-cluster": "b" }, {}, aCluster("a"), down("b", 1)),
    selected: ["a"],
  },

  // how long a cluster that is not Ready is borne
  "has work leave when the cluster's owner says so": {
    given: settledOn(
      ["b"],
      {},
      aCluster("a"),
      aCluster("b", { ready: "False", since: ago(30), spec: { evictAfterSeconds: 30 } }),
    ),
    selected: ["a"],
    reasons: { b: "NotReady" },
    next: done,
  },
  "bears it for as long as the cluster's owner says, when the placement does not": {
    given: settledOn(
      ["b"],
      {},
      aCluster("a"),
      aCluster("b", { ready: "False", since: ago(400), spec: { evictAfterSeconds: 600 } }),
    ),
    selected: ["b"],
    says: { b: { reason: "KeptTolerated", expected: "tolerated for 600 s", until: "2030-01-01T12:03:20Z" } },
    next: requeueAfter(200),
  },
  "bears it for as long as the placement says, whatever the cluster's owner does": {
    given: settledOn(
      ["b"],
      { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", tolerationSeconds: 60 }] },
      aCluster("a"),
      aCluster("b", { ready: "False", since: ago(30), spec: { evictAfterSeconds: 0 } }),
    ),
    selected: ["b"],
    says: { b: { reason: "KeptTolerated", until: "2030-01-01T12:00:30Z" } },
    next: requeueAfter(30),
  },

  // failback
  "returns no sooner than it was asked to, and says when": {
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
    says: {
      a: {
        rule: "failback",
        expected: "240 s",
        until: "2030-01-01T12:03:20Z",
        message: "fits; failback returns to it when it has done so for 240 s",
      },
    },
    next: requeueAfter(200),
  },
  "returns when its time has come": {
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
