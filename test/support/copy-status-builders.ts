import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { aggregate } from "../../lib/sync/status/aggregate.ts";
import type { StatusCopy, StatusFacts } from "../../lib/sync/status/facts.ts";
import type { Sample } from "../lib/sync/status/samples.ts";

export const now = "2026-03-01T12:00:00Z";

/** The status of a sample with changed fields; undefined removes a field. */
export function altered(sample: Sample, fields: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject {
  const entries = Object.entries({ ...sample.status, ...fields });
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** A sample's status with one condition changed in some fields. */
export function withCondition(sample: Sample, type: string, fields: JsonObject): JsonObject {
  const conditions = (sample.status?.conditions ?? []) as JsonObject[];
  return altered(sample, {
    conditions: conditions.map((each) => (each.type === type ? { ...each, ...fields } : each)),
  });
}

export function aCopy(
  targetCluster: string,
  status: JsonObject | undefined,
  rest: Partial<StatusCopy> = {},
): StatusCopy {
  return { targetCluster, status, isCurrent: true, observedMs: 0, ...rest };
}

/** The facts of a workload of generation 7 whose copies are all on target clusters. */
export function factsOf(
  { apiVersion, kind }: Sample,
  copies: readonly StatusCopy[],
  rest: Partial<StatusFacts> = {},
): StatusFacts {
  const targets = copies.map(({ targetCluster }) => targetCluster);
  return { apiVersion, kind, generation: 7, previous: undefined, copies, targets, now, ...rest };
}

/** The aggregated status of a workload, given the status on each cluster. */
export function statusOf(
  sample: Sample,
  byCluster: Readonly<Record<string, JsonObject | undefined>>,
  rest: Partial<StatusFacts> = {},
): JsonObject {
  const copies = Object.entries(byCluster).map(([cluster, status]) => aCopy(cluster, status));
  return aggregate(factsOf(sample, copies, rest));
}
