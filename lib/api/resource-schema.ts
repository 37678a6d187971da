import { createHash } from "node:crypto";
import { byKey } from "@tmc/kube/compare.ts";
import { definitionNames, objectSchema, type ServedKind, versionProperties } from "./kind.ts";

/**
 * Returns the APIResourceSchema of a kind.
 *
 * The spec of an APIResourceSchema is immutable, so its name contains a hash of its content: the same content has the same
 * name, and changed content becomes a new object.
 */
export function apiResourceSchema(kind: ServedKind) {
  const spec = {
    group: kind.group,
    scope: kind.scope,
    names: definitionNames(kind),
    versions: [{ ...versionProperties(kind), schema: objectSchema(kind) }],
  };
  const hash = hashes.get(kind) ?? contentHash(spec);
  hashes.set(kind, hash);
  return withContentName(kind.version, hash, spec);
}

/** Cached content hashes: a kind never changes, and its schema is expensive to serialize. */
const hashes = new WeakMap<ServedKind, string>();

type SchemaSpec = Readonly<{
  group: string;
  scope: string;
  names: Readonly<{ plural: string }>;
  versions: readonly object[];
}>;

/** Returns the APIResourceSchema with the given spec, named by the hash of its content. */
export function resourceSchemaOf<T extends SchemaSpec>(version: string, spec: T) {
  return withContentName(version, contentHash(spec), spec);
}

function withContentName<T extends SchemaSpec>(version: string, hash: string, spec: T) {
  const { group } = spec;
  return {
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIResourceSchema",
    metadata: {
      name: `${version}-${hash}.${spec.names.plural}.${group === "" ? "core" : group}`,
      ...(isCommunityGroup(group)
        ? { annotations: { "api-approved.kubernetes.io": "unapproved, a part of the Kubernetes type, served by kcp" } }
        : {}),
    },
    spec,
  };
}

export function resourceSchemaName(kind: ServedKind): string {
  return apiResourceSchema(kind).metadata.name;
}

/** Returns whether Kubernetes protects the group: a definition in it needs the `api-approved.kubernetes.io` annotation. */
function isCommunityGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

function contentHash(content: unknown): string {
  return createHash("sha256").update(JSON.stringify(content, sortedKeys)).digest("hex").slice(0, 8);
}

/** JSON.stringify replacer that sorts keys, so that the hash does not depend on the order of fields in the source. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(byKey));
}

/** Returns the CustomResourceDefinition of a kind, for an upstream that is a plain Kubernetes cluster. */
export function customResourceDefinition(kind: ServedKind) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.scope,
      names: definitionNames(kind),
      versions: [{ ...versionProperties(kind), schema: { openAPIV3Schema: objectSchema(kind) } }],
    },
  };
}
