import { type Fields, isFields } from "@tmc/kube/json.ts";
import {
  type FieldPath,
  type FieldSet,
  FieldSetBuilder,
  fieldElement,
  isEmptySet,
  keyElement,
  valueElement,
} from "./field-set.ts";
import { fieldOf, isEqual, isList, setOwnField } from "./json-value.ts";
import { describedMetadata } from "./patch-meta.ts";
import type { Schema } from "./schema.ts";

/**
 * A schema as field ownership sees it: scalars and atomic lists and maps have one owner; other values consist of parts
 * with different owners.
 */
export type Shape = Readonly<{
  /** Undefined for undescribed values: their maps are granular, their lists atomic. */
  schema: Schema | undefined;
  isRoot?: boolean;
}>;

export const shapeOf = (schema: Schema): Shape => ({ schema, isRoot: true });

function isAtomicMap({ schema }: Shape): boolean {
  return schema?.["x-kubernetes-map-type"] === "atomic";
}

/** The shape of a field, and whether the schema names it instead of only allowing it. */
export function fieldShape({ schema, isRoot }: Shape, name: string): { shape: Shape; isNamed: boolean } {
  const property =
    schema?.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
  if (isRoot === true && name === "metadata") return { shape: { schema: describedMetadata(property) }, isNamed: true };
  if (isRoot === true && (name === "apiVersion" || name === "kind")) return { shape: undescribed, isNamed: true };
  if (property !== undefined) return { shape: { schema: property }, isNamed: true };
  const further = schema?.additionalProperties;
  return { shape: typeof further === "object" ? { schema: further } : undescribed, isNamed: false };
}

export const itemShape = ({ schema }: Shape): Shape =>
  schema?.items === undefined ? undescribed : { schema: schema.items };

const undescribed: Shape = { schema: undefined };

/** Returns a function that identifies list items, or undefined for an atomic list. */
export function itemElement({ schema }: Shape): ((item: unknown) => string) | undefined {
  if (schema === undefined) return undefined;
  const keys = listKeys(schema);
  if (keys === undefined) return undefined;
  if (keys.length === 0) return valueElement;
  const defaults = keys.map((key) => schema.items?.properties?.[key]?.default);
  return (item) => {
    const values: Record<string, unknown> = {};
    if (isFields(item)) {
      for (const [index, key] of keys.entries()) {
        // A missing key counts with its default, for example a port's protocol.
        const value = fieldOf(item, key) ?? defaults[index];
        if (value !== undefined) values[key] = value;
      }
    }
    return keyElement(values);
  };
}

/** Keys of a list's items; an empty list for a set, undefined for an atomic list. */
function listKeys(schema: Schema): readonly string[] | undefined {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return [];
    case "map":
      return schema["x-kubernetes-list-map-keys"] ?? [];
    case "atomic":
      return undefined;
    default: {
      const strategy = schema["x-kubernetes-patch-strategy"];
      if (strategy !== "merge" && strategy !== "merge,retainKeys") return undefined;
      const key = schema["x-kubernetes-patch-merge-key"];
      return key === undefined ? [] : [key];
    }
  }
}

const isEmptyMap = (value: unknown): boolean => isFields(value) && Object.keys(value).length === 0;
const isFilledMap = (value: unknown): value is Fields => isFields(value) && Object.keys(value).length > 0;
const isFilledList = (value: unknown): value is readonly unknown[] => isList(value) && value.length > 0;

/** All fields of a value, as an applier owns them. */
export function fieldSetOf(shape: Shape, value: unknown): FieldSet {
  const builder = new FieldSetBuilder();
  collect(shape, value, [], builder);
  return builder.build();
}

function collect(shape: Shape, value: unknown, path: FieldPath, into: FieldSetBuilder): void {
  const element = isList(value) ? itemElement(shape) : undefined;
  if (isList(value) && element !== undefined) {
    const elements = value.map(element);
    const times = new Map<string, number>();
    for (const each of elements) times.set(each, (times.get(each) ?? 0) + 1);
    for (const [index, item] of value.entries()) {
      const each = elements[index] ?? "";
      const itemPath = [...path, each];
      // Items with equal keys are owned as a unit.
      if (times.get(each) === 1) collect(itemShape(shape), item, itemPath, into);
      into.insert(itemPath);
    }
  } else if (isFields(value) && !isAtomicMap(shape)) {
    for (const [name, inner] of Object.entries(value)) {
      const { shape: inside, isNamed } = fieldShape(shape, name);
      const innerPath = [...path, fieldElement(name)];
      collect(inside, inner, innerPath, into);
      if (inner === null || isEmptyMap(inner) || !isNamed) into.insert(innerPath);
    }
  } else if (value !== null) into.insert(path);
}

export type Comparison = Readonly<{ added: FieldSet; modified: FieldSet; removed: FieldSet }>;

/** Compares two values; each path is in at most one of the three sets. */
export function compareValues(shape: Shape, before: unknown, after: unknown): Comparison {
  const builders = { added: new FieldSetBuilder(), modified: new FieldSetBuilder(), removed: new FieldSetBuilder() };
  compare(shape, before, after, [], builders);
  return { added: builders.added.build(), modified: builders.modified.build(), removed: builders.removed.build() };
}

type Builders = Readonly<{ added: FieldSetBuilder; modified: FieldSetBuilder; removed: FieldSetBuilder }>;

function compare(shape: Shape, before: unknown, after: unknown, path: FieldPath, into: Builders): void {
  if (before === after) return;
  const element = isList(before) || isList(after) ? itemElement(shape) : undefined;
  const areLists = element !== undefined && (isFilledList(before) || isFilledList(after));
  const areMaps = !areLists && (isFilledMap(before) || isFilledMap(after)) && !isAtomicMap(shape);
  if (areLists) compareLists(shape, element, { before, after, path, into });
  else if (areMaps) compareMaps(shape, before, after, path, into);
  else if (before !== undefined && after !== undefined && !isEqual(before, after)) into.modified.insert(path);
  if (before === undefined) into.added.insert(path);
  else if (after === undefined) into.removed.insert(path);
}

function compareMaps(shape: Shape, before: unknown, after: unknown, path: FieldPath, into: Builders): void {
  const beforeMap = isFields(before) ? before : {};
  const afterMap = isFields(after) ? after : {};
  const step = (name: string): void => {
    const a = fieldOf(beforeMap, name);
    const b = fieldOf(afterMap, name);
    if (a !== b) compare(fieldShape(shape, name).shape, a, b, [...path, fieldElement(name)], into);
  };
  for (const name of Object.keys(beforeMap)) step(name);
  for (const name of Object.keys(afterMap)) if (!Object.hasOwn(beforeMap, name)) step(name);
}

type ListComparison = Readonly<{ before: unknown; after: unknown; path: FieldPath; into: Builders }>;

function compareLists(
  shape: Shape,
  element: (item: unknown) => string,
  { before, after, path, into }: ListComparison,
): void {
  const beforeItems = grouped(isList(before) ? before : [], element);
  const afterItems = grouped(isList(after) ? after : [], element);
  const inside = itemShape(shape);
  for (const each of new Set([...beforeItems.keys(), ...afterItems.keys()])) {
    const [a, b] = [beforeItems.get(each) ?? [], afterItems.get(each) ?? []];
    const itemPath = [...path, each];
    if (a.length <= 1 && b.length <= 1) {
      compare(inside, a[0], b[0], itemPath, into);
    } else if (a.length > 1 && b.length > 1) {
      if (!isEqual(a, b)) into.modified.insert(itemPath);
    } else if (a.length > 1) {
      if (b.length > 0) compare(inside, undefined, b[0], itemPath, into);
      into.removed.insert(itemPath);
    } else {
      if (a.length > 0) compare(inside, a[0], undefined, itemPath, into);
      into.added.insert(itemPath);
    }
  }
}

function grouped(items: readonly unknown[], element: (item: unknown) => string): Map<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  for (const item of items) {
    const each = element(item);
    const group = groups.get(each);
    if (group === undefined) groups.set(each, [item]);
    else group.push(item);
  }
  return groups;
}

/** Merges an applied value into the live one; live parts that are not applied are kept. */
export function mergeValues(shape: Shape, live: unknown, applied: unknown): unknown {
  if (applied === undefined || live === applied) return live;
  if (live === undefined) return applied;
  const element = isList(live) || isList(applied) ? itemElement(shape) : undefined;
  if (element !== undefined && (isFilledList(live) || isFilledList(applied))) {
    return mergeLists(shape, element, isList(live) ? live : [], isList(applied) ? applied : []);
  }
  if (!isList(live) && !isList(applied) && (isFilledMap(live) || isFilledMap(applied)) && !isAtomicMap(shape)) {
    // A change between map and scalar replaces the whole value.
    if (applied !== null && !isFields(applied)) return applied;
    return mergeMaps(shape, isFields(live) ? live : {}, isFields(applied) ? applied : {});
  }
  return applied;
}

function mergeMaps(shape: Shape, live: Fields, applied: Fields): Fields {
  const result: Record<string, unknown> = { ...live };
  for (const [name, value] of Object.entries(applied)) {
    const merged = mergeValues(fieldShape(shape, name).shape, fieldOf(live, name), value);
    if (merged !== undefined) setOwnField(result, name, merged);
  }
  return result;
}

/** Applied items keep their order; other live items keep their position between them. */
function mergeLists(
  shape: Shape,
  element: (item: unknown) => string,
  live: readonly unknown[],
  applied: readonly unknown[],
): readonly unknown[] {
  const inside = itemShape(shape);
  const liveElements = live.map(element);
  const appliedElements = applied.map(element);
  const liveItems = grouped(live, element);
  const appliedItems = new Map(applied.map((item, index) => [appliedElements[index] ?? "", item]));
  const shared = appliedElements.filter((each) => liveItems.has(each));
  const mergedElements = new Set<string>();
  const result: unknown[] = [];
  let nextShared = 0;
  const mergeApplied = (each: string): void => {
    mergedElements.add(each);
    const items = liveItems.get(each) ?? [];
    // Live items with equal keys are not merged.
    result.push(mergeValues(inside, items.length === 1 ? items[0] : undefined, appliedItems.get(each)));
    if (shared[nextShared] === each) nextShared += 1;
  };
  let [l, r] = [0, 0];
  while (l < live.length || r < applied.length) {
    const appliedElement = appliedElements[r];
    const liveElement = liveElements[l];
    if (liveElement !== undefined && appliedElement !== undefined) {
      if (liveElement === appliedElement) {
        mergeApplied(appliedElement);
        l += 1;
        r += 1;
        continue;
      }
      if (appliedItems.has(liveElement) && shared[nextShared] !== undefined && shared[nextShared] !== liveElement) {
        l += 1;
        continue;
      }
    }
    if (liveElement !== undefined) {
      if (!appliedItems.has(liveElement)) {
        result.push(live[l]);
        l += 1;
        continue;
      }
      if (mergedElements.has(liveElement)) l += 1;
    }
    if (appliedElement !== undefined) {
      mergeApplied(appliedElement);
      r += 1;
    }
  }
  return result;
}

/** Removes the members of a set from a value. A value without remaining fields becomes null, as on the server. */
export function removeFields(shape: Shape, value: unknown, set: FieldSet): unknown {
  if (isList(value)) {
    const element = itemElement(shape);
    if (element === undefined) return null;
    const inside = itemShape(shape);
    const kept = value.flatMap((item) => {
      const each = element(item);
      if (set.members.has(each)) return [];
      const below = set.children.get(each);
      return [below === undefined || isEmptySet(below) ? item : removeFields(inside, item, below)];
    });
    return kept.length === 0 ? null : kept;
  }
  if (!isFields(value)) return value;
  if (isAtomicMap(shape)) return null;
  const result: Record<string, unknown> = {};
  let isEmpty = true;
  for (const [name, inner] of Object.entries(value)) {
    const each = fieldElement(name);
    if (set.members.has(each)) continue;
    const below = set.children.get(each);
    const isTouched = below !== undefined && !isEmptySet(below);
    setOwnField(result, name, isTouched ? removeFields(fieldShape(shape, name).shape, inner, below) : inner);
    isEmpty = false;
  }
  return isEmpty ? null : result;
}

/** Adds the named parents of all members, so that a parent is removed with its last field. */
export function withNamedParents(shape: Shape, set: FieldSet): FieldSet {
  const members = new Set(set.members);
  const children = new Map<string, FieldSet>();
  for (const [element, child] of set.children) {
    let inside: Shape = undescribed;
    if (element.startsWith("f:")) {
      const field = fieldShape(shape, element.slice(2));
      inside = field.shape;
      if (field.isNamed) members.add(element);
    } else if (element.startsWith("k:")) inside = itemShape(shape);
    children.set(element, withNamedParents(inside, child));
  }
  return { members, children };
}

const zeros = new WeakMap<Schema, Fields>();

/**
 * The zero value of a type. Built-in types are Go structs, whose parts always exist, which affects ownership; a custom
 * type starts empty.
 */
export function emptyObject(schema: Schema): Fields {
  // Only schemas of built-in types have a default for metadata.
  return schema.properties?.metadata?.default === undefined ? {} : zeroOf(schema);
}

function zeroOf(schema: Schema): Fields {
  const known = zeros.get(schema);
  if (known !== undefined) return known;
  const required = new Set(schema.required);
  const zero: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (isEmptyMap(property.default)) setOwnField(zero, name, zeroOf(property));
    else if (required.has(name)) setOwnField(zero, name, zeroOfType(property));
  }
  zeros.set(schema, zero);
  return zero;
}

function zeroOfType({ type }: Schema): unknown {
  switch (type) {
    case "string":
      return "";
    case "boolean":
      return false;
    case "integer":
    case "number":
      return 0;
    default:
      return null;
  }
}
