import { Buffer } from "node:buffer";
import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";
import { type Fields, groupOf, isFields, textsOf, valueAt, without } from "../../model/json.ts";
import { withoutServerFields } from "../desired/server-fields.ts";
import { ownerAnnotation, syncedLabel } from "../ownership/owner.ts";

/** Anything that can be compared: a manifest or an object as a server gave it. */
export type Comparable = Readonly<{ apiVersion: string; kind: string; [field: string]: unknown }>;

export type DifferenceOptions = Readonly<{
  /** Paths that do not count, in the form of the answer; nor does what is below them. */
  ignore?: readonly string[] | undefined;
}>;

/** The paths of our own marks: an object that is yet to become ours cannot have them. */
export const markPaths: readonly string[] = [
  `metadata.labels[${syncedLabel}]`,
  `metadata.annotations[${ownerAnnotation}]`,
];

/**
 * The paths at which a live object does not say what the manifest says, sorted: `spec.replicas`,
 * `spec.template.spec.containers[web].image`, `metadata.labels[example.com/team]`, `spec.ports[80/TCP].targetPort`.
 *
 * The live object may say more: servers fill in defaults, and other managers have fields of their own. So may lists whose
 * entries have keys; of all others the live one must have as many entries, in the same order.
 */
export function differences(
  manifest: Comparable,
  live: Comparable,
  { ignore = [] }: DifferenceOptions = {},
): readonly string[] {
  const { apiVersion, kind } = manifest;
  const group = groupOf(apiVersion);
  const whole: Place = {
    path: "",
    field: "",
    parent: "",
    kind,
    isBuiltIn: !group.includes(".") || group.endsWith(".k8s.io"),
  };
  const isIgnored = (path: string): boolean =>
    ignore.some((prefix) => path === prefix || path.startsWith(`${prefix}.`) || path.startsWith(`${prefix}[`));
  // The type is how both were asked for, and no manifest has a status.
  const said = without(withEncodedTexts(manifest), "apiVersion", "kind", "status");
  return [...new Set(compare(said, live, whole))].filter((path) => !isIgnored(path)).toSorted();
}

type Place = Readonly<{ path: string; field: string; parent: string; kind: string; isBuiltIn: boolean }>;

/** Lists at whose end a server may add: a Service that prefers two families names the first. */
const growingLists: ReadonlySet<string> = new Set(["ipFamilies", "clusterIPs"]);

function* compare(wanted: unknown, live: unknown, place: Place): Generator<string> {
  if (wanted === null || wanted === undefined) return;
  const isAbsent = live === null || live === undefined;
  if (Array.isArray(wanted)) {
    yield* compareLists(wanted, isAbsent ? [] : live, place);
  } else if (!isFields(wanted)) {
    if (isAbsent ? !saysNothing(wanted, place, place.isBuiltIn) : !isSameValue(wanted, live, place)) yield place.path;
  } else if (isAbsent && place.field === "emptyDir") {
    // The one volume that is there by being named: without it the volume is another.
    yield place.path;
  } else if (!isAbsent && !isFields(live)) {
    yield place.path;
  } else {
    for (const [name, value] of Object.entries(wanted)) yield* compare(value, valueAt(live, name), below(place, name));
  }
}

function* compareLists(wanted: readonly unknown[], live: unknown, place: Place): Generator<string> {
  // A list that is to be empty is no other than one that is not spoken of: servers fill both with their defaults.
  if (wanted.length === 0) return;
  if (!Array.isArray(live)) {
    yield place.path;
    return;
  }
  const actual: readonly unknown[] = live;
  // In a custom type only its definition could tell, and a list is one whole unless that says otherwise.
  const entries = place.isBuiltIn ? keyedEntries(wanted, place) : undefined;
  const actualEntries = entries === undefined ? undefined : keyedEntries(actual, place);
  if (entries !== undefined && actualEntries !== undefined) {
    for (const [key, entry] of entries) {
      const path = `${place.path}[${key}]`;
      const other = actualEntries.get(key);
      if (other === undefined) yield path;
      else yield* compare(entry, other, { ...place, path });
    }
  } else if (growingLists.has(place.field) ? actual.length < wanted.length : actual.length !== wanted.length) {
    yield place.path;
  } else {
    for (const [index, item] of wanted.entries()) {
      yield* compare(item, actual[index], { ...place, path: `${place.path}[${index}]` });
    }
  }
}

function below(place: Place, name: string): Place {
  const isPlain = /^[A-Za-z_][\w-]*$/.test(name);
  const path = !isPlain ? `${place.path}[${name}]` : place.path === "" ? name : `${place.path}.${name}`;
  return { ...place, path, field: name, parent: place.field };
}

/** A server keeps what a Secret says in plain text the way it keeps the rest. */
function withEncodedTexts(manifest: Comparable): Fields {
  const { apiVersion, kind, data, stringData } = manifest;
  if (apiVersion !== "v1" || kind !== "Secret" || !isFields(stringData)) return manifest;
  const encoded = Object.entries(textsOf(stringData)).map(([name, text]) => [
    name,
    Buffer.from(text, "utf8").toString("base64"),
  ]);
  return { ...without(manifest, "stringData"), data: { ...textsOf(data), ...Object.fromEntries(encoded) } };
}

/** Where a value stands: its field and the one above. */
export type ValuePlace = Readonly<{ field: string; parent: string }>;

/** Fields under which every name has a text of its own: nothing there is a quantity, and an empty text is one too. */
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
/** Fields under which every name has an amount. */
const quantityMaps: ReadonlySet<string> = new Set([
  "limits",
  "requests",
  "capacity",
  "overhead",
  "hard",
  "allocatedResources",
]);
const quantityFields: ReadonlySet<string> = new Set(["sizeLimit", "divisor", "averageValue"]);

/** Tells whether two scalars say the same at their place: `1000m` and `1` of a processor, `80` and `"80"` for a port. */
export function isSameValue(wanted: unknown, live: unknown, place: ValuePlace): boolean {
  if (wanted === live) return true;
  if (isText(place)) return false;
  if (isAmount(place) && isQuantity(wanted) && isQuantity(live)) {
    return compareQuantities(parseQuantity(wanted), parseQuantity(live)) === 0;
  }
  const isEither = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";
  return isEither(wanted) && isEither(live) && String(wanted) === String(live);
}

/**
 * Tells whether a scalar says no more than a field that is not there. Kubernetes leaves out what is empty, zero or false in
 * its own types; an object of a custom type is kept as it was written.
 */
export function saysNothing(wanted: unknown, place: ValuePlace, isBuiltIn: boolean): boolean {
  return isBuiltIn && !isText(place) && (wanted === "" || wanted === 0 || wanted === false);
}

const isText = ({ parent }: ValuePlace): boolean => textMaps.has(parent);

function isAmount({ field, parent }: ValuePlace): boolean {
  return quantityMaps.has(parent) || quantityFields.has(field) || (field === "value" && parent === "target");
}

/** Where a list stands: its field, the field above, and the kind of the whole object. */
export type ListPlace = Readonly<{ field: string; parent: string; kind: string }>;

/** The lists of Kubernetes' own types that have one entry for each key, as the server-side apply of Kubernetes has them. */
const keysOfLists: ReadonlyMap<string, readonly string[]> = new Map([
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
 * Gives each entry of a list its key, in the words in which a path names it: `web`, `80/TCP`. Undefined for a list that
 * has no keys, or in which they do not tell the entries apart.
 */
export function keyedEntries(list: readonly unknown[], place: ListPlace): ReadonlyMap<string, Fields> | undefined {
  const names = keyNames(place);
  if (names === undefined) return undefined;
  const entries = new Map<string, Fields>();
  for (const item of list) {
    const key = isFields(item) ? keyOf(item, names) : undefined;
    if (!isFields(item) || key === undefined || entries.has(key)) return undefined;
    entries.set(key, item);
  }
  return entries;
}

function keyNames({ field, parent, kind }: ListPlace): readonly string[] | undefined {
  if (field !== "ports") return keysOfLists.get(field);
  if (kind === "Service" && parent === "spec") return ["port", "protocol"];
  return /containers$/i.test(parent) ? ["containerPort", "protocol"] : undefined;
}

function keyOf(item: Fields, names: readonly string[]): string | undefined {
  const values = names.map((name) => item[name] ?? (name === "protocol" ? "TCP" : undefined));
  return values.every((value) => typeof value === "string" || typeof value === "number") ? values.join("/") : undefined;
}

/**
 * The paths at which the copies of one workload on several clusters do not all say the same, sorted. What each server hands
 * out by itself does not count, nor does metadata; a field that only one of them has does, even when it is a default that
 * the others' versions do not know.
 */
export function specDifferences(copies: readonly Described[], options: DifferenceOptions = {}): readonly string[] {
  const [first, ...others] = copies.map(wishIn);
  if (first === undefined) return [];
  const paths = others.flatMap((other) => [
    ...differences(first, other, options),
    ...differences(other, first, options),
  ]);
  return [...new Set(paths)].toSorted();
}

/** An object as a server gave it, or a manifest. */
type Described = Comparable & Readonly<{ metadata: Readonly<Pick<ObjectMeta, "name" | "labels" | "annotations">> }>;

function wishIn({ apiVersion, kind, metadata, status: _, ...body }: Described): Comparable {
  const { name = "", labels, annotations } = metadata;
  const parts = { name, labels: textsOf(labels), annotations: textsOf(annotations), body };
  return { apiVersion, kind, ...withoutServerFields({ apiVersion, kind }, parts, { isAssigned: true }).body };
}
