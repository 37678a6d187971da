import { type Fields, isFields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "./api-errors.ts";
import { goJsonType, goValue } from "./go-text.ts";
import { fieldOf, isEqual, isList, setOwnField, withoutNulls } from "./json-value.ts";
import { boundLookup, builtinLookup, type PatchLookup } from "./patch-meta.ts";
import type { Schema } from "./schema.ts";

/**
 * Applies a strategic merge patch; unchanged parts are shared with the old object. With `builtin`, lists are merged as
 * the schema says. With `bound`, as in kcp for exported types, lists are replaced and undescribed maps and lists make
 * the patch fail. Errors have the codes and messages of an API server.
 */
export function strategicMerge<T extends KubeObject>(
  schema: Schema,
  original: T,
  patch: unknown,
  mode: "builtin" | "bound",
): T {
  if (patch === null) return original;
  if (!isFields(patch)) {
    const message = `json: cannot unmarshal ${goJsonType(patch)} into Go value of type map[string]interface {}`;
    throw new ApiFailure(400, "BadRequest", message);
  }
  const lookup = mode === "builtin" ? builtinLookup(schema) : boundLookup(schema, original);
  try {
    // The caller validates the result like any object from a client.
    return mergeMap(original, patch, lookup) as T;
  } catch (error) {
    if (error instanceof ApiFailure || !(error instanceof Error)) throw error;
    throw failureOf(error.message);
  }
}

const malformed = {
  primitiveList: "invalid patch format of primitive list",
  retainKeys: "invalid patch format of retainKeys",
  elementOrder: "invalid patch format of setElementOrder list",
};
const listOfLists = "lists of lists are not supported";

function failureOf(message: string): ApiFailure {
  if (Object.values(malformed).includes(message)) return new ApiFailure(400, "BadRequest", message);
  if (message === listOfLists) {
    return new ApiFailure(422, "Invalid", "the server rejected our request due to an error in our request", {});
  }
  return new ApiFailure(500, "", message);
}

const directiveField = "$patch";
const retainKeysField = "$retainKeys";
const deletePrefix = "$deleteFromPrimitiveList";
const orderPrefix = "$setElementOrder";

function mergeMap(original: Fields, patch: Fields, lookup: PatchLookup): Fields {
  if (Object.hasOwn(patch, directiveField)) return replaced(patch);

  const result: Record<string, unknown> = { ...retained(original, patch) };
  const done = mergeOrderedLists(result, patch, lookup);
  for (const [name, value] of Object.entries(patch)) {
    if (done.has(name) || name === retainKeysField) continue;
    const isDeletion = name.startsWith(deletePrefix);
    const field = isDeletion ? directiveTarget(name, deletePrefix, malformed.primitiveList) : name;
    const current = fieldOf(result, field);
    if (value === null) {
      delete result[field];
    } else if (isList(current) && isList(value)) {
      const { strategy, mergeKey, below } = lookup.list(field);
      setOwnField(result, field, mergedList(current, value, { strategy, mergeKey, below, isDeletion }));
    } else if (isFields(current) && isFields(value)) {
      const { strategy, below } = lookup.map(field);
      setOwnField(result, field, strategy === "replace" ? value : mergeMap(current, value, below));
    } else if (!isDeletion) {
      const plain = typeof value === "object" ? withoutDirectives(withoutNulls(value)) : value;
      if (plain === undefined) delete result[field];
      else setOwnField(result, field, plain);
    }
  }
  return result;
}

function replaced(patch: Fields): Fields {
  const directive = patch[directiveField];
  if (directive === "delete") return {};
  if (directive !== "replace") {
    throw new Error(`unknown patch type: ${goValue(directive)} in map: ${goValue(patch)}`);
  }
  const { [directiveField]: _, ...rest } = patch;
  return rest;
}

function retained(original: Fields, patch: Fields): Fields {
  if (!Object.hasOwn(patch, retainKeysField)) return original;
  const keys = patch[retainKeysField];
  if (!isList(keys)) throw new Error(malformed.retainKeys);
  const kept = new Set(keys);
  for (const [name, value] of Object.entries(patch)) {
    const isDirective = name === retainKeysField || name.startsWith(deletePrefix) || name.startsWith(orderPrefix);
    if (value !== null && !isDirective && !kept.has(name)) throw new Error(malformed.retainKeys);
  }
  return Object.fromEntries(Object.entries(original).filter(([name]) => kept.has(name)));
}

function directiveTarget(name: string, prefix: string, message: string): string {
  if (!name.startsWith(`${prefix}/`)) throw new Error(message);
  return name.slice(prefix.length + 1);
}

/** Merges the lists for which the patch has an order directive; returns the fields that are done. */
function mergeOrderedLists(result: Record<string, unknown>, patch: Fields, lookup: PatchLookup): Set<string> {
  const done = new Set<string>();
  for (const [name, order] of Object.entries(patch)) {
    if (!name.startsWith(orderPrefix)) continue;
    done.add(name);
    if (!isList(order)) throw badArgument("[]interface {}", order);
    const field = directiveTarget(name, orderPrefix, malformed.elementOrder);
    const current = listOrNothing(fieldOf(result, field));
    const changes = listOrNothing(fieldOf(patch, field));
    const { strategy, mergeKey, below } = lookup.list(field);
    checkOrder(changes ?? [], order, mergeKey);

    let merged: readonly unknown[];
    if (current !== undefined && changes !== undefined) {
      merged = mergedList(current, changes, { strategy, mergeKey, below, isDeletion: false });
    } else if (changes !== undefined) {
      merged = listWithoutDirectives(changes);
    } else if (current !== undefined) {
      merged = current;
    } else continue;

    const isMap = elementsAreMaps(current ?? [], changes ?? [], "no elements in any of the given slices");
    setOwnField(
      result,
      field,
      inPatchOrder(merged, { order, serverOrder: current ?? [], key: keyReader(mergeKey, isMap) }),
    );
    done.add(field);
  }
  return done;
}

function listOrNothing(value: unknown): readonly unknown[] | undefined {
  if (value === undefined || isList(value)) return value;
  throw badArgument("[]interface {}", value);
}

function badArgument(expected: string, actual: unknown): Error {
  return new Error(`expected a ${expected}, but received a ${goType(actual)}`);
}

function goType(value: unknown): string {
  if (value === null) return "%!s(<nil>)";
  if (isList(value)) return "[]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "boolean") return "bool";
  return isFields(value) ? "map[string]interface {}" : "string";
}

/** Checks that the items of a patch are in its order list, in the same order. */
function checkOrder(changes: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (changes.length === 0 || order.length === 0) return;
  const key = keyReader(mergeKey, mergeKey !== "");
  const patchItems = changes.filter((item) => !(isFields(item) && Object.hasOwn(item, directiveField)));
  let next = 0;
  for (const ordered of order) {
    if (next < patchItems.length && isEqual(key(patchItems[next]), key(ordered))) next += 1;
  }
  if (next < patchItems.length) {
    throw new Error(
      `The order in patch list:\n${goValue(changes)}\n doesn't match ${orderPrefix} list:\n${goValue(order)}\n`,
    );
  }
}

type ListRule = Readonly<{ strategy: string; mergeKey: string; below: PatchLookup; isDeletion: boolean }>;

function mergedList(original: readonly unknown[], patch: readonly unknown[], rule: ListRule): readonly unknown[] {
  const { strategy, mergeKey, below, isDeletion } = rule;
  if (strategy !== "merge" && !isDeletion) return patch;
  if (original.length === 0 && patch.length === 0) return original;
  const isMap = elementsAreMaps(original, patch);
  if (!isMap) {
    if (isDeletion) return original.filter((item) => !patch.includes(item));
    const merged = [...new Set([...original, ...patch])];
    return inPatchOrder(merged, { order: patch, serverOrder: original, key: keyReader("", false) });
  }
  if (mergeKey === "") throw new Error("cannot merge lists without merge key for map");

  const { kept, changes } = withSpecialItems(original, patch, mergeKey);
  const key = keyReader(mergeKey, true);
  const indexes = new Map(kept.map((item, index) => [textOf(key(item)), index]));
  const merged: unknown[] = [...kept];
  for (const change of changes) {
    const index = indexes.get(textOf(key(change)));
    const current = index === undefined ? undefined : merged[index];
    if (index !== undefined && isFields(current)) {
      merged[index] = mergeMap(current, change, below);
    } else {
      indexes.set(textOf(key(change)), merged.length);
      merged.push(change);
    }
  }
  return inPatchOrder(merged, { order: changes, serverOrder: kept, key });
}

/** Handles list items with a directive: they delete the matching item, or replace the whole list. */
function withSpecialItems(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): { kept: readonly unknown[]; changes: readonly Fields[] } {
  const changes: Fields[] = [];
  const deleted = new Set<string>();
  let replace = false;
  for (const item of patch) {
    if (!isFields(item)) continue;
    if (!Object.hasOwn(item, directiveField)) {
      changes.push(item);
      continue;
    }
    switch (item[directiveField]) {
      case "delete":
        deleted.add(textOf(keyReader(mergeKey, true)(item)));
        break;
      case "replace":
        replace = true;
        break;
      case "merge":
        throw new Error("merging lists cannot yet be specified in the patch");
      default:
        throw new Error(`unknown patch type: ${goValue(item[directiveField])} in map: ${goValue(item)}`);
    }
  }
  if (replace) return { kept: changes, changes: [] };
  const kept = original.filter((item) => !isFields(item) || !deleted.has(textOf(fieldOf(item, mergeKey))));
  return { kept, changes };
}

const textOf = (key: unknown): string => JSON.stringify(key) ?? "";

function elementsAreMaps(left: readonly unknown[], right: readonly unknown[], emptyMessage?: string): boolean {
  const [first, ...others] = [...left, ...right].map(goType);
  if (first === undefined) {
    if (emptyMessage !== undefined) throw new Error(emptyMessage);
    return false;
  }
  if (first === "[]interface {}") throw new Error(listOfLists);
  if (others.some((type) => type !== first)) {
    throw new Error(`list element types are not identical: ${goValue([left, right])}`);
  }
  return isFields(left[0] ?? right[0]);
}

function keyReader(mergeKey: string, isMap: boolean): (item: unknown) => unknown {
  if (!isMap) return (item) => item;
  return (item) => {
    if (!isFields(item)) throw badArgument("map[string]interface {}", item);
    if (!Object.hasOwn(item, mergeKey)) {
      throw new Error(`map: ${goValue(item)} does not contain declared merge key: ${mergeKey}`);
    }
    return item[mergeKey];
  };
}

type Ordering = Readonly<{
  order: readonly unknown[];
  serverOrder: readonly unknown[];
  key: (item: unknown) => unknown;
}>;

/**
 * Sorts items in the order of the patch. Items that only the server has stay as close to their old position as
 * possible.
 */
function inPatchOrder(items: readonly unknown[], { order, serverOrder, key }: Ordering): readonly unknown[] {
  const rank = (list: readonly unknown[]): Map<string, number> => {
    const ranks = new Map<string, number>();
    for (const [index, item] of list.entries()) {
      const text = textOf(key(item));
      if (!ranks.has(text)) ranks.set(text, index);
    }
    return ranks;
  };
  const patchRanks = rank(order);
  const serverRanks = rank(serverOrder);
  const rankOf = (ranks: Map<string, number>, item: unknown): number => ranks.get(textOf(key(item))) ?? -1;
  const sorted = (list: readonly unknown[], ranks: Map<string, number>): unknown[] =>
    list.toSorted((a, b) => rankOf(ranks, a) - rankOf(ranks, b));

  const patched = sorted(
    items.filter((item) => rankOf(patchRanks, item) >= 0),
    patchRanks,
  );
  const serverOnly = sorted(
    items.filter((item) => rankOf(patchRanks, item) < 0),
    serverRanks,
  );
  const result: unknown[] = [];
  let next = 0;
  for (const item of patched) {
    const checked = rankOf(serverRanks, item);
    while (next < serverOnly.length && checked >= 0) {
      const other = rankOf(serverRanks, serverOnly[next]);
      if (other < 0 || other >= checked) break;
      result.push(serverOnly[next]);
      next += 1;
    }
    result.push(item);
  }
  return [...result, ...serverOnly.slice(next)];
}

/** Removes values with directives from a part of the patch that has no counterpart in the object. */
function withoutDirectives(value: unknown): unknown {
  if (isList(value)) return listWithoutDirectives(value);
  if (!isFields(value)) return value;
  if (Object.hasOwn(value, directiveField)) return undefined;
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const plain = withoutDirectives(inner);
    if (plain !== undefined) setOwnField(result, name, plain);
  }
  return result;
}

function listWithoutDirectives(items: readonly unknown[]): unknown[] {
  return items.map(withoutDirectives).filter((item) => item !== undefined);
}
