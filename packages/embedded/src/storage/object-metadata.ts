import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import { labelKeyErrors, labelValueErrors, subdomainErrors } from "@tmc/kube/selector.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "../machinery/field-error.ts";
import { goQuote } from "../machinery/go-text.ts";
import { isEqual } from "../machinery/json-value.ts";

const annotationLimitBytes = 256 * 1024;

/** Validates the metadata of a new object. */
export function createMetadataErrors(definition: ResourceDefinition, { metadata }: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const nameErrors = nameRule(definition);
  if (metadata.generateName !== undefined && metadata.generateName !== "") {
    // A suffix follows, so a trailing dash is valid.
    const masked = metadata.generateName.replace(/-$/, "a");
    errors.push(
      ...nameErrors(masked).map((message) => invalid("metadata.generateName", metadata.generateName, message)),
    );
  }
  if (metadata.name === undefined || metadata.name === "") {
    errors.push(required("metadata.name", "name or generateName is required"));
  } else {
    errors.push(...nameErrors(metadata.name).map((message) => invalid("metadata.name", metadata.name, message)));
  }
  if (definition.namespaced && (metadata.namespace === undefined || metadata.namespace === "")) {
    errors.push(required("metadata.namespace"));
  } else if (definition.namespaced) {
    const namespaceErrors = dnsLabelErrors(metadata.namespace ?? "");
    errors.push(...namespaceErrors.map((message) => invalid("metadata.namespace", metadata.namespace, message)));
  }
  const finalizers = metadata.finalizers ?? [];
  const named = definition.flavor === "builtin" ? qualifiedFinalizerErrors(finalizers) : [];
  return [...errors, ...commonErrors(metadata), ...finalizerErrors(finalizers), ...named];
}

/** Validates the metadata of an updated object. */
export function updateMetadataErrors(
  definition: ResourceDefinition,
  { metadata }: KubeObject,
  { metadata: old }: KubeObject,
): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const added = (metadata.finalizers ?? []).filter((name) => old.finalizers?.includes(name) !== true).toSorted();
    if (added.length > 0) {
      const shown = `[]string{${[...new Set(added)].map(goQuote).join(", ")}}`;
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
      errors.push(forbidden("metadata.finalizers", why));
    }
  }
  for (const field of immutableFields) {
    if (!isEqual(metadata[field], old[field])) {
      errors.push(invalid(`metadata.${field}`, metadata[field] ?? null, "field is immutable"));
    }
  }
  const common = commonErrors(metadata);
  const finalizers = finalizerErrors(metadata.finalizers ?? []);
  // A real server validates metadata several times (for all types, for the type, for the whole object) and lists all
  // errors.
  const whole = [...common, ...finalizers];
  const change = [...errors, ...common];
  const all = [...whole, ...change, ...change];
  if (definition.flavor !== "builtin") return all;
  const named = qualifiedFinalizerErrors(metadata.finalizers ?? []);
  return definition.withoutGeneration === true ? [...all, ...named, ...whole, ...named] : [...all, ...named];
}

const immutableFields = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const satisfies readonly (keyof ObjectMeta)[];

function commonErrors(metadata: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    errors.push(...labelKeyErrors(key).map((message) => invalid("metadata.labels", key, message)));
    errors.push(...labelValueErrors(value).map((message) => invalid("metadata.labels", value, message)));
  }
  let size = 0;
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    errors.push(...labelKeyErrors(key.toLowerCase()).map((message) => invalid("metadata.annotations", key, message)));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > annotationLimitBytes) errors.push(tooLong("metadata.annotations", annotationLimitBytes));
  let controller: string | undefined;
  for (const owner of metadata.ownerReferences ?? []) {
    const path = "metadata.ownerReferences";
    if ((owner.apiVersion ?? "") === "") errors.push(invalid(`${path}.apiVersion`, "", "version must not be empty"));
    if ((owner.kind ?? "") === "") errors.push(invalid(`${path}.kind`, "", "must not be empty"));
    if ((owner.name ?? "") === "") errors.push(invalid(`${path}.name`, "", "must not be empty"));
    if ((owner.uid ?? "") === "") errors.push(invalid(`${path}.uid`, "", "must not be empty"));
    if (owner.controller === true) {
      const name = `${owner.kind}/${owner.name}`;
      if (controller !== undefined) {
        const why = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
        errors.push(invalid(path, metadata.ownerReferences, why));
      } else {
        controller = name;
      }
    }
  }
  return errors;
}

const standardFinalizers = new Set([
  "kubernetes",
  "orphan",
  "foregroundDeletion",
  // The finalizer of custom resource definitions has no domain.
  "customresourcecleanup.apiextensions.k8s.io",
]);

function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  const errors = finalizers.flatMap((name) =>
    labelKeyErrors(name).map((message) => invalid("metadata.finalizers", name, message)),
  );
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const why = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalid("metadata.finalizers", finalizers, why));
  }
  return errors;
}

/** Built-in types accept only standard and domain-qualified finalizers. */
function qualifiedFinalizerErrors(finalizers: readonly string[]): FieldError[] {
  return finalizers.flatMap((name, index) => {
    const path = `metadata.finalizers[${index}]`;
    const errors = labelKeyErrors(name).map((message) => invalid(path, name, message));
    if (errors.length > 0 || name.includes("/") || standardFinalizers.has(name)) return errors;
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}

type NameRule = (name: string) => string[];

function nameRule({ group, plural }: ResourceDefinition): NameRule {
  if (group === "rbac.authorization.k8s.io") return pathSegmentErrors;
  return group === "" && (plural === "namespaces" || plural === "services") ? dnsLabelErrors : subdomainErrors;
}

/** Validates a name as a path segment, with Kubernetes' messages. */
function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}

const labelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelExpression = new RegExp(`^${labelPattern}$`);

/** Warnings about added finalizers without a domain; for custom types. */
export function finalizerWarnings(finalizers: readonly string[] = [], old: readonly string[] = []): string[] {
  return finalizers
    .filter((name) => !old.includes(name) && !name.includes("/") && !standardFinalizers.has(name))
    .map(
      (name) =>
        `metadata.finalizers: "${name}": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
    );
}

/** Validates a DNS label, for example a namespace's name, with Kubernetes' messages. */
function dnsLabelErrors(name: string): string[] {
  const messages: string[] = [];
  if (name.length > 63) messages.push("must be no more than 63 bytes");
  if (!labelExpression.test(name)) {
    messages.push(
      `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${labelPattern}')`,
    );
  }
  return messages;
}
