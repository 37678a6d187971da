import { compareStrings } from "@tmc/kube/compare.ts";
import { isFields } from "@tmc/kube/json.ts";
import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { goJson, goQuote } from "./go-text.ts";

/**
 * One step of a path in FieldsV1 notation: `f:name` is a field, `k:{"name":"x"}` a list item by its keys, `v:"x"` an
 * item of a set.
 */
export type PathElement = string;
export type FieldPath = readonly PathElement[];

/** An immutable set of paths as a tree. A path with children is not necessarily a member. */
export type FieldSet = Readonly<{
  members: ReadonlySet<PathElement>;
  children: ReadonlyMap<PathElement, FieldSet>;
}>;

export const emptySet: FieldSet = { members: new Set(), children: new Map() };

export const fieldElement = (name: string): PathElement => `f:${name}`;
export const valueElement = (value: unknown): PathElement => `v:${goJson(value)}`;
/** Keys are sorted by name, so that equal items have equal elements. */
export const keyElement = (keys: Readonly<Record<string, unknown>>): PathElement => `k:${goJson(keys)}`;

export class FieldSetBuilder {
  readonly #members = new Set<PathElement>();
  readonly #children = new Map<PathElement, FieldSetBuilder>();

  insert(path: FieldPath, depth = 0): void {
    const element = path[depth];
    // The empty path is the whole object, which has no owner.
    if (element === undefined) return;
    if (depth === path.length - 1) {
      this.#members.add(element);
      return;
    }
    let child = this.#children.get(element);
    if (child === undefined) {
      child = new FieldSetBuilder();
      this.#children.set(element, child);
    }
    child.insert(path, depth + 1);
  }

  build(): FieldSet {
    const children = new Map<PathElement, FieldSet>();
    for (const [element, child] of this.#children) children.set(element, child.build());
    return { members: this.#members, children };
  }
}

export function fieldSet(...paths: readonly FieldPath[]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.insert(path);
  return builder.build();
}

export function isEmptySet(set: FieldSet): boolean {
  if (set.members.size > 0) return false;
  for (const child of set.children.values()) if (!isEmptySet(child)) return false;
  return true;
}

export function hasPath(set: FieldSet, path: FieldPath): boolean {
  const [element, ...rest] = path;
  if (element === undefined) return false;
  if (rest.length === 0) return set.members.has(element);
  const child = set.children.get(element);
  return child !== undefined && hasPath(child, rest);
}

function filtered(elements: ReadonlySet<PathElement>, keep: (element: PathElement) => boolean): Set<PathElement> {
  const result = new Set<PathElement>();
  for (const element of elements) if (keep(element)) result.add(element);
  return result;
}

export function fieldUnion(a: FieldSet, b: FieldSet): FieldSet {
  if (b.members.size === 0 && b.children.size === 0) return a;
  if (a.members.size === 0 && a.children.size === 0) return b;
  const children = new Map(a.children);
  for (const [element, child] of b.children) {
    const other = children.get(element);
    children.set(element, other === undefined ? child : fieldUnion(other, child));
  }
  return { members: new Set([...a.members, ...b.members]), children };
}

export function fieldIntersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined) continue;
    const common = fieldIntersection(child, other);
    if (!isEmptySet(common)) children.set(element, common);
  }
  return { members: filtered(a.members, (element) => b.members.has(element)), children };
}

/** Members of `a` that are not members of `b`; paths below a member of `b` are kept. */
export function fieldDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (b.members.size === 0 && b.children.size === 0) return a;
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    const rest = other === undefined ? child : fieldDifference(child, other);
    if (!isEmptySet(rest)) children.set(element, rest);
  }
  return { members: filtered(a.members, (element) => !b.members.has(element)), children };
}

/** Like `difference`, but also removes everything below a member of `b`. */
export function differenceWithChildren(a: FieldSet, b: FieldSet): FieldSet {
  if (b.members.size === 0 && b.children.size === 0) return a;
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of a.children) {
    if (b.members.has(element)) continue;
    const other = b.children.get(element);
    const rest = other === undefined ? child : differenceWithChildren(child, other);
    if (!isEmptySet(rest)) children.set(element, rest);
  }
  return { members: filtered(a.members, (element) => !b.members.has(element)), children };
}

export function isEqualSet(a: FieldSet, b: FieldSet): boolean {
  if (a.members.size !== b.members.size || a.children.size !== b.children.size) return false;
  for (const element of a.members) if (!b.members.has(element)) return false;
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined || !isEqualSet(child, other)) return false;
  }
  return true;
}

/** Returns `before` if the sets are equal, so that caches keyed by identity stay valid. */
export function unlessEqual(before: FieldSet | undefined, after: FieldSet): FieldSet {
  return before !== undefined && isEqualSet(before, after) ? before : after;
}

/** All paths of the set in the server's order: on each level members first, then children. */
export function pathsOf(set: FieldSet, prefix: FieldPath = []): FieldPath[] {
  const members = inOrder(set.members).map((element) => [...prefix, element]);
  const below = inOrder(set.children.keys()).flatMap((element) =>
    pathsOf(set.children.get(element) ?? emptySet, [...prefix, element]),
  );
  return [...members, ...below];
}

/** Formats a path as in conflict messages: `.spec.containers[name="a"].image`. */
export function formatPath(path: FieldPath): string {
  return path.map(formatElement).join("");
}

function formatElement(element: PathElement): string {
  if (element.startsWith("f:")) return `.${element.slice(2)}`;
  if (element.startsWith("i:")) return `[${element.slice(2)}]`;
  const value = contentOf(element);
  if (element.startsWith("v:")) return `[=${formatValue(value)}]`;
  const keys = isFields(value) ? Object.entries(value) : [];
  return `[${keys.map(([name, key]) => `${name}=${formatValue(key)}`).join(",")}]`;
}

const formatValue = (value: unknown): string => (typeof value === "string" ? goQuote(value) : goJson(value));

function contentOf(element: PathElement): unknown {
  return JSON.parse(element.slice(2));
}

const kinds = "fkvi";

const isField = (element: PathElement): boolean => element.startsWith("f:");

/** Sorts the elements of one level in the server's order: by type, fields by name, items by content. */
function inOrder(elements: Iterable<PathElement>): PathElement[] {
  const all = [...elements];
  if (all.every(isField)) return all.toSorted();
  return all
    .map((element) => ({ element, content: isField(element) ? element : contentOf(element) }))
    .toSorted(
      (a, b) =>
        kinds.indexOf(a.element.charAt(0)) - kinds.indexOf(b.element.charAt(0)) ||
        compareContents(a.content, b.content),
    )
    .map(({ element }) => element);
}

function compareContents(a: unknown, b: unknown): number {
  if (!isFields(a) || !isFields(b)) return compareScalars(a, b);
  const others = Object.entries(b);
  for (const [index, [name, value]] of Object.entries(a).entries()) {
    const other = others[index];
    if (other === undefined) return 1;
    const order = compareScalars(name, other[0]) || compareScalars(value, other[1]);
    if (order !== 0) return order;
  }
  return others.length > Object.keys(a).length ? -1 : 0;
}

const scalarKinds = ["number", "string", "boolean"];

function compareScalars(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  return scalarKinds.indexOf(typeof a) - scalarKinds.indexOf(typeof b);
}

/** Encodes a set as the `fieldsV1` of a managed-fields entry. */
export function encodeFields(set: FieldSet): JsonObject {
  const fields: JsonObject = {};
  for (const element of inOrder(new Set([...set.members, ...set.children.keys()]))) {
    const child = set.children.get(element);
    const below = child === undefined ? {} : encodeFields(child);
    const isBoth = child !== undefined && set.members.has(element);
    fields[element] = isBoth ? { ".": {}, ...below } : below;
  }
  return fields;
}

/** Decodes `fieldsV1`; returns undefined if it is malformed. */
export function decodeFields(fields: unknown): FieldSet | undefined {
  if (!isFields(fields)) return undefined;
  const members = new Set<PathElement>();
  const children = new Map<PathElement, FieldSet>();
  for (const [name, below] of Object.entries(fields)) {
    if (name === ".") continue;
    const element = canonicalElement(name);
    if (element === undefined || !isFields(below)) return undefined;
    const names = Object.keys(below);
    // An entry without children is a member; one with children is a member only if it contains a dot.
    if (names.length === 0 || names.includes(".")) members.add(element);
    if (names.length > (names.includes(".") ? 1 : 0)) {
      const child = decodeFields(below);
      if (child === undefined) return undefined;
      children.set(element, child);
    }
  }
  return { members, children };
}

function canonicalElement(text: string): PathElement | undefined {
  if (text.startsWith("f:") || /^i:\d+$/.test(text)) return text;
  if (!text.startsWith("k:") && !text.startsWith("v:")) return undefined;
  try {
    return `${text.slice(0, 2)}${goJson(contentOf(text))}`;
  } catch {
    return undefined;
  }
}
