import type { ResourceType } from "@tmc/kube/kube-object.ts";

export type Scope = "Cluster" | "Namespaced";

/** A CustomResourceDefinition, as far as tests read it. */
export type Definition = Readonly<{
  apiVersion: "apiextensions.k8s.io/v1";
  kind: "CustomResourceDefinition";
  metadata: Readonly<{ name: string }>;
  spec: Readonly<{
    group: string;
    scope: Scope;
    names: Readonly<{ kind: string; listKind: string; plural: string; singular: string }>;
    versions: readonly Readonly<{
      name: string;
      served: boolean;
      storage: boolean;
      subresources: Readonly<{ status: object }>;
      schema: object;
    }>[];
  }>;
}>;

/** A definition of a custom type with a status, whose objects have these properties. */
export function aDefinition(
  { group, version, plural }: ResourceType,
  kind: string,
  properties: Readonly<Record<string, object>>,
  scope: Scope = "Namespaced",
): Definition {
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
}
