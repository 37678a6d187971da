import { performance } from "node:perf_hooks";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { decidePlacement } from "../../lib/placement/decide.ts";
import { type ClusterFacts, clusterFacts, type ObservedPlacement } from "../../lib/placement/observed.ts";
import { cpuMsSince } from "./load.ts";
import type { BenchReport, Goal, Row, Table } from "./report.ts";
import type { Settings } from "./settings.ts";
import { percentile } from "./statistics.ts";

const clusterCount = 1000;
const leastPerSecond = 5_000;
const mostP99Ms = 2;
const nowMs = Date.parse("2030-01-01T12:00:00Z");
const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString();

type Spec = WorkloadPlacement["spec"];
type Case = Readonly<{ name: string; isGoal: boolean; spec: Spec; held?: boolean }>;

const term = (key: string, ...values: string[]) => ({ matchExpressions: [{ key, operator: "In" as const, values }] });

/** Each strategy as plainly as it is used most, and each with many facts. */
const cases: readonly Case[] = [
  { name: "RoundRobin", isGoal: true, spec: { strategy: "RoundRobin" } },
  {
    name: "RoundRobin, one region and a capability",
    isGoal: true,
    spec: {
      strategy: "RoundRobin",
      locationSelector: { matchLabels: { region: "region-3" } },
      capabilityRequirements: [{ type: "gpu", required: true }],
    },
  },
  {
    name: "Spread, 5 over regions, strict",
    isGoal: true,
    spec: {
      strategy: "Spread",
      numberOfClusters: 5,
      spreadConstraints: [{ topologyKey: "region", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }],
    },
  },
  {
    name: "Spread, 50 over regions and zones, strict",
    isGoal: false,
    spec: {
      strategy: "Spread",
      numberOfClusters: 50,
      spreadConstraints: [
        { topologyKey: "region", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" },
        { topologyKey: "zone", maxSkew: 2, whenUnsatisfiable: "ScheduleAnyway" },
      ],
    },
  },
  {
    name: "Affinity, 1 required and 2 preferred terms",
    isGoal: true,
    spec: {
      strategy: "Affinity",
      affinity: {
        clusterAffinity: {
          required: [term("tier", "gold", "silver")],
          preferred: [{ weight: 80, term: term("region", "region-1", "region-2") }],
        },
        clusterAntiAffinity: { preferred: [{ weight: 20, term: term("zone", "a") }] },
      },
    },
  },
  { name: "RoundRobin, settled before", isGoal: true, spec: { strategy: "RoundRobin" }, held: true },
];

/** Times the pure decision over a thousand clusters, as one placement after the other asks for it. */
export async function benchDecide({ turnMs, rounds }: Settings): Promise<BenchReport> {
  const clusters = Array.from({ length: clusterCount }, (_, index) => factsOf(index));
  // As uneven as a load is in the middle of a rollout; which of the least loaded is found last must not be luck.
  const load = new Map(clusters.map(({ name }, index) => [name, 1 + ((index * 7919) % 5)]));
  const rows: (Row & Figures)[] = [];
  const goals: Goal[] = [];
  for (const each of cases) {
    const observed = { ...observedOf(each, clusters), load };
    measure(observed, turnMs); // the machine code comes first
    const turns = Array.from({ length: rounds }, () => measure(observed, turnMs * 2));
    const figures = summarize(turns);
    rows.push({ what: each.name, ...figures });
    if (each.isGoal) goals.push(...goalsOf(each.name, figures));
  }
  return {
    name: "decide",
    tables: [{ title: `decisions over ${clusterCount} clusters`, columns, rows }],
    goals,
    notes: [],
  };
}

const columns: Table["columns"] = [
  { key: "what", label: "placement" },
  { key: "decisions", label: "decisions" },
  { key: "perSecond", label: "decisions/s" },
  { key: "perCpuSecond", label: "per CPU s" },
  { key: "p50Ms", label: "p50 ms", digits: 3 },
  { key: "p99Ms", label: "p99 ms", digits: 3 },
  { key: "selected", label: "chosen" },
];

type Turn = Readonly<{
  timesMs: readonly number[];
  durationMs: number;
  cpuMs: number;
  selected: number;
}>;
type Figures = Readonly<{
  decisions: number;
  perSecond: number;
  perCpuSecond: number;
  p50Ms: number;
  p99Ms: number;
  selected: number;
}>;

function measure(observed: ObservedPlacement, turnMs: number): Turn {
  const timesMs: number[] = [];
  let selected = 0;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  let last = began;
  while (last - began < turnMs) {
    // Each placement is another one, whose spec nobody has read yet.
    const placement = { ...observed.placement, spec: { ...observed.placement.spec } };
    selected = decidePlacement({ ...observed, placement }).status.selectedClusters?.length ?? 0;
    const now = performance.now();
    timesMs.push(now - last);
    last = now;
  }
  return { timesMs, durationMs: last - began, cpuMs: cpuMsSince(cpuBefore), selected };
}

function summarize(turns: readonly Turn[]): Figures {
  const timesMs = turns.flatMap((turn) => turn.timesMs);
  const sum = (of: (turn: Turn) => number): number => turns.reduce((total, turn) => total + of(turn), 0);
  return {
    decisions: timesMs.length,
    perSecond: (timesMs.length * 1000) / sum(({ durationMs }) => durationMs),
    perCpuSecond: (timesMs.length * 1000) / sum(({ cpuMs }) => cpuMs),
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
    selected: turns[0]?.selected ?? 0,
  };
}

function goalsOf(name: string, { perSecond, perCpuSecond, p99Ms }: Figures): Goal[] {
  const rate = (value: number): string => Math.round(value).toLocaleString("en-US");
  return [
    {
      what: `decisions/s: ${name}`,
      goal: `≥ ${rate(leastPerSecond)}`,
      got: `${rate(perSecond)} (${rate(perCpuSecond)} per CPU second)`,
      met: perSecond >= leastPerSecond,
    },
    {
      what: `p99: ${name}`,
      goal: `< ${mostP99Ms} ms`,
      got: `${p99Ms.toFixed(2)} ms`,
      met: p99Ms < mostP99Ms,
    },
  ];
}

function observedOf({ spec, held = false }: Case, clusters: readonly ClusterFacts[]): ObservedPlacement {
  const placement: WorkloadPlacement = {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name: "web", generation: 1, resourceVersion: "1" },
    spec,
  };
  const fresh = { placement, clusters, nowMs };
  return held ? { ...fresh, placement: { ...placement, status: decidePlacement(fresh).status } } : fresh;
}

/** Clusters in 20 regions of 3 zones; of each hundred some are not ready, cordoned or tainted. */
function factsOf(index: number): ClusterFacts {
  const isReady = index % 50 !== 7;
  return clusterFacts({
    metadata: {
      name: `cluster-${String(index).padStart(4, "0")}`,
      labels: {
        region: `region-${index % 20}`,
        zone: "abc".charAt(index % 3),
        tier: ["gold", "silver", "bronze"][index % 7 === 0 ? 0 : index % 2 === 0 ? 1 : 2] ?? "",
        "topology.kubernetes.io/region": `region-${index % 20}`,
      },
      creationTimestamp: at(-7200),
    },
    spec: {
      location: `region-${index % 20}`,
      unschedulable: index % 100 === 13,
      taints: index % 100 === 17 ? [{ key: "maintenance", effect: "NoSchedule", timeAdded: at(-60) }] : [],
      capabilities: index % 3 === 0 ? [{ type: "gpu", version: "12.4" }] : [{ type: "compute" }],
    },
    status: {
      conditions: [
        {
          type: "Ready",
          status: isReady ? "True" : "False",
          reason: isReady ? "ClusterReady" : "ClusterUnhealthy",
          message: "",
          lastTransitionTime: at(-3600),
        },
      ],
      apis: [{ groupVersion: "apps/v1", kinds: ["Deployment"] }],
      allocatable: { cpu: "64", memory: "256Gi" },
      capabilitiesDetected: at(-60),
    },
  });
}
