import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import { labelKeyProblems, labelValueProblems, subdomainProblems } from "@tmc/kube/selector.ts";
import type { ResourceDefinition } from "./definition.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "./machinery/field-error.ts";
import { goQuote } from "./machinery/go-text.ts";
import { isEqual } from "./machinery/json-value.ts";

const annotationLimitBytes = 256 * 1024;

/** What is wrong with the metadata of an object that is to be created. */
export function createdMetadataErrors(definition: ResourceDefinition, { metadata }: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const problemsOf = nameRule(definition);
  if (metadata.generateName !== undefined && metadata.generateName !== "") {
    // What is generated follows, so an open end is no fault.
    const masked = metadata.generateName.replace(/-$/, "a");
    errors.push(
      ...problemsOf(masked).map((problem) => invalid("metadata.generateName", metadata.generateName, problem)),
    );
  }
  if (metadata.name === undefined || metadata.name === "") {
    errors.push(required("metadata.name", "name or generateName is required"));
  } else {
    errors.push(...problemsOf(metadata.name).map((problem) => invalid("metadata.name", metadata.name, problem)));
  }
  if (definition.namespaced && (metadata.namespace === undefined || metadata.namespace === "")) {
    errors.push(required("metadata.namespace"));
  } else if (definition.namespaced) {
    const problems = labelProblems(metadata.namespace ?? "");
    errors.push(...problems.map((problem) => invalid("metadata.namespace", metadata.namespace, problem)));
  }
  const finalizers = metadata.finalizers ?? [];
  const named = definition.flavour === "builtin" ? qualifiedFinalizerErrors(finalizers) : [];
  return [...errors, ...commonErrors(metadata), ...finalizerErrors(finalizers), ...named];
}

/** What is wrong with the metadata of a changed object. */
export function updatedMetadataErrors(
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
  // A real server looks at metadata several times, for all types, for each type and for the whole object, and lists all.
  const whole = [...common, ...finalizers];
  const change = [...errors, ...common];
  const all = [...whole, ...change, ...change];
  if (definition.flavour !== "builtin") return all;
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
    errors.push(...labelKeyProblems(key).map((problem) => invalid("metadata.labels", key, problem)));
    errors.push(...labelValueProblems(value).map((problem) => invalid("metadata.labels", value, problem)));
  }
  let size = 0;
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    errors.push(...labelKeyProblems(key.toLowerCase()).map((problem) => invalid("metadata.annotations", key, problem)));
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
  // The one that definitions of custom types are given; it comes from before finalizers had domains.
  "customresourcecleanup.apiextensions.k8s.io",
]);

function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  const errors = finalizers.flatMap((name) =>
    labelKeyProblems(name).map((problem) => invalid("metadata.finalizers", name, problem)),
  );
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const why = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalid("metadata.finalizers", finalizers, why));
  }
  return errors;
}

/** Built-in types ask for more than custom ones: a finalizer is a standard one or has a domain. */
function qualifiedFinalizerErrors(finalizers: readonly string[]): FieldError[] {
  return finalizers.flatMap((name, index) => {
    const path = `metadata.finalizers[${index}]`;
    const errors = labelKeyProblems(name).map((problem) => invalid(path, name, problem));
    if (errors.length > 0 || name.includes("/") || standardFinalizers.has(name)) return errors;
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}

type Problems = (name: string) => string[];

function nameRule({ group, plural }: ResourceDefinition): Problems {
  if (group === "rbac.authorization.k8s.io") return pathSegmentProblems;
  return group === "" && (plural === "namespaces" || plural === "services") ? labelProblems : subdomainProblems;
}

/** What is wrong with a name as a part of a URL's path, in Kubernetes' words. */
export function pathSegmentProblems(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}

const labelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelExpression = new RegExp(`^${labelPattern}$`);

/** What a custom object's writer is warned of: finalizers that it adds and that could be anybody's. */
export function finalizerWarnings(finalizers: readonly string[] = [], old: readonly string[] = []): string[] {
  return finalizers
    .filter((name) => !old.includes(name) && !name.includes("/") && !standardFinalizers.has(name))
    .map(
      (name) =>
        `metadata.finalizers: "${name}": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
    );
}

/** What is wrong with a DNS label (the form of a namespace's name), in Kubernetes' words. */
export function labelProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 63) problems.push("must be no more than 63 bytes");
  if (!labelExpression.test(name)) {
    problems.push(
      `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${labelPattern}')`,
    );
  }
  return problems;
}
