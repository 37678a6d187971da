import { isRecord } from "@tmc/kube/json.ts";
import { isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";

/** Amounts of resources in billionths, as in `Quantity`: exact, so that the order of additions does not matter. */
export type ReservedResources = Readonly<{ cpu: bigint; memory: bigint }>;

/** Finds what placements have reserved on a cluster; undefined if nothing. */
export type ReservedByCluster = Pick<ReadonlyMap<string, ReservedResources>, "get">;

export const nothingReserved: ReservedResources = { cpu: 0n, memory: 0n };

// Objects of a cache are never modified in place, so a parsed reservation stays valid as long as its spec lives.
const reservations = new WeakMap<object, ReservedResources>();

/** What a placement reserves on each of its clusters: `spec.resources`. Amounts that are not valid, or negative, count as none. */
export function reservationOf({ spec }: Readonly<{ metadata: unknown; spec?: unknown }>): ReservedResources {
  if (!isRecord(spec) || !isRecord(spec.resources)) return nothingReserved;
  const known = reservations.get(spec);
  if (known !== undefined) return known;
  const { cpu, memory } = spec.resources;
  const reservation = { cpu: nanosOf(cpu), memory: nanosOf(memory) };
  reservations.set(spec, reservation);
  return reservation;
}

/** Sums of the resources that placements have reserved on each cluster. */
export class ReservedSums {
  readonly #sums = new Map<string, ReservedResources>();

  /** Adds an amount on each of the clusters. */
  add(clusters: readonly string[], amount: ReservedResources): void {
    this.#change(clusters, amount, 1n);
  }

  /** Takes back an amount that was added. */
  subtract(clusters: readonly string[], amount: ReservedResources): void {
    this.#change(clusters, amount, -1n);
  }

  /** The sums without the part of one placement, which must not count against itself. */
  excluding(clusters: readonly string[], own: ReservedResources): ReservedByCluster {
    return {
      get: (name) => {
        const sum = this.#sums.get(name);
        if (sum === undefined || !clusters.includes(name)) return sum;
        return { cpu: sum.cpu - own.cpu, memory: sum.memory - own.memory };
      },
    };
  }

  #change(clusters: readonly string[], { cpu, memory }: ReservedResources, sign: 1n | -1n): void {
    if (cpu === 0n && memory === 0n) return;
    for (const name of clusters) {
      const before = this.#sums.get(name) ?? nothingReserved;
      const after = { cpu: before.cpu + sign * cpu, memory: before.memory + sign * memory };
      if (after.cpu === 0n && after.memory === 0n) this.#sums.delete(name);
      else this.#sums.set(name, after);
    }
  }
}

/** `one` and `other` together. */
export function addResources(one: ReservedResources, other: ReservedResources): ReservedResources {
  return { cpu: one.cpu + other.cpu, memory: one.memory + other.memory };
}

/**
 * What a pod requests, as kube-scheduler counts it: the larger of what its containers request together and what an init container
 * needs, where init containers that keep running (sidecars) count with everything that starts after them; and the overhead.
 */
export function requestsOfPod({ spec }: Readonly<{ metadata: unknown; spec?: unknown }>): ReservedResources {
  if (!isRecord(spec)) return nothingReserved;
  const { initContainers, containers, overhead, resources } = spec;
  let sidecars = nothingReserved;
  let largest = nothingReserved;
  for (const container of listOf(initContainers)) {
    const needs = addResources(sidecars, requestsOf(container));
    if (isRecord(container) && container.restartPolicy === "Always") sidecars = needs;
    largest = maxResources(largest, needs);
  }
  const running = listOf(containers).reduce<ReservedResources>(
    (sum, each) => addResources(sum, requestsOf(each)),
    sidecars,
  );
  const ofContainers = maxResources(running, largest);
  const ofPod = isRecord(resources) && isRecord(resources.requests) ? resources.requests : {};
  const requests = {
    cpu: ofPod.cpu === undefined ? ofContainers.cpu : nanosOf(ofPod.cpu),
    memory: ofPod.memory === undefined ? ofContainers.memory : nanosOf(ofPod.memory),
  };
  return addResources(requests, amountsIn(overhead));
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const requestsOf = (container: unknown): ReservedResources =>
  isRecord(container) && isRecord(container.resources) ? amountsIn(container.resources.requests) : nothingReserved;

const amountsIn = (amounts: unknown): ReservedResources =>
  isRecord(amounts) ? { cpu: nanosOf(amounts.cpu), memory: nanosOf(amounts.memory) } : nothingReserved;

const maxResources = (one: ReservedResources, other: ReservedResources): ReservedResources => ({
  cpu: one.cpu > other.cpu ? one.cpu : other.cpu,
  memory: one.memory > other.memory ? one.memory : other.memory,
});

function nanosOf(value: unknown): bigint {
  if (!isQuantity(value)) return 0n;
  const { nanos } = parseQuantity(value);
  return nanos > 0n ? nanos : 0n;
}
