import { Buffer } from "node:buffer";
import { type Fields, isFields, valueAt } from "@tmc/kube/json.ts";
import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";
import { apiGroupOf, textsOf, without } from "../../model/json.ts";
import { withoutServerFields } from "../desired/server-fields.ts";
import { ownerAnnotation, syncedLabel } from "../ownership/owner.ts";

/** A manifest, or an object as a server returned it. */
export type Comparable = Readonly<{ apiVersion: string; kind: string; [field: string]: unknown }>;

export type DifferenceOptions = Readonly<{
  /** Paths to ignore, in the format of the result, with everything below them. */
  ignore?: readonly string[] | undefined;
}>;

/** The paths of our own label and annotation: an object that is to be adopted does not have them yet. */
export const ownershipPaths: readonly string[] = [
  `metadata.labels[${syncedLabel}]`,
  `metadata.annotations[${ownerAnnotation}]`,
];

/**
 * The sorted paths at which a live object differs from the manifest: `spec.replicas`,
 * `spec.template.spec.containers[web].image`, `metadata.labels[example.com/team]`, `spec.ports[80/TCP].targetPort`.
 *
 * The live object may have more fields: servers add defaults, and other managers own fields. Lists whose entries have keys
 * may have more entries too. All other lists must have the same number of entries in the same order.
 */
export function differences(
  manifest: Comparable,
  live: Comparable,
  { ignore = [] }: DifferenceOptions = {},
): readonly string[] {
  const { apiVersion, kind } = manifest;
  const group = apiGroupOf(apiVersion);
  const root: FieldContext = {
    path: "",
    field: "",
    parent: "",
    kind,
    isBuiltIn: !group.includes(".") || group.endsWith(".k8s.io"),
  };
  const isIgnored = (path: string): boolean =>
    ignore.some((prefix) => path === prefix || path.startsWith(`${prefix}.`) || path.startsWith(`${prefix}[`));
  // Both objects were read by type, and a manifest has no status.
  const desired = without(withEncodedData(manifest), "apiVersion", "kind", "status");
  return [...new Set(compare(desired, live, root))].filter((path) => !isIgnored(path)).toSorted();
}

/** The position of a value in an object. */
type FieldContext = Readonly<{ path: string; field: string; parent: string; kind: string; isBuiltIn: boolean }>;

/** Lists that a server may extend: a Service with the policy PreferDualStack names only the first family. */
const extendableLists: ReadonlySet<string> = new Set(["ipFamilies", "clusterIPs"]);

function* compare(desired: unknown, live: unknown, context: FieldContext): Generator<string> {
  if (desired === null || desired === undefined) return;
  const isAbsent = live === null || live === undefined;
  if (Array.isArray(desired)) {
    yield* compareLists(desired, isAbsent ? [] : live, context);
  } else if (!isFields(desired)) {
    const isDifferent = isAbsent
      ? !isZeroValue(desired, context, context.isBuiltIn)
      : !isSameValue(desired, live, context);
    if (isDifferent) yield context.path;
  } else if (isAbsent && context.field === "emptyDir") {
    // An empty object counts here: without the field the volume is of another type.
    yield context.path;
  } else if (!isAbsent && !isFields(live)) {
    yield context.path;
  } else {
    for (const [name, value] of Object.entries(desired)) {
      yield* compare(value, valueAt(live, name), childContext(context, name));
    }
  }
}

function* compareLists(desired: readonly unknown[], live: unknown, context: FieldContext): Generator<string> {
  // An empty list equals a missing one: servers fill both with their defaults.
  if (desired.length === 0) return;
  if (!Array.isArray(live)) {
    yield context.path;
    return;
  }
  const actual: readonly unknown[] = live;
  // The list keys of a custom type are in its definition. Without them a list is atomic, as in server-side apply.
  const entries = context.isBuiltIn ? keyedEntries(desired, context) : undefined;
  const actualEntries = entries === undefined ? undefined : keyedEntries(actual, context);
  if (entries !== undefined && actualEntries !== undefined) {
    for (const [key, entry] of entries) {
      const path = `${context.path}[${key}]`;
      const actualEntry = actualEntries.get(key);
      if (actualEntry === undefined) yield path;
      else yield* compare(entry, actualEntry, { ...context, path });
    }
  } else if (extendableLists.has(context.field) ? actual.length < desired.length : actual.length !== desired.length) {
    yield context.path;
  } else {
    for (const [index, item] of desired.entries()) {
      yield* compare(item, actual[index], { ...context, path: `${context.path}[${index}]` });
    }
  }
}

function childContext(context: FieldContext, name: string): FieldContext {
  const isPlain = /^[A-Za-z_][\w-]*$/.test(name);
  const path = !isPlain ? `${context.path}[${name}]` : context.path === "" ? name : `${context.path}.${name}`;
  return { ...context, path, field: name, parent: context.field };
}

/** Servers store `stringData` of a Secret base64-encoded in `data`. */
function withEncodedData(manifest: Comparable): Fields {
  const { apiVersion, kind, data, stringData } = manifest;
  if (apiVersion !== "v1" || kind !== "Secret" || !isFields(stringData)) return manifest;
  const encoded = Object.entries(textsOf(stringData)).map(([name, text]) => [
    name,
    Buffer.from(text, "utf8").toString("base64"),
  ]);
  return { ...without(manifest, "stringData"), data: { ...textsOf(data), ...Object.fromEntries(encoded) } };
}

/** The position of a scalar: its field and the field above. */
export type ValueContext = Readonly<{ field: string; parent: string }>;

/** Maps of free text: their values are never quantities, and an empty string is a value. */
const textMaps: ReadonlySet<string> = new Set([
  "labels",
  "annotations",
  "matchLabels",
  "nodeSelector",
  "selector",
  "data",
  "binaryData",
  "stringData",
  "volumeAttributes",
]);
/** Maps of quantities. */
const quantityMaps: ReadonlySet<string> = new Set([
  "limits",
  "requests",
  "capacity",
  "overhead",
  "hard",
  "allocatedResources",
]);
const quantityFields: ReadonlySet<string> = new Set(["sizeLimit", "divisor", "averageValue"]);

/** Whether two scalars are equivalent at their position: `1000m` and `1` CPU, `80` and `"80"` for a port. */
export function isSameValue(desired: unknown, live: unknown, context: ValueContext): boolean {
  if (desired === live) return true;
  if (isText(context)) return false;
  if (isQuantityField(context) && isQuantity(desired) && isQuantity(live)) {
    return compareQuantities(parseQuantity(desired), parseQuantity(live)) === 0;
  }
  const isStringOrNumber = (value: unknown): value is string | number =>
    typeof value === "string" || typeof value === "number";
  return isStringOrNumber(desired) && isStringOrNumber(live) && String(desired) === String(live);
}

/**
 * Whether a scalar is equivalent to a missing field. Kubernetes omits empty, zero and false values of its own types; an
 * object of a custom type is stored as it was written.
 */
export function isZeroValue(desired: unknown, context: ValueContext, isBuiltIn: boolean): boolean {
  return isBuiltIn && !isText(context) && (desired === "" || desired === 0 || desired === false);
}

const isText = ({ parent }: ValueContext): boolean => textMaps.has(parent);

function isQuantityField({ field, parent }: ValueContext): boolean {
  return quantityMaps.has(parent) || quantityFields.has(field) || (field === "value" && parent === "target");
}

/** The position of a list: its field, the field above, and the kind of the object. */
export type ListContext = Readonly<{ field: string; parent: string; kind: string }>;

/** Lists of built-in types whose entries have keys, as in server-side apply (`x-kubernetes-list-map-keys`). */
const listKeys: ReadonlyMap<string, readonly string[]> = new Map([
  ["containers", ["name"]],
  ["initContainers", ["name"]],
  ["ephemeralContainers", ["name"]],
  ["volumes", ["name"]],
  ["env", ["name"]],
  ["imagePullSecrets", ["name"]],
  ["secrets", ["name"]],
  ["resourceClaims", ["name"]],
  ["claims", ["name"]],
  ["schedulingGates", ["name"]],
  ["volumeMounts", ["mountPath"]],
  ["volumeDevices", ["devicePath"]],
  ["hostAliases", ["ip"]],
  ["topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"]],
]);

/**
 * The entries of a list by their keys, as paths write them: `web`, `80/TCP`. Undefined for a list without keys, or if the
 * keys are not unique.
 */
export function keyedEntries(list: readonly unknown[], context: ListContext): ReadonlyMap<string, Fields> | undefined {
  const keyFields = keyFieldsOf(context);
  if (keyFields === undefined) return undefined;
  const entries = new Map<string, Fields>();
  for (const item of list) {
    const key = isFields(item) ? keyOf(item, keyFields) : undefined;
    if (!isFields(item) || key === undefined || entries.has(key)) return undefined;
    entries.set(key, item);
  }
  return entries;
}

function keyFieldsOf({ field, parent, kind }: ListContext): readonly string[] | undefined {
  if (field !== "ports") return listKeys.get(field);
  if (kind === "Service" && parent === "spec") return ["port", "protocol"];
  return /containers$/i.test(parent) ? ["containerPort", "protocol"] : undefined;
}

function keyOf(item: Fields, keyFields: readonly string[]): string | undefined {
  const values = keyFields.map((name) => item[name] ?? (name === "protocol" ? "TCP" : undefined));
  return values.every((value) => typeof value === "string" || typeof value === "number") ? values.join("/") : undefined;
}

/**
 * The sorted paths at which the copies of one workload differ between clusters. Metadata and fields that each server assigns
 * do not count. A field that only one copy has counts, even if it is a default that the other clusters' versions lack.
 */
export function specDifferences(copies: readonly CopyContent[], options: DifferenceOptions = {}): readonly string[] {
  const [first, ...others] = copies.map(withoutServerState);
  if (first === undefined) return [];
  const paths = others.flatMap((other) => [
    ...differences(first, other, options),
    ...differences(other, first, options),
  ]);
  return [...new Set(paths)].toSorted();
}

/** A manifest, or an object as a server returned it, with its metadata. */
type CopyContent = Comparable & Readonly<{ metadata: Readonly<Pick<ObjectMeta, "name" | "labels" | "annotations">> }>;

function withoutServerState({ apiVersion, kind, metadata, status: _, ...body }: CopyContent): Comparable {
  const { name = "", labels, annotations } = metadata;
  const parts = { name, labels: textsOf(labels), annotations: textsOf(annotations), body };
  return { apiVersion, kind, ...withoutServerFields({ apiVersion, kind }, parts, { isAssigned: true }).body };
}
