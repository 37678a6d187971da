import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatLabelSelector, type LabelSelectorObject, selectorFromObject } from "@tmc/kube/selector.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { invalidObject, methodNotAllowed } from "../machinery/api-errors.ts";
import { type FieldError, invalid } from "../machinery/field-error.ts";
import { goJsonType, goValue } from "../machinery/go-text.ts";
import { fieldOf } from "../machinery/json-value.ts";
import { cloneJson } from "./frozen-json.ts";

/** The Scale of an object. */
export function scaleOf(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { scale } = definition;
  if (scale === undefined) throw methodNotAllowed();
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = scale.labelSelectorPath === undefined ? "" : selectorText(valueAt(object, scale.labelSelectorPath));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: withCount(valueAt(object, scale.specReplicasPath)),
    status: { replicas: numberOf(valueAt(object, scale.statusReplicasPath)), ...(selector === "" ? {} : { selector }) },
  };
}

/** Applies a Scale to an object; throws for invalid replicas. */
export function withScale(definition: ResourceDefinition, object: KubeObject, desired: KubeObject): KubeObject {
  const { scale } = definition;
  if (scale === undefined) throw methodNotAllowed();
  const replicas = isFields(desired.spec) ? numberOf(desired.spec.replicas) : 0;
  // Custom types report this when the object is validated, with another message.
  if (replicas < 0 && definition.flavor === "builtin") {
    throw invalidObject({ group: "autoscaling", kind: "Scale" }, object.metadata.name ?? "", [
      invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  const changed = cloneJson(object);
  setAt(changed, scale.specReplicasPath, replicas);
  const { resourceVersion, uid } = desired.metadata;
  if (resourceVersion !== undefined && resourceVersion !== "") changed.metadata.resourceVersion = resourceVersion;
  if (uid !== undefined && uid !== "") changed.metadata.uid = uid;
  return changed;
}

/** Validates the replica counts of a custom object. */
export function scaleErrors({ scale }: ResourceDefinition, object: KubeObject, part: "spec" | "status"): FieldError[] {
  if (scale === undefined) return [];
  const path = part === "spec" ? scale.specReplicasPath : scale.statusReplicasPath;
  const value = valueAt(object, path);
  if (value === undefined || value === null) return [];
  if (typeof value !== "number") {
    return [
      invalid(path, 0, `${path} accessor error: ${goValue(value)} is of the type ${goJsonType(value)}, expected int64`),
    ];
  }
  return value < 0 ? [invalid(path, value, "should be a non-negative integer")] : [];
}

/** The object that an applied Scale configures. */
export function parentOfScale(definition: ResourceDefinition, applied: KubeObject, apiVersion: string): KubeObject {
  const { scale } = definition;
  if (scale === undefined) throw methodNotAllowed();
  const parent: KubeObject = { apiVersion, kind: definition.kind, metadata: cloneJson(applied.metadata) };
  const replicas = isFields(applied.spec) ? applied.spec.replicas : undefined;
  if (replicas !== undefined) setAt(parent, scale.specReplicasPath, numberOf(replicas));
  return parent;
}

// Go omits zero replicas.
const withCount = (value: unknown): Record<string, number> => {
  const replicas = numberOf(value);
  return replicas === 0 ? {} : { replicas };
};

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

const partsOf = (path: string): string[] => path.split(".").filter((part) => part !== "");

function valueAt(object: KubeObject, path: string): unknown {
  let value: unknown = object;
  for (const part of partsOf(path)) value = isFields(value) ? fieldOf(value, part) : undefined;
  return value;
}

function setAt(object: Record<string, unknown>, path: string, value: number): void {
  const parts = partsOf(path);
  const last = parts.pop();
  let parent = object;
  for (const part of parts) {
    const known = parent[part];
    const next: Record<string, unknown> = isFields(known) ? { ...known } : {};
    parent[part] = next;
    parent = next;
  }
  if (last !== undefined) parent[last] = value;
}

function selectorText(value: unknown): string {
  if (typeof value === "string") return value;
  if (!isFields(value)) return "";
  const isSelector = Object.hasOwn(value, "matchLabels") || Object.hasOwn(value, "matchExpressions");
  // The schema has validated the selector. A replication controller has only labels.
  const selector = (isSelector ? value : { matchLabels: value }) as LabelSelectorObject;
  return formatLabelSelector(selectorFromObject(selector));
}
