import { Buffer } from "node:buffer";
import { type Fields, groupOf, isFields, textsOf, valueAt, without } from "../../model/json-fields.ts";
import { originAnnotation, syncedLabel } from "../ownership/owner.ts";
import { isSameValue, saysNothing } from "./equivalent-values.ts";
import { keyedEntries } from "./merge-keys.ts";

/** Anything that can be compared: a manifest or an object as a server gave it. */
export type Comparable = Readonly<{ apiVersion: string; kind: string; [field: string]: unknown }>;

export type DifferenceOptions = Readonly<{
  /** Paths that do not count, in the form of the answer; nor does what is below them. */
  ignore?: readonly string[] | undefined;
}>;

/** The paths of our own marks: an object that is yet to become ours cannot have them. */
export const markPaths: readonly string[] = [
  `metadata.labels[${syncedLabel}]`,
  `metadata.annotations[${originAnnotation}]`,
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
