import { byKey } from "@tmc/kube/compare.ts";
import { isFields, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";
import type { ResourceHooks } from "../../definitions/definition.ts";
import { type FieldError, invalid, required } from "../../machinery/field-error.ts";
import { listAt } from "../../machinery/fields.ts";
import { isEqual, isList } from "../../machinery/json-value.ts";
import { fieldRejection } from "./rejection.ts";

const type = { group: "apis.kcp.io", plural: "apiresourceschemas" };
const approval = "api-approved.kubernetes.io";

/** Kubernetes' own groups without a dot. */
const dotlessGroups: ReadonlySet<string> = new Set(["apps", "batch", "extensions", "policy", "autoscaling"]);

/** Admission of APIResourceSchemas: name, group and approval annotation are checked, and the spec is immutable. */
export const resourceSchemaHooks: ResourceHooks = {
  prepareCreate: (object) => {
    if (subdomainErrors(object.metadata.name ?? "").length > 0 || lacksFields(object)) return;
    const errors = errorsOf(object);
    if (errors.length > 0) throw fieldRejection(type, object, errors);
  },
  prepareUpdate: (object, old) => {
    if (lacksFields(object)) return;
    const errors = errorsOf(object);
    const { spec } = object;
    if (!isEqual(spec, old.spec)) errors.push({ type: "Invalid", field: "spec", message: immutable(spec) });
    if (errors.length > 0) throw fieldRejection(type, object, errors);
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
  const value = object.metadata.annotations?.[approval];
  if (value === undefined || value === "") {
    const why = `protected groups must have approval annotation "${approval}", see https://github.com/kubernetes/enhancements/pull/1111`;
    return [required(field, why)];
  }
  if (value.startsWith("unapproved") || /^https?:\/\/[^/]+\/./.test(value)) return [];
  const why = `protected groups must have approval annotation "${approval}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`;
  return [invalid(field, value, why)];
}

function specErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const group = textAt(object, "spec", "group");
  if (group === "core") errors.push(invalid("spec.group", group, "must be empty string for the core group"));
  else if (group !== "") {
    const messages = subdomainErrors(group);
    if (messages.length > 0) errors.push(invalid("spec.group", group, messages.join(",")));
    else if (!group.includes(".") && !dotlessGroups.has(group)) {
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

/** If required fields are missing, schema validation reports that first. */
const lacksFields = (object: KubeObject): boolean =>
  ["group", "names", "scope", "versions"].some((field) => valueAt(object, "spec", field) === undefined) ||
  ["plural", "kind"].some((field) => valueAt(object, "spec", "names", field) === undefined);

/**
 * Prints a spec as Go does: struct fields in the order of their declaration, fields of a JSON schema sorted by name.
 */
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
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(byKey)
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
