import { isDeepStrictEqual } from "node:util";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { idOf, type ManagedObject, managedTypes } from "./managed-object.ts";

/** What is to be done about one object, and why. */
export type Step = Readonly<{
  action: "create" | "change" | "replace";
  object: ManagedObject;
  differences: readonly string[];
}>;

/** Finds an object that is there; undefined when it is not. */
export type Find = (wanted: ManagedObject) => KubeObject | undefined;

/** Decides what must be done so that every object is there as it is wanted; nothing when all are. */
export function planObjects(wanted: readonly ManagedObject[], find: Find): readonly Step[] {
  return wanted.flatMap((object): Step[] => {
    const present = find(object);
    if (present === undefined) return [{ action: "create", object, differences: [] }];
    const differences = differencesOf(present, object);
    if (differences.length === 0) return [];
    if (object.kind === "APIResourceSchema" && differences.some((path) => path.startsWith("spec"))) {
      // Its name says what is in it, so this is nobody's old version; and kcp lets no schema change.
      throw new ControllerError(
        "exists",
        `kcp: ${idOf(object)}: is there with another content (${differences[0]}); remove it first`,
      );
    }
    // A binding can never be turned to another role.
    const isTurned = differences.some((path) => path.startsWith("roleRef"));
    return [{ action: isTurned ? "replace" : "change", object, differences }];
  });
}

/** In which respects an object is not as it is wanted: `spec.resources[pods.core].schema: "a", wanted "b"`. */
export function differencesOf(present: KubeObject, wanted: ManagedObject): readonly string[] {
  const { apiVersion: _version, kind, metadata, ...fields } = wanted;
  const { name: _name, namespace: _namespace, ...marks } = metadata;
  // Of roles nothing may be added either; elsewhere the server fills in what is not said.
  const isExact = managedTypes[kind].group === "rbac.authorization.k8s.io";
  return [...differ("metadata", present.metadata, marks, false), ...differ("", present, fields, isExact)];
}

function differ(path: string, is: unknown, wanted: unknown, isExact: boolean): string[] {
  if (isRecord(wanted) && !(isExact && path !== "")) {
    // What is there and empty means something too: an empty policy is a policy.
    if (!isRecord(is) && Object.keys(wanted).length === 0) return [`${path}: ${shown(is)}, wanted {}`];
    const found = isRecord(is) ? is : {};
    return Object.entries(wanted).flatMap(([name, value]) =>
      differ(path === "" ? name : `${path}.${name}`, found[name], value, isExact),
    );
  }
  if (isDeepStrictEqual(is, wanted)) return [];
  if (!Array.isArray(wanted) || !Array.isArray(is)) return [`${path}: ${shown(is)}, wanted ${shown(wanted)}`];
  if (isExact) return [`${path}: ${without(wanted, is)} missing, ${without(is, wanted)} too many`];
  if (wanted.every((item) => keyOf(item) !== undefined)) {
    return wanted.flatMap((item: unknown) => {
      const key = keyOf(item);
      const found: unknown = is.find((other) => keyOf(other) === key);
      return found === undefined ? [`${path}[${key}]: is missing`] : differ(`${path}[${key}]`, found, item, isExact);
    });
  }
  if (wanted.length !== is.length || !wanted.some(isRecord)) {
    return [`${path}: ${shown(is)}, wanted ${shown(wanted)}`];
  }
  return wanted.flatMap((item: unknown, at) => differ(`${path}[${at}]`, is[at], item, isExact));
}

/** How many of these are not among those. */
const without = (these: readonly unknown[], those: readonly unknown[]): number =>
  these.filter((item) => !those.some((other) => isDeepStrictEqual(item, other))).length;

/** By what kcp tells the elements of an export's lists apart; it keeps those that others have added. */
function keyOf(item: unknown): string | undefined {
  if (!isRecord(item) || typeof item.group !== "string") return undefined;
  const name = item.resource ?? item.name;
  return typeof name === "string" ? `${name}.${item.group === "" ? "core" : item.group}` : undefined;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
