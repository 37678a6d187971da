import { createHash } from "node:crypto";
import { byKey } from "@tmc/kube/compare.ts";
import { definitionNames, objectSchema, type ServedKind, versionProperties } from "./kind.ts";

/**
 * The APIResourceSchema of a kind, for kcp.
 *
 * A schema's spec can never be changed once it is stored, so its name follows from its content: the same content has
 * the same name, and a changed one is a new object beside the old.
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
  return named(kind.version, hash, spec);
}

/** A kind never changes, and its schema is long. */
const hashes = new WeakMap<ServedKind, string>();

/** What an APIResourceSchema says of its type. */
type SchemaSpec = Readonly<{
  group: string;
  scope: string;
  names: Readonly<{ plural: string }>;
  versions: readonly object[];
}>;

/** The APIResourceSchema with that content, named for it. */
export function schemaOf<T extends SchemaSpec>(version: string, spec: T) {
  return named(version, contentHash(spec), spec);
}

function named<T extends SchemaSpec>(version: string, hash: string, spec: T) {
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

/** The name of a kind's APIResourceSchema. */
export function resourceSchemaName(kind: ServedKind): string {
  return apiResourceSchema(kind).metadata.name;
}

/** Groups that Kubernetes keeps for itself; a definition in them must say that it was not approved. */
function isCommunityGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

function contentHash(content: unknown): string {
  return createHash("sha256").update(JSON.stringify(content, sortedKeys)).digest("hex").slice(0, 8);
}

/** Makes the text that is hashed independent of the order in which the source happens to name its fields. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(byKey));
}

/** The CustomResourceDefinition of a kind, for hubs that are plain Kubernetes clusters. */
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
