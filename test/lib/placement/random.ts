import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { RegistrationInput, TaintEffect } from "../../../lib/placement/observed.ts";
import { ago, aPlacement, aRegistration } from "../../support/placement-builders.ts";

/** A seeded random number generator: the same seed gives the same facts. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** An integer from 0 to `end` - 1 (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * end);
  }

  /** True with a probability of 1 in `times`. */
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
      .map((value) => ({ value, position: this.below(1_000_000) }))
      .toSorted((a, b) => a.position - b.position)
      .map(({ value }) => value);
  }
}

export const clusterNames = ["a", "b", "c", "d", "e", "f"] as const;
const regions = ["eu", "us", "ap"] as const;
const effects: readonly [TaintEffect, ...TaintEffect[]] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** A random registration; every kind of fault can occur. */
export function randomRegistration(random: Random, name: string): RegistrationInput {
  const labels = Object.fromEntries(
    random.shuffle([
      ...(random.once(4) ? [] : [["region", random.pick(regions)]]),
      ...(random.once(2) ? [["tier", random.pick(["gold", "base"])]] : []),
      ...(random.once(2) ? [["zone", random.pick(["1", "2"])]] : []),
    ]),
  );
  return aRegistration(name, {
    labels,
    deleting: random.once(15),
    ready: random.once(3) ? random.pick(["False", "Unknown", "never"]) : "True",
    since: ago(random.below(600)),
    spec: {
      location: random.pick(["eu-west-1a", "us-east1-b", "aws:ap-1", "here"]),
      unschedulable: random.once(8),
      ...(random.once(6) ? { evictAfterSeconds: random.below(400) } : {}),
      taints: random.some(["k", "l"], 6).map((key) => ({
        key,
        value: random.pick(["v", ""]),
        effect: random.pick(effects),
        ...(random.once(2) ? {} : { timeAdded: ago(random.below(200)) }),
      })),
      capabilities: random.some(["compute", "gpu"]).map((type) => ({
        type,
        available: !random.once(5),
        ...(random.once(2) ? { version: random.pick(["1", "2.1"]) } : {}),
      })),
    },
    status: {
      apis: random.once(4) ? undefined : [{ groupVersion: "apps/v1", kinds: random.once(5) ? [] : ["Deployment"] }],
      allocatable: random.once(5) ? undefined : { cpu: random.pick(["1", "4", "16"]), memory: "8Gi" },
      nodes: { ready: random.below(3), total: 2 },
      capabilities: random.some(["gpu"], 3).map((type) => ({ type, version: "2" })),
      capabilitiesDetected: random.once(4) ? undefined : ago(1),
    },
  });
}

/** The same registration with its lists and maps in another order. */
export function reordered(random: Random, { metadata, spec, status }: RegistrationInput): RegistrationInput {
  return {
    metadata: { ...metadata, labels: Object.fromEntries(random.shuffle(Object.entries(metadata.labels ?? {}))) },
    spec: {
      ...spec,
      taints: random.shuffle(spec.taints ?? []),
      capabilities: random.shuffle(spec.capabilities ?? []),
    },
    status: { ...status, capabilities: random.shuffle(status?.capabilities ?? []) },
  };
}

/** A random placement, with or without selected clusters. */
export function randomPlacement(random: Random): WorkloadPlacement {
  const gold = { matchLabels: { tier: "gold" } };
  const region = {
    matchExpressions: [
      { key: "region", operator: "In" as const, values: random.once(20) ? [] : [random.pick(regions), "eu"] },
    ],
  };
  const spec: WorkloadPlacement["spec"] = {
    ...(random.once(4) ? {} : { strategy: random.pick(["RoundRobin", "Spread", "Affinity"]) }),
    ...(random.once(3)
      ? { locationSelector: random.pick([gold, region, { matchLabels: { zone: "1", tier: "gold" } }]) }
      : {}),
    ...(random.once(6) ? { clusterNames: [...random.some(clusterNames), "unregistered"] } : {}),
    ...(random.once(2) ? { numberOfClusters: 1 + random.below(4) } : {}),
    ...(random.once(6) ? { scoring: random.pick(["LeastAllocated", "MostAllocated"]) } : {}),
    ...(random.once(4) ? { preferredClusters: random.some(clusterNames) } : {}),
    ...(random.once(3)
      ? {
          capabilityRequirements: random.some(["compute", "gpu"]).map((type) => ({
            type,
            required: random.once(2),
            ...(random.once(3) ? { minVersion: "2" } : {}),
          })),
        }
      : {}),
    ...(random.once(3)
      ? {
          tolerations: random.some(["k", "l", "tmc.kcp.io/not-ready"]).map((key) => ({
            key,
            operator: random.pick(["Equal", "Exists"]),
            value: "v",
            ...(random.once(2) ? { tolerationSeconds: random.below(300) } : {}),
          })),
        }
      : {}),
    ...(random.once(4)
      ? {
          affinity: {
            clusterAffinity: {
              required: random.some([gold], 4),
              preferred: [{ weight: 1 + random.below(100), term: region }],
            },
            clusterAntiAffinity: {
              required: random.some([{ matchLabels: { zone: "2" } }], 4),
              preferred: [{ weight: 9, term: gold }],
            },
          },
        }
      : {}),
    ...(random.once(3)
      ? {
          spreadConstraints: random.some(["region", "zone"]).map((topologyKey) => ({
            topologyKey,
            maxSkew: 1 + random.below(2),
            whenUnsatisfiable: random.pick(["DoNotSchedule", "ScheduleAnyway"]),
          })),
        }
      : {}),
    ...(random.once(4) ? { resources: { cpu: random.pick(["500m", "2", "8"]) } } : {}),
    ...(random.once(4) ? { workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] } } : {}),
  };
  const selected = random.once(2) ? random.some(clusterNames, 3) : undefined;
  const failback = random.once(3) ? { afterSeconds: 1 + random.below(300) } : undefined;
  const targets = random
    .some(clusterNames, 4)
    .filter((name) => failback !== undefined && selected?.includes(name) === false)
    .map((cluster, index) => {
      const standIn = selected?.[index];
      return {
        cluster,
        reason: random.pick(["NotReady", "UntoleratedTaint", "Preferred"]),
        since: ago(random.below(900)),
        ...(standIn === undefined ? {} : { standIn }),
        ...(random.once(2) ? { fittingSince: ago(random.below(400)) } : {}),
      };
    });
  return aPlacement(failback === undefined ? spec : { ...spec, failback }, {
    ...(selected === undefined
      ? {}
      : { status: { selectedClusters: selected, ...(targets.length === 0 ? {} : { failback: targets }) } }),
    ...(random.once(5) ? { annotations: { "tmc.kcp.io/avoid-cluster": random.pick(clusterNames) } } : {}),
  });
}
