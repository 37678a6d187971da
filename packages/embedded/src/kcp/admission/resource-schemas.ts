import { byKey } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { subdomainProblems } from "@tmc/kube/selector.ts";
import type { ResourceHooks } from "../../definition.ts";
import { listAt, textAt, valueAt } from "../../fields.ts";
import { type FieldError, invalid, required } from "../../machinery/field-error.ts";
import { isEqual, isList, isObject } from "../../machinery/json-value.ts";
import { refusalOf } from "./refusal.ts";

const type = { group: "apis.kcp.io", plural: "apiresourceschemas" };
const approval = "api-approved.kubernetes.io";

/** Group names of one word that Kubernetes has had from its beginning. */
const oneWordGroups: ReadonlySet<string> = new Set(["apps", "batch", "extensions", "policy", "autoscaling"]);

/** The rules of APIResourceSchemas: names that end in the type they describe, groups, approval, and that nothing changes. */
export const resourceSchemaHooks: ResourceHooks = {
  prepareCreate: (object) => {
    if (subdomainProblems(object.metadata.name ?? "").length > 0 || lacksFields(object)) return;
    const errors = errorsOf(object);
    if (errors.length > 0) throw refusalOf(type, object, errors);
  },
  prepareUpdate: (object, old) => {
    if (lacksFields(object)) return;
    const errors = errorsOf(object);
    const { spec } = object;
    if (!isEqual(spec, old.spec)) errors.push({ type: "Invalid", field: "spec", message: immutable(spec) });
    if (errors.length > 0) throw refusalOf(type, object, errors);
  },
};

function errorsOf(object: KubeObject): FieldError[] {
  return [...nameErrors(object), ...approvalErrors(object), ...specErrors(object)];
}

function nameErrors(object: KubeObject): FieldError[] {
  const name = object.metadata.name ?? "";
  const plural = textAt(object, "spec", "names", "plural");
  if (plural === "") return [];
  const group = textAt(object, "spec", "group") || "core";
  const end = `.${plural}.${group}`;
  if (!name.endsWith(end)) return [invalid("metadata.name", name, `must end in ${end}`)];
  if (/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name.slice(0, -end.length))) return [];
  return [invalid("metadata.name", name, `must match ^[a-z]([-a-z0-9]*[a-z0-9])?$ in front of ${end}`)];
}

function approvalErrors(object: KubeObject): FieldError[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(textAt(object, "spec", "group"))) return [];
  const field = `metadata.annotations[${approval}]`;
  const given = object.metadata.annotations?.[approval];
  if (given === undefined || given === "") {
    const why = `protected groups must have approval annotation "${approval}", see https://github.com/kubernetes/enhancements/pull/1111`;
    return [required(field, why)];
  }
  if (given.startsWith("unapproved") || /^https?:\/\/[^/]+\/./.test(given)) return [];
  const why = `protected groups must have approval annotation "${approval}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`;
  return [invalid(field, given, why)];
}

function specErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const group = textAt(object, "spec", "group");
  if (group === "core") errors.push(invalid("spec.group", group, "must be empty string for the core group"));
  else if (group !== "") {
    const problems = subdomainProblems(group);
    if (problems.length > 0) errors.push(invalid("spec.group", group, problems.join(",")));
    else if (!group.includes(".") && !oneWordGroups.has(group)) {
      errors.push(invalid("spec.group", group, "should be a domain with at least one dot"));
    }
  }
  const versions = listAt(object, "spec", "versions");
  for (const [index, version] of versions.entries()) {
    const schema = valueAt(version, "schema");
    if (schema === undefined || schema === null) errors.push(required(`spec.versions[${index}].schema`));
  }
  const names = versions.map((version) => textAt(version, "name"));
  if (new Set(names).size < names.length) {
    errors.push(invalid("spec.versions", versions, "must contain unique version names"));
  }
  if (versions.filter((version) => valueAt(version, "storage") === true).length !== 1) {
    errors.push(invalid("spec.versions", versions, "must have exactly one version marked as storage version"));
  }
  for (const field of ["plural", "singular", "kind", "listKind"]) {
    if (textAt(object, "spec", "names", field) === "") errors.push(required(`spec.names.${field}`));
  }
  return errors;
}

/** What the schema requires comes before what kcp's own rules say. */
const lacksFields = (object: KubeObject): boolean =>
  ["group", "names", "scope", "versions"].some((field) => valueAt(object, "spec", field) === undefined) ||
  ["plural", "kind"].some((field) => valueAt(object, "spec", "names", field) === undefined);

/** Go prints the fields of what it knows in the order of their declaration, and those of a schema by name. */
function immutable(spec: unknown): string {
  const shown = {
    ...picked(spec, ["group"]),
    names: picked(valueAt(spec, "names"), ["plural", "singular", "shortNames", "kind", "listKind", "categories"]),
    ...picked(spec, ["scope"]),
    versions: listAt(spec, "versions").map((version) => ({
      ...picked(version, ["name", "served", "storage", "deprecated", "deprecationWarning"]),
      schema: sorted(valueAt(version, "schema")),
      ...picked(version, ["subresources", "additionalPrinterColumns"]),
    })),
    ...picked(spec, ["nameValidation", "conversion"]),
  };
  return `Invalid value: ${JSON.stringify(shown)}: is immutable`;
}

function picked(value: unknown, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const found = valueAt(value, name);
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(byKey)
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
