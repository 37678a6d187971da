import { definitionNames, objectSchema, type ServedKind, versionProperties } from "./kind.ts";

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
