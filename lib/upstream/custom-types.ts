import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ExportedType } from "../api/api-export.ts";
import { offeredKinds } from "../api/kinds.ts";
import { resourceSchemaOf } from "../api/resource-schema.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { statusStrategyAnnotation, statusSumAnnotation, typeStatusRule } from "../sync/status/strategy.ts";
import { definitionHash } from "../sync/targets/type-definition.ts";
import type { ExportAddress } from "./export/address.ts";
import { type ApiExport, apiExports, apiResourceSchemas } from "./kcp-types.ts";
import { clientOf } from "./logical-cluster.ts";

/** Kubernetes requires this annotation on definitions in its own API groups. */
const approvalAnnotation = "api-approved.kubernetes.io";

/**
 * Reads the workload types that an operator has added to the export. Cluster-scoped types are left out, because the objects of
 * two tenants would collide downstream.
 *
 * @param client a client at the server's root that may list APIExports and APIResourceSchemas
 */
export async function readCustomWorkloads(
  client: KubeClient,
  { path, name }: ExportAddress,
  signal?: AbortSignal,
): Promise<readonly WorkloadType[]> {
  const provider = clientOf(client, path);
  // A list instead of a get: the user of the relay may only list and watch.
  const exports = await provider.listAll<ApiExport & KubeObject>({ type: apiExports }, { signal });
  const found = exports.items.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new ControllerError("not-found", `kcp: export ${path}:${name} does not exist`);
  const { spec } = found;
  const ours = new Set(offeredKinds.map(({ plural, group }) => `${plural}.${group}`));
  const added = (spec?.resources ?? []).filter(({ name: plural, group }) => !ours.has(`${plural}.${group}`));
  if (added.length === 0) return [];
  const schemas = await provider.listAll<KubeObject>({ type: apiResourceSchemas }, { signal });
  const byName = new Map(schemas.items.map((schema) => [schema.metadata.name ?? "", schema]));
  return added
    .map(({ schema }) => byName.get(schema))
    .map((schema) => schema && customWorkload(schema))
    .filter((type) => type !== undefined);
}

/** Converts an APIResourceSchema to a workload type; undefined if it is cluster-scoped or has no storage version. */
export function customWorkload({
  metadata,
  spec,
}: Readonly<{ metadata: KubeObject["metadata"]; spec?: unknown }>): WorkloadType | undefined {
  if (!isRecord(spec) || spec.scope !== "Namespaced" || !isRecord(spec.names) || !Array.isArray(spec.versions)) {
    return undefined;
  }
  const { group, names, scope } = spec;
  const { plural, kind } = names;
  const version = spec.versions.filter(isRecord).find(({ storage }) => storage === true);
  if (version === undefined || typeof version.name !== "string" || !isRecord(version.schema)) return undefined;
  if (typeof group !== "string" || typeof plural !== "string" || typeof kind !== "string") return undefined;
  const { schema, ...properties } = version;
  const definition = {
    group,
    names,
    scope,
    versions: [{ ...properties, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  };
  const approval = metadata.annotations?.[approvalAnnotation];
  return {
    type: { group, version: version.name, plural },
    apiVersion: group === "" ? version.name : `${group}/${version.name}`,
    kind,
    isOffered: true,
    custom: {
      definition: {
        name: `${plural}.${group}`,
        version: version.name,
        kind,
        spec: definition,
        ...(approval === undefined ? {} : { annotations: { [approvalAnnotation]: approval } }),
        fingerprint: definitionHash(definition),
        madeAt: metadata.creationTimestamp,
      },
      hasStatus: isRecord(version.subresources) && isRecord(version.subresources.status),
      statusRule: typeStatusRule(metadata.annotations),
    },
  };
}

/** A type that an operator adds to the export: its entry in the export, and its APIResourceSchema. */
export type CustomType = Readonly<{ type: ExportedType; schema: ReturnType<typeof resourceSchemaOf> }>;

/** The fields of a CRD version that an APIResourceSchema has too. The schema itself is one level higher there. */
const versionFields = ["name", "served", "storage", "deprecated", "deprecationWarning", "subresources"] as const;

/**
 * Converts a CustomResourceDefinition to a type for the export.
 *
 * @param file the name of the file, for messages
 */
export function parseCustomType(document: unknown, file: string): CustomType {
  const invalid = (reason: string): ControllerError => new ControllerError("invalid", `${file}: ${reason}`);
  if (!isRecord(document) || document.kind !== "CustomResourceDefinition" || !isRecord(document.spec)) {
    throw invalid("is not a CustomResourceDefinition");
  }
  if (document.apiVersion !== "apiextensions.k8s.io/v1") throw invalid("is not of apiextensions.k8s.io/v1");
  const { group, names, scope, versions } = document.spec;
  if (typeof group !== "string" || typeof scope !== "string" || !isRecord(names) || !Array.isArray(versions)) {
    throw invalid("lacks group, names, scope or versions");
  }
  const { plural } = names;
  if (typeof plural !== "string") throw invalid("lacks names.plural");
  // Several versions need a conversion webhook, and kcp cannot reach a webhook of a cluster.
  const [version, ...more] = versions.filter(isRecord);
  if (version === undefined || more.length > 0) {
    throw invalid(`${plural}.${group} has ${versions.length} versions; the export takes types with exactly one`);
  }
  const schema = isRecord(version.schema) ? version.schema.openAPIV3Schema : undefined;
  if (typeof version.name !== "string" || !isRecord(schema)) throw invalid(`${plural}.${group} has no schema`);
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
  const created = withAnnotations(resourceSchemaOf(version.name, spec), statusAnnotations(document.metadata));
  return { type: { group, plural, schema: created.metadata.name }, schema: created };
}

/** The annotations of a definition that configure how the statuses of copies are merged. */
function statusAnnotations(metadata: unknown): Readonly<Record<string, string>> {
  const annotations = isRecord(metadata) && isRecord(metadata.annotations) ? metadata.annotations : {};
  return Object.fromEntries(
    [statusStrategyAnnotation, statusSumAnnotation].flatMap((name): [string, string][] => {
      const text = annotations[name];
      return typeof text === "string" ? [[name, text]] : [];
    }),
  );
}

function withAnnotations<T extends ReturnType<typeof resourceSchemaOf>>(
  schema: T,
  more: Readonly<Record<string, string>>,
): T {
  if (Object.keys(more).length === 0) return schema;
  return { ...schema, metadata: { ...schema.metadata, annotations: { ...schema.metadata.annotations, ...more } } };
}
