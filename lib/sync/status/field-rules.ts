import { isDeepStrictEqual } from "node:util";
import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";
import { canonicalJson, fieldAt, isJsonObject } from "../../model/json.ts";
import { earliestOf, latestOf } from "../../model/timestamp.ts";

/**
 * Makes one value of a field from what the copies have there, undefined for those that have nothing; undefined leaves the
 * field out. `isWhole` says whether every wanted cluster is among them.
 */
export type FieldRule = (values: readonly (Json | undefined)[], isWhole: boolean) => Json | undefined;

/** Numbers of things that each cluster has its own of. */
export const sum: FieldRule = (values) => {
  const numbers = values.filter((value) => typeof value === "number");
  return numbers.length === 0 ? undefined : numbers.reduce((all, each) => all + each, 0);
};

/** What means nothing outside its cluster. */
export const leftOut: FieldRule = () => undefined;

export const earliest: FieldRule = (values) => earliestOf(values.map(asText));
export const latest: FieldRule = (values) => latestOf(values.map(asText));

/** When the last of them came to it; nothing as long as one of them has not, or is not heard from. */
export const latestOnceAll: FieldRule = (values, isWhole) =>
  isWhole && values.every((value) => value !== undefined) ? latestOf(values.map(asText)) : undefined;

/** The first of these words that any cluster says; a cluster that says nothing is at the beginning. */
export function worstOf({ words, beginning }: Readonly<{ words: readonly string[]; beginning: string }>): FieldRule {
  return (values) => {
    const said = values.map((value) => asText(value) ?? beginning);
    return words.find((word) => said.includes(word)) ?? same(values, true);
  };
}

/** Of each amount the least; nothing of what some cluster has none of. */
export const leastQuantities: FieldRule = (values) => {
  const maps = values.map((value) => (isJsonObject(value) ? value : {}));
  const names = new Set(maps.flatMap((map) => Object.keys(map)));
  const entries = [...names].flatMap((name): [string, Json][] => {
    const amounts = maps.map((map) => fieldAt(map, name));
    if (!amounts.every(isQuantity)) return [];
    const [least] = amounts.toSorted(
      // Equal amounts may be written in two ways; the text decides, so that it is always the same.
      (one, other) =>
        compareQuantities(parseQuantity(one), parseQuantity(other)) ||
        compareStrings(canonicalJson(one), canonicalJson(other)),
    );
    return least === undefined ? [] : [[name, least]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

/** Every entry that any cluster has, once. */
export const unitedList: FieldRule = (values) => {
  const lists = values.filter((value) => Array.isArray(value));
  // The order of a single one is its own.
  if (lists.length < 2) return lists[0];
  const all = new Map(lists.flat().map((entry) => [canonicalJson(entry), entry]));
  return [...all].toSorted(byKey).map(([, entry]) => entry);
};

/** Every address that any cluster has given. */
export const unitedAddresses: FieldRule = (values) => {
  const all = values.filter(isJsonObject);
  if (all.length < 2) return all[0];
  const ingress = unitedList(
    all.map((each) => fieldAt(each, "ingress")),
    true,
  );
  return ingress === undefined ? {} : { ingress };
};

/** What all clusters say alike; of objects, what is alike in them. */
export const same: FieldRule = (values) => {
  const [first, ...others] = values;
  if (others.every((value) => isDeepStrictEqual(value, first))) return first;
  return values.every(isJsonObject) ? fieldByField(values, same) : undefined;
};

/** What all clusters say alike; of lists too, what is in all of them. */
export const common: FieldRule = (values) => {
  if (!values.every((value) => Array.isArray(value))) {
    return values.every(isJsonObject) ? fieldByField(values, common) : same(values, true);
  }
  const [first = [], ...others] = values;
  const texts = others.map((list) => new Set(list.map(canonicalJson)));
  const shared = first.filter((entry) => texts.every((each) => each.has(canonicalJson(entry))));
  return shared.length === 0 && first.length > 0 ? undefined : shared;
};

/** Whatever any cluster says; where they contradict each other, the first of them is right. */
export const united: FieldRule = (values) => {
  const said = values.filter((value) => value !== undefined);
  const [first] = said;
  if (said.length > 1 && said.every(isJsonObject)) return fieldByField(said, united);
  if (said.length < 2 || !said.every((value) => Array.isArray(value))) return first;
  return [...new Map(said.flat().map((entry) => [canonicalJson(entry), entry] as const)).values()];
};

function fieldByField(objects: readonly JsonObject[], rule: FieldRule): JsonObject | undefined {
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
