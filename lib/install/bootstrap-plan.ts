import { isDeepStrictEqual } from "node:util";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatObjectId, type ManagedObject, managedTypes } from "./managed-object.ts";

/** One step of a plan: what to do with an object, and why. */
export type PlanStep = Readonly<{
  action: "create" | "change" | "replace";
  object: ManagedObject;
  differences: readonly string[];
}>;

/** Returns the existing object; undefined if it does not exist. */
export type FindObject = (desired: ManagedObject) => KubeObject | undefined;

/** Returns the steps that bring all objects to the desired state; empty if they are in it. */
export function planObjects(desired: readonly ManagedObject[], find: FindObject): readonly PlanStep[] {
  return desired.flatMap((object): PlanStep[] => {
    const present = find(object);
    if (present === undefined) return [{ action: "create", object, differences: [] }];
    const differences = differencesOf(present, object);
    if (differences.length === 0) return [];
    if (object.kind === "APIResourceSchema" && differences.some((path) => path.startsWith("spec"))) {
      // The name contains a hash of the content, so this is not an older version, and kcp allows no change of a schema.
      throw new ControllerError(
        "exists",
        `kcp: ${formatObjectId(object)}: exists with different content (${differences[0]}); delete it first`,
      );
    }
    // The roleRef of a binding is immutable.
    const changesRoleRef = differences.some((path) => path.startsWith("roleRef"));
    return [{ action: changesRoleRef ? "replace" : "change", object, differences }];
  });
}

/** Returns how an object differs from the desired one: `spec.resources[pods.core].schema: "a", desired "b"`. */
export function differencesOf(present: KubeObject, desired: ManagedObject): readonly string[] {
  const { apiVersion: _version, kind, metadata, ...fields } = desired;
  const { name: _name, namespace: _namespace, ...ownMetadata } = metadata;
  // Roles must match exactly. In other objects the server may add fields.
  const isExact = managedTypes[kind].group === "rbac.authorization.k8s.io";
  return [...compare("metadata", present.metadata, ownMetadata, false), ...compare("", present, fields, isExact)];
}

function compare(path: string, actual: unknown, desired: unknown, isExact: boolean): string[] {
  if (isRecord(desired) && !(isExact && path !== "")) {
    // An empty object has a meaning: an empty policy is a policy.
    if (!isRecord(actual) && Object.keys(desired).length === 0) return [`${path}: ${formatValue(actual)}, desired {}`];
    const found = isRecord(actual) ? actual : {};
    return Object.entries(desired).flatMap(([name, value]) =>
      compare(path === "" ? name : `${path}.${name}`, found[name], value, isExact),
    );
  }
  if (isDeepStrictEqual(actual, desired)) return [];
  if (!Array.isArray(desired) || !Array.isArray(actual))
    return [`${path}: ${formatValue(actual)}, desired ${formatValue(desired)}`];
  if (isExact)
    return [`${path}: ${countMissing(desired, actual)} missing, ${countMissing(actual, desired)} unexpected`];
  if (desired.every((item) => elementKey(item) !== undefined)) {
    return desired.flatMap((item: unknown) => {
      const key = elementKey(item);
      const found: unknown = actual.find((other) => elementKey(other) === key);
      return found === undefined ? [`${path}[${key}]: missing`] : compare(`${path}[${key}]`, found, item, isExact);
    });
  }
  if (desired.length !== actual.length || !desired.some(isRecord)) {
    return [`${path}: ${formatValue(actual)}, desired ${formatValue(desired)}`];
  }
  return desired.flatMap((item: unknown, at) => compare(`${path}[${at}]`, actual[at], item, isExact));
}

/** Returns how many of `these` are not in `those`. */
const countMissing = (these: readonly unknown[], those: readonly unknown[]): number =>
  these.filter((item) => !those.some((other) => isDeepStrictEqual(item, other))).length;

/** Returns the merge key of an element in an export's lists; elements that others added are kept. */
function elementKey(item: unknown): string | undefined {
  if (!isRecord(item) || typeof item.group !== "string") return undefined;
  const name = item.resource ?? item.name;
  return typeof name === "string" ? `${name}.${item.group === "" ? "core" : item.group}` : undefined;
}

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
