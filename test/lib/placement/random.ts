import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { Registration, TaintEffect } from "../../../lib/placement/observed.ts";
import { ago, aPlacement, aRegistration } from "./builders.ts";

/** Chance from a seed: the same seed, the same world. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 up to, but not including, `end` (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * end);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(values: T): T[number] {
    return values[this.below(values.length)];
  }

  some<T>(values: readonly T[], times = 2): T[] {
    return values.filter(() => this.once(times));
  }

  shuffle<T>(values: readonly T[]): T[] {
    return values
      .map((value) => ({ value, at: this.below(1_000_000) }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ value }) => value);
  }
}

/** The names that random worlds use. */
export const clusterNames = ["a", "b", "c", "d", "e", "f"] as const;
const regions = ["eu", "us", "ap"] as const;
const effects: readonly [TaintEffect, ...TaintEffect[]] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Some cluster of that name, with all that a cluster can have wrong. */
export function randomRegistration(chance: Chance, name: string): Registration {
  const labels = Object.fromEntries(
    chance.shuffle([
      ...(chance.once(4) ? [] : [["region", chance.pick(regions)]]),
      ...(chance.once(2) ? [["tier", chance.pick(["gold", "base"])]] : []),
      ...(chance.once(2) ? [["zone", chance.pick(["1", "2"])]] : []),
    ]),
  );
  return aRegistration(name, {
    labels,
    deleting: chance.once(15),
    ready: chance.once(3) ? chance.pick(["False", "Unknown", "never"]) : "True",
    since: ago(chance.below(600)),
    spec: {
      location: chance.pick(["eu-west-1a", "us-east1-b", "aws:ap-1", "here"]),
      unschedulable: chance.once(8),
      ...(chance.once(6) ? { evictAfterSeconds: chance.below(400) } : {}),
      taints: chance.some(["k", "l"], 6).map((key) => ({
        key,
        value: chance.pick(["v", ""]),
        effect: chance.pick(effects),
        ...(chance.once(2) ? {} : { timeAdded: ago(chance.below(200)) }),
      })),
      capabilities: chance.some(["compute", "gpu"]).map((type) => ({
        type,
        available: !chance.once(5),
        ...(chance.once(2) ? { version: chance.pick(["1", "2.1"]) } : {}),
      })),
    },
    status: {
      apis: chance.once(4) ? undefined : [{ groupVersion: "apps/v1", kinds: chance.once(5) ? [] : ["Deployment"] }],
      allocatable: chance.once(5) ? undefined : { cpu: chance.pick(["1", "4", "16"]), memory: "8Gi" },
      nodes: { ready: chance.below(3), total: 2 },
      capabilities: chance.some(["gpu"], 3).map((type) => ({ type, version: "2" })),
      capabilitiesDetected: chance.once(4) ? undefined : ago(1),
    },
  });
}

/** The same registration, written in another order. */
export function rewritten(chance: Chance, { metadata, spec, status }: Registration): Registration {
  return {
    metadata: { ...metadata, labels: Object.fromEntries(chance.shuffle(Object.entries(metadata.labels ?? {}))) },
    spec: {
      ...spec,
      taints: chance.shuffle(spec.taints ?? []),
      capabilities: chance.shuffle(spec.capabilities ?? []),
    },
    status: { ...status, capabilities: chance.shuffle(status?.capabilities ?? []) },
  };
}

/** Some placement, which may have chosen clusters before. */
export function randomPlacement(chance: Chance): WorkloadPlacement {
  const gold = { matchLabels: { tier: "gold" } };
  const region = {
    matchExpressions: [
      { key: "region", operator: "In" as const, values: chance.once(20) ? [] : [chance.pick(regions), "eu"] },
    ],
  };
  const spec: WorkloadPlacement["spec"] = {
    ...(chance.once(4) ? {} : { strategy: chance.pick(["RoundRobin", "Spread", "Affinity"]) }),
    ...(chance.once(3)
      ? { locationSelector: chance.pick([gold, region, { matchLabels: { zone: "1", tier: "gold" } }]) }
      : {}),
    ...(chance.once(6) ? { clusterNames: [...chance.some(clusterNames), "nowhere"] } : {}),
    ...(chance.once(2) ? { numberOfClusters: 1 + chance.below(4) } : {}),
    ...(chance.once(4) ? { preferredClusters: chance.some(clusterNames) } : {}),
    ...(chance.once(3)
      ? {
          capabilityRequirements: chance.some(["compute", "gpu"]).map((type) => ({
            type,
            required: chance.once(2),
            ...(chance.once(3) ? { minVersion: "2" } : {}),
          })),
        }
      : {}),
    ...(chance.once(3)
      ? {
          tolerations: chance.some(["k", "l", "tmc.kcp.io/not-ready"]).map((key) => ({
            key,
            operator: chance.pick(["Equal", "Exists"]),
            value: "v",
            ...(chance.once(2) ? { tolerationSeconds: chance.below(300) } : {}),
          })),
        }
      : {}),
    ...(chance.once(4)
      ? {
          affinity: {
            clusterAffinity: {
              required: chance.some([gold], 4),
              preferred: [{ weight: 1 + chance.below(100), term: region }],
            },
            clusterAntiAffinity: {
              required: chance.some([{ matchLabels: { zone: "2" } }], 4),
              preferred: [{ weight: 9, term: gold }],
            },
          },
        }
      : {}),
    ...(chance.once(3)
      ? {
          spreadConstraints: chance.some(["region", "zone"]).map((topologyKey) => ({
            topologyKey,
            maxSkew: 1 + chance.below(2),
            whenUnsatisfiable: chance.pick(["DoNotSchedule", "ScheduleAnyway"]),
          })),
        }
      : {}),
    ...(chance.once(4) ? { resources: { cpu: chance.pick(["500m", "2", "8"]) } } : {}),
    ...(chance.once(4) ? { workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] } } : {}),
  };
  const selected = chance.once(2) ? chance.some(clusterNames, 3) : undefined;
  const failback = chance.once(3) ? { afterSeconds: 1 + chance.below(300) } : undefined;
  const homes = chance
    .some(clusterNames, 4)
    .filter((name) => failback !== undefined && selected?.includes(name) === false)
    .map((cluster, at) => {
      const standIn = selected?.[at];
      return {
        cluster,
        reason: chance.pick(["NotReady", "UntoleratedTaint", "Preferred"]),
        since: ago(chance.below(900)),
        ...(standIn === undefined ? {} : { standIn }),
        ...(chance.once(2) ? { fittingSince: ago(chance.below(400)) } : {}),
      };
    });
  return aPlacement(failback === undefined ? spec : { ...spec, failback }, {
    ...(selected === undefined
      ? {}
      : { status: { selectedClusters: selected, ...(homes.length === 0 ? {} : { failback: homes }) } }),
    ...(chance.once(5) ? { annotations: { "tmc.kcp.io/avoid-cluster": chance.pick(clusterNames) } } : {}),
  });
}
