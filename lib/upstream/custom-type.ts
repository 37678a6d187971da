import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { ExportedType } from "../api/api-export.ts";
import { schemaOf } from "../api/resource-schema.ts";
import { statusStrategyAnnotation, statusSumAnnotation } from "../sync/status/strategy.ts";

/** A type that the operator adds to the export: what the export says of it, and the schema that goes with it. */
export type CustomType = Readonly<{ type: ExportedType; schema: ReturnType<typeof schemaOf> }>;

/** Of a CRD's version, what an APIResourceSchema has too; the schema itself is lifted out of its wrapping. */
const versionFields = ["name", "served", "storage", "deprecated", "deprecationWarning", "subresources"] as const;

/**
 * Reads a CustomResourceDefinition as a type for the export.
 *
 * @param where names the file, for messages
 */
export function parseCustomType(document: unknown, where: string): CustomType {
  const refuse = (why: string): ControllerError => new ControllerError("invalid", `${where}: ${why}`);
  if (!isRecord(document) || document.kind !== "CustomResourceDefinition" || !isRecord(document.spec)) {
    throw refuse("is not a CustomResourceDefinition");
  }
  if (document.apiVersion !== "apiextensions.k8s.io/v1") throw refuse("is not of apiextensions.k8s.io/v1");
  const { group, names, scope, versions } = document.spec;
  if (typeof group !== "string" || typeof scope !== "string" || !isRecord(names) || !Array.isArray(versions)) {
    throw refuse("lacks group, names, scope or versions");
  }
  const { plural } = names;
  if (typeof plural !== "string") throw refuse("lacks names.plural");
  // A conversion would have to come with it, and a webhook of a cluster cannot be reached from kcp.
  const [version, ...more] = versions.filter(isRecord);
  if (version === undefined || more.length > 0) {
    throw refuse(`${plural}.${group} has ${versions.length} versions; the export takes types with exactly one`);
  }
  const schema = isRecord(version.schema) ? version.schema.openAPIV3Schema : undefined;
  if (typeof version.name !== "string" || !isRecord(schema)) throw refuse(`${plural}.${group} has no schema`);
  const spec = {
    group,
    scope,
    names: { ...names, plural },
    versions: [
      {
        ...Object.fromEntries(
          versionFields.filter((field) => field in version).map((field) => [field, version[field]]),
        ),
        additionalPrinterColumns: version.additionalPrinterColumns ?? [],
        schema,
      },
    ],
  };
  const made = withAnnotations(schemaOf(version.name, spec), statusAnnotations(document.metadata));
  return { type: { group, plural, schema: made.metadata.name }, schema: made };
}

/** What the operator says in a definition of how statuses become one goes with the type. */
function statusAnnotations(metadata: unknown): Readonly<Record<string, string>> {
  const annotations = isRecord(metadata) && isRecord(metadata.annotations) ? metadata.annotations : {};
  return Object.fromEntries(
    [statusStrategyAnnotation, statusSumAnnotation].flatMap((name): [string, string][] => {
      const text = annotations[name];
      return typeof text === "string" ? [[name, text]] : [];
    }),
  );
}

function withAnnotations<T extends ReturnType<typeof schemaOf>>(schema: T, more: Readonly<Record<string, string>>): T {
  if (Object.keys(more).length === 0) return schema;
  return { ...schema, metadata: { ...schema.metadata, annotations: { ...schema.metadata.annotations, ...more } } };
}
