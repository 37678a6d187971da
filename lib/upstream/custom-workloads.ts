import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { offeredKinds } from "../api/offered-kinds.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { typeStatusRule } from "../sync/status/strategy.ts";
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
