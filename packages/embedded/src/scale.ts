import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatLabelSelector, type LabelSelectorObject, selectorFromObject } from "@tmc/kube/selector.ts";
import { invalidObject, methodNotAllowed } from "./api-errors.ts";
import type { ResourceDefinition } from "./definition.ts";
import { cloneJson } from "./frozen-json.ts";
import { type FieldError, invalid } from "./machinery/field-error.ts";
import { goValue, typeOfGo } from "./machinery/go-text.ts";
import { fieldOf, isObject } from "./machinery/json-value.ts";

/** The Scale that a scalable object shows. */
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

/** The object as a changed Scale wants it; refuses what is no number of replicas. */
export function withScale(definition: ResourceDefinition, object: KubeObject, wanted: KubeObject): KubeObject {
  const { scale } = definition;
  if (scale === undefined) throw methodNotAllowed();
  const replicas = isObject(wanted.spec) ? numberOf(wanted.spec.replicas) : 0;
  // Custom types have words of their own for this, which follow when the object is checked.
  if (replicas < 0 && definition.flavour === "builtin") {
    throw invalidObject({ group: "autoscaling", kind: "Scale" }, object.metadata.name ?? "", [
      invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  const changed = cloneJson(object);
  setAt(changed, scale.specReplicasPath, replicas);
  const { resourceVersion, uid } = wanted.metadata;
  if (resourceVersion !== undefined && resourceVersion !== "") changed.metadata.resourceVersion = resourceVersion;
  if (uid !== undefined && uid !== "") changed.metadata.uid = uid;
  return changed;
}

/** What is wrong with the counts of a custom object that can be scaled. */
export function scaleErrors({ scale }: ResourceDefinition, object: KubeObject, part: "spec" | "status"): FieldError[] {
  if (scale === undefined) return [];
  const path = part === "spec" ? scale.specReplicasPath : scale.statusReplicasPath;
  const value = valueAt(object, path);
  if (value === undefined || value === null) return [];
  if (typeof value !== "number") {
    return [
      invalid(path, 0, `${path} accessor error: ${goValue(value)} is of the type ${typeOfGo(value)}, expected int64`),
    ];
  }
  return value < 0 ? [invalid(path, value, "should be a non-negative integer")] : [];
}

/** The parent's part of an applied Scale. */
export function parentOfScale(definition: ResourceDefinition, wanted: KubeObject, apiVersion: string): KubeObject {
  const { scale } = definition;
  if (scale === undefined) throw methodNotAllowed();
  const parent: KubeObject = { apiVersion, kind: definition.kind, metadata: cloneJson(wanted.metadata) };
  const replicas = isObject(wanted.spec) ? wanted.spec.replicas : undefined;
  if (replicas !== undefined) setAt(parent, scale.specReplicasPath, numberOf(replicas));
  return parent;
}

// A count of nothing is left out, as Go leaves out a zero.
const withCount = (value: unknown): Record<string, number> => {
  const replicas = numberOf(value);
  return replicas === 0 ? {} : { replicas };
};

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

const partsOf = (path: string): string[] => path.split(".").filter((part) => part !== "");

function valueAt(object: KubeObject, path: string): unknown {
  let value: unknown = object;
  for (const part of partsOf(path)) value = isObject(value) ? fieldOf(value, part) : undefined;
  return value;
}

function setAt(object: Record<string, unknown>, path: string, value: number): void {
  const parts = partsOf(path);
  const last = parts.pop();
  let place = object;
  for (const part of parts) {
    const known = place[part];
    const next: Record<string, unknown> = isObject(known) ? { ...known } : {};
    place[part] = next;
    place = next;
  }
  if (last !== undefined) place[last] = value;
}

function selectorText(value: unknown): string {
  if (typeof value === "string") return value;
  if (!isObject(value)) return "";
  const isSelector = Object.hasOwn(value, "matchLabels") || Object.hasOwn(value, "matchExpressions");
  // The schema has seen that these are selectors; a replication controller has the labels alone.
  const selector = (isSelector ? value : { matchLabels: value }) as LabelSelectorObject;
  return formatLabelSelector(selectorFromObject(selector));
}
