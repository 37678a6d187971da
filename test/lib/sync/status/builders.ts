import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { aggregate } from "../../../../lib/sync/status/aggregate.ts";
import type { StatusCopy, StatusFacts } from "../../../../lib/sync/status/facts.ts";
import type { Sample } from "./samples.ts";

export const now = "2026-03-01T12:00:00Z";

/** A sample whose status differs in some fields; undefined takes a field away. */
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

export function aCopy(cluster: string, status: JsonObject | undefined, rest: Partial<StatusCopy> = {}): StatusCopy {
  return { cluster, status, isCurrent: true, seenMs: 0, ...rest };
}

/** The facts of a workload with these copies, all of them wanted and generation 7 of the workload. */
export function factsOf(
  { apiVersion, kind }: Sample,
  copies: readonly StatusCopy[],
  rest: Partial<StatusFacts> = {},
): StatusFacts {
  const wanted = copies.map(({ cluster }) => cluster);
  return { apiVersion, kind, generation: 7, previous: undefined, copies, wanted, now, ...rest };
}

/** The status of a workload of which each cluster says what is given for it. */
export function statusOf(
  sample: Sample,
  byCluster: Readonly<Record<string, JsonObject | undefined>>,
  rest: Partial<StatusFacts> = {},
): JsonObject {
  const copies = Object.entries(byCluster).map(([cluster, status]) => aCopy(cluster, status));
  return aggregate(factsOf(sample, copies, rest));
}
