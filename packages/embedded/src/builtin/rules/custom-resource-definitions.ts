import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isJsonPath } from "../../definitions/table.ts";
import { type FieldError, invalid, required } from "../../machinery/field-error.ts";
import { ensureObject, type MutableFields, recordAt, recordsAt, setDefault, textsAt } from "../../machinery/fields.ts";
import { supportedValueErrors } from "./pod-template.ts";
import type { BuiltinRules } from "./rules.ts";
import { structuralErrors } from "./structural-schema.ts";

/** Keeps a custom resource definition until its last instance is deleted. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export const customResourceDefinitionRules: BuiltinRules = {
  setDefaults: (crd) => {
    const spec = ensureObject(crd, "spec");
    const names = ensureObject(spec, "names");
    const kind = textAt(names, "kind");
    if (kind !== "") {
      setDefault(names, "singular", kind.toLowerCase());
      setDefault(names, "listKind", `${kind}List`);
    }
    setDefault(ensureObject(spec, "conversion"), "strategy", "None");
    if (spec.preserveUnknownFields === false) delete spec.preserveUnknownFields;
  },
  initialize: (crd) => {
    const stored = storageVersion(crd);
    crd.status = {
      acceptedNames: { kind: "", plural: "" },
      conditions: [],
      storedVersions: stored === undefined ? [] : [stored],
    };
  },
  preserve: (crd) => {
    const stored = storageVersion(crd);
    const status = ensureObject(crd, "status");
    if (stored !== undefined && !textsAt(status, "storedVersions").includes(stored)) {
      status.storedVersions = [...textsAt(status, "storedVersions"), stored];
    }
  },
  validate: (crd) => [...nameErrors(crd), ...versionsErrors(crd)],
  validateChange: (crd, old) => {
    const lost = textsAt(crd, "status", "storedVersions").flatMap((name, index) =>
      recordsAt(crd, "spec", "versions").some((version) => version.name === name)
        ? []
        : [
            invalid(
              `status.storedVersions[${index}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    );
    if (!isEstablished(old)) return lost;
    const fixed = [
      ["spec", "group"],
      ["spec", "scope"],
      ["spec", "names", "kind"],
      ["spec", "names", "plural"],
    ];
    return [
      ...lost,
      ...fixed
        .filter((path) => valueAt(crd, ...path) !== valueAt(old, ...path))
        .map((path) => invalid(path.join("."), valueAt(crd, ...path), "field is immutable")),
    ];
  },
  prepareDelete: (crd) => {
    crd.metadata.finalizers = [...new Set([...(crd.metadata.finalizers ?? []), cleanupFinalizer])];
  },
};

export function isEstablished(crd: KubeObject): boolean {
  return recordsAt(crd, "status", "conditions").some(({ type, status }) => type === "Established" && status === "True");
}

function storageVersion(crd: KubeObject): string | undefined {
  const version = recordsAt(crd, "spec", "versions").find(({ storage }) => storage === true);
  return version === undefined ? undefined : textAt(version, "name");
}

const label1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const label1035Message =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

function nameErrors(crd: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const spec = recordAt(crd, "spec");
  const group = textAt(spec, "group");
  const plural = textAt(spec, "names", "plural");
  const name = crd.metadata.name ?? "";
  if (name !== `${plural}.${group}`) {
    errors.push(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (group === "") errors.push(required("spec.group"));
  else if (!group.includes(".")) errors.push(invalid("spec.group", group, "should be a domain with at least one dot"));
  const approval = crd.metadata.annotations?.["api-approved.kubernetes.io"];
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(group) && approval === undefined) {
    errors.push(
      required(
        "metadata.annotations[api-approved.kubernetes.io]",
        'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ),
    );
  }
  if (textAt(spec, "scope") === "") errors.push(required("spec.scope"));
  else errors.push(...supportedValueErrors("spec.scope", spec.scope, ["Cluster", "Namespaced"]));
  for (const part of ["plural", "singular", "kind", "listKind"]) {
    const value = textAt(spec, "names", part);
    if (value === "") errors.push(required(`spec.names.${part}`));
    // Kinds are CamelCase; in lower case they must match the same pattern.
    else if (!label1035.test(part.endsWith("ind") ? value.toLowerCase() : value)) {
      errors.push(invalid(`spec.names.${part}`, value, label1035Message));
    }
  }
  return errors;
}

function versionsErrors(crd: KubeObject): FieldError[] {
  const versions = recordsAt(crd, "spec", "versions");
  const errors: FieldError[] = [];
  const stored = versions.filter(({ storage }) => storage === true);
  if (stored.length !== 1) {
    errors.push(invalid("spec.versions", versions, "must have exactly one version marked as storage version"));
  }
  const names = versions.map(({ name }) => name);
  if (new Set(names).size < names.length) {
    errors.push(invalid("spec.versions", versions, "must contain unique version names"));
  }
  if (stored.length === 0) {
    errors.push(invalid("status.storedVersions", null, "must have at least one stored version"));
  }
  if (valueAt(crd, "spec", "preserveUnknownFields") === true) {
    const why =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    errors.push(invalid("spec.preserveUnknownFields", true, why));
  }
  return [...errors, ...versions.flatMap((version, index) => versionErrors(version, `spec.versions[${index}]`))];
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];

function versionErrors(version: MutableFields, path: string): FieldError[] {
  const errors = structuralErrors(valueAt(version, "schema", "openAPIV3Schema"), `${path}.schema.openAPIV3Schema`);
  const name = textAt(version, "name");
  if (!label1035.test(name)) errors.push(invalid(`${path}.name`, name, label1035Message));
  for (const [index, column] of recordsAt(version, "additionalPrinterColumns").entries()) {
    const at = `${path}.additionalPrinterColumns[${index}]`;
    const { type, jsonPath } = column;
    if (textAt(column, "name") === "") errors.push(required(`${at}.name`));
    if (typeof type !== "string" || type === "")
      errors.push(required(`${at}.type`, `must be one of ${columnTypes.join(",")}`));
    else if (!columnTypes.includes(type)) {
      errors.push(invalid(`${at}.type`, type, `must be one of ${columnTypes.join(",")}`));
    }
    if (typeof jsonPath !== "string" || jsonPath === "") errors.push(required(`${at}.JSONPath`));
    else if (!jsonPath.startsWith(".") || !isJsonPath(jsonPath)) {
      errors.push(invalid(`${at}.JSONPath`, jsonPath, "must be a simple json path starting with ."));
    }
  }
  const scale = valueAt(version, "subresources", "scale");
  if (isRecord(scale)) {
    for (const [part, root] of [
      ["specReplicasPath", ".spec."],
      ["statusReplicasPath", ".status."],
    ] as const) {
      const value = textAt(scale, part);
      const at = `${path}.subresources.scale.${part}`;
      if (value === "") errors.push(required(at));
      else if (!value.startsWith(root))
        errors.push(invalid(at, value, `should be a json path under ${root.slice(0, -1)}`));
    }
  }
  return errors;
}
