import { type Fields, isFields } from "../../model/json-fields.ts";

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
