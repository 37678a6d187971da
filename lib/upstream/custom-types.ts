import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ExportedType } from "../api/api-export.ts";
import { offeredKinds } from "../api/kinds.ts";
import { schemaOf } from "../api/resource-schema.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { statusStrategyAnnotation, statusSumAnnotation, typeStatusRule } from "../sync/status/strategy.ts";
import { fingerprintOfDefinition } from "../sync/targets/type-definition.ts";
import type { ExportAddress } from "./export/address.ts";
import { type ApiExport, apiExports, apiResourceSchemas } from "./kcp-types.ts";
import { clientOf } from "./logical-cluster.ts";

/** Of the annotations of a schema, what Kubernetes asks of a definition in its own groups. */
const approvalAnnotation = "api-approved.kubernetes.io";

/**
 * Reads the types that an operator has added to the export beside ours, as types of workloads. Those without namespaces are
 * left out: nothing keeps the objects of two tenants apart there.
 *
 * @param client at the server's root; it has to be allowed to read the export and its schemas
 */
export async function readCustomWorkloads(
  client: KubeClient,
  { path, name }: ExportAddress,
  signal?: AbortSignal,
): Promise<readonly WorkloadType[]> {
  const provider = clientOf(client, path);
  // Listed and not got: whoever only looks, as the relay does, may get nothing.
  const exports = await provider.listAll<ApiExport & KubeObject>({ type: apiExports }, { signal });
  const found = exports.items.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new ControllerError("not-found", `kcp: export ${path}:${name} is not there`);
  const { spec } = found;
  const ours = new Set(offeredKinds.map(({ plural, group }) => `${plural}.${group}`));
  const added = (spec?.resources ?? []).filter(({ name: plural, group }) => !ours.has(`${plural}.${group}`));
  if (added.length === 0) return [];
  const schemas = await provider.listAll<KubeObject>({ type: apiResourceSchemas }, { signal });
  const named = new Map(schemas.items.map((schema) => [schema.metadata.name ?? "", schema]));
  return added
    .map(({ schema }) => named.get(schema))
    .map((schema) => schema && customWorkload(schema))
    .filter((type) => type !== undefined);
}

/** Makes a type of workload of an APIResourceSchema; undefined for one without namespaces, or without a version that is stored. */
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
        fingerprint: fingerprintOfDefinition(definition),
        madeAt: metadata.creationTimestamp,
      },
      hasStatus: isRecord(version.subresources) && isRecord(version.subresources.status),
      statusRule: typeStatusRule(metadata.annotations),
    },
  };
}

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
