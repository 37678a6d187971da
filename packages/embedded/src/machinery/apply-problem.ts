import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatPath } from "./field-set.ts";
import { isList, isObject } from "./json-value.ts";
import { fieldShape, itemElement, itemShape, type Shape } from "./typed-value.ts";

/** Says, in the server's words, why a configuration cannot be applied: fields that the type does not have, doubled items. */
export function applyProblem(shape: Shape, applied: KubeObject): string | undefined {
  const problems = problemsOf(shape, applied, "", false);
  if (problems.length === 0) return undefined;
  const { name = "", namespace = "" } = applied.metadata;
  const [version = "", group = ""] = applied.apiVersion.split("/").toReversed();
  const type = `${group}/${version}, Kind=${applied.kind}`;
  const text =
    problems.length === 1 ? (problems[0] ?? "") : ["errors:", ...problems.map((each) => `  ${each}`)].join("\n");
  return `failed to create typed patch object (${namespace}/${name}; ${type}): ${text}`;
}

/** `preserves` is inherited: below a field that keeps what it does not know, everything does. */
function problemsOf(shape: Shape, value: unknown, path: string, preserves: boolean): string[] {
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
      return [...doubled, ...problemsOf(itemShape(shape), item, `${path}${step}`, keepsUnknown)];
    });
  }
  if (!isObject(value)) return [];
  // An object of which nothing at all is described may hold anything.
  const isFree = schema === undefined || Object.keys(schema.properties ?? {}).length === 0;
  for (const name of Object.keys(value)) {
    const isKnown = fieldShape(shape, name).isNamed || keepsUnknown || isFree || allowsAny(shape);
    if (!isKnown) return [`${path}.${name}: field not declared in schema`];
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    problemsOf(fieldShape(shape, name).shape, inner, `${path}.${name}`, keepsUnknown),
  );
}

const allowsAny = ({ schema }: Shape): boolean =>
  schema?.additionalProperties !== undefined && schema.additionalProperties !== false;
