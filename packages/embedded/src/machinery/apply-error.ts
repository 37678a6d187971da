import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatPath } from "./field-set.ts";
import { isList } from "./json-value.ts";
import { fieldShape, itemElement, itemShape, type Shape } from "./typed-value.ts";

/** Returns the server's message if a configuration cannot be applied: unknown fields or duplicate items. */
export function applyErrorMessage(shape: Shape, applied: KubeObject): string | undefined {
  const errors = errorsOf(shape, applied, "", false);
  if (errors.length === 0) return undefined;
  const { name = "", namespace = "" } = applied.metadata;
  const [version = "", group = ""] = applied.apiVersion.split("/").toReversed();
  const type = `${group}/${version}, Kind=${applied.kind}`;
  const text = errors.length === 1 ? (errors[0] ?? "") : ["errors:", ...errors.map((each) => `  ${each}`)].join("\n");
  return `failed to create typed patch object (${namespace}/${name}; ${type}): ${text}`;
}

/** `preserves` is inherited: all fields below a field that preserves unknown fields do so as well. */
function errorsOf(shape: Shape, value: unknown, path: string, preserves: boolean): string[] {
  const { schema } = shape;
  const keepsUnknown = preserves || schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (isList(value)) {
    const element = itemElement(shape);
    const seen = new Set<string>();
    return value.flatMap((item, index) => {
      const each = element?.(item);
      const step = each === undefined ? `[${index}]` : formatPath([each]);
      const doubled = each !== undefined && seen.has(each) ? [`${path}: duplicate entries for key ${step}`] : [];
      if (each !== undefined) seen.add(each);
      return [...doubled, ...errorsOf(itemShape(shape), item, `${path}${step}`, keepsUnknown)];
    });
  }
  if (!isFields(value)) return [];
  // An object without described properties may contain anything.
  const isFree = schema === undefined || Object.keys(schema.properties ?? {}).length === 0;
  for (const name of Object.keys(value)) {
    const isKnown = fieldShape(shape, name).isNamed || keepsUnknown || isFree || allowsAny(shape);
    if (!isKnown) return [`${path}.${name}: field not declared in schema`];
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    errorsOf(fieldShape(shape, name).shape, inner, `${path}.${name}`, keepsUnknown),
  );
}

const allowsAny = ({ schema }: Shape): boolean =>
  schema?.additionalProperties !== undefined && schema.additionalProperties !== false;
