import { isDeepStrictEqual } from "node:util";
import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";
import { canonicalJson, fieldAt, isJsonObject } from "../../model/json.ts";
import { earliestOf, latestOf } from "../../model/timestamp.ts";

/**
 * Aggregates one field of the copies' statuses; a value is undefined where a copy does not have the field, and the result is
 * undefined to omit it. `isComplete` says whether all target clusters are included.
 */
export type FieldRule = (values: readonly (Json | undefined)[], isComplete: boolean) => Json | undefined;

/** The sum of counts. */
export const sum: FieldRule = (values) => {
  const numbers = values.filter((value) => typeof value === "number");
  return numbers.length === 0 ? undefined : numbers.reduce((total, each) => total + each, 0);
};

/** Omits a field that means nothing outside its cluster. */
export const omitted: FieldRule = () => undefined;

export const earliestTime: FieldRule = (values) => earliestOf(values.map(asText));
export const latestTime: FieldRule = (values) => latestOf(values.map(asText));

/** The latest time once all target clusters report one. */
export const latestTimeOnceAll: FieldRule = (values, isComplete) =>
  isComplete && values.every((value) => value !== undefined) ? latestOf(values.map(asText)) : undefined;

/** The first value of the ranking that any cluster reports; a cluster without the field counts as `initial`. */
export function worstValue({ ranking, initial }: Readonly<{ ranking: readonly string[]; initial: string }>): FieldRule {
  return (values) => {
    const reported = values.map((value) => asText(value) ?? initial);
    return ranking.find((each) => reported.includes(each)) ?? equalOnly(values, true);
  };
}

/** The smallest quantity of each name that all clusters have. */
export const smallestQuantities: FieldRule = (values) => {
  const maps = values.map((value) => (isJsonObject(value) ? value : {}));
  const names = new Set(maps.flatMap((map) => Object.keys(map)));
  const entries = [...names].flatMap((name): [string, Json][] => {
    const quantities = maps.map((map) => fieldAt(map, name));
    if (!quantities.every(isQuantity)) return [];
    const [smallest] = quantities.toSorted(
      // Equal quantities may have different notations; comparing the text makes the result deterministic.
      (one, other) =>
        compareQuantities(parseQuantity(one), parseQuantity(other)) ||
        compareStrings(canonicalJson(one), canonicalJson(other)),
    );
    return smallest === undefined ? [] : [[name, smallest]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

/** The union of lists, sorted. */
export const unionOfLists: FieldRule = (values) => {
  const lists = values.filter((value) => Array.isArray(value));
  // A single list keeps its order.
  if (lists.length < 2) return lists[0];
  const entries = new Map(lists.flat().map((entry) => [canonicalJson(entry), entry]));
  return [...entries].toSorted(byKey).map(([, entry]) => entry);
};

/** The union of the load balancer addresses. */
export const unionOfAddresses: FieldRule = (values) => {
  const loadBalancers = values.filter(isJsonObject);
  if (loadBalancers.length < 2) return loadBalancers[0];
  const ingress = unionOfLists(
    loadBalancers.map((each) => fieldAt(each, "ingress")),
    true,
  );
  return ingress === undefined ? {} : { ingress };
};

/** The value if all clusters report the same; of objects, the fields that are equal. */
export const equalOnly: FieldRule = (values) => {
  const [first, ...others] = values;
  if (others.every((value) => isDeepStrictEqual(value, first))) return first;
  return values.every(isJsonObject) ? byField(values, equalOnly) : undefined;
};

/** Like `equalOnly`; of lists, the entries that all clusters have. */
export const intersection: FieldRule = (values) => {
  if (!values.every((value) => Array.isArray(value))) {
    return values.every(isJsonObject) ? byField(values, intersection) : equalOnly(values, true);
  }
  const [first = [], ...others] = values;
  const texts = others.map((list) => new Set(list.map(canonicalJson)));
  const shared = first.filter((entry) => texts.every((each) => each.has(canonicalJson(entry))));
  return shared.length === 0 && first.length > 0 ? undefined : shared;
};

/** All fields and list entries that any cluster reports; where values differ, the first cluster's. */
export const union: FieldRule = (values) => {
  const reported = values.filter((value) => value !== undefined);
  const [first] = reported;
  if (reported.length > 1 && reported.every(isJsonObject)) return byField(reported, union);
  if (reported.length < 2 || !reported.every((value) => Array.isArray(value))) return first;
  return [...new Map(reported.flat().map((entry) => [canonicalJson(entry), entry] as const)).values()];
};

function byField(objects: readonly JsonObject[], rule: FieldRule): JsonObject | undefined {
  const names = new Set(objects.flatMap((object) => Object.keys(object)));
  const entries = [...names].flatMap((name): [string, Json][] => {
    const value = rule(
      objects.map((object) => fieldAt(object, name)),
      true,
    );
    return value === undefined ? [] : [[name, value]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const asText = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);
