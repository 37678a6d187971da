import { ApiError } from "@tmc/kube/errors.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { closestMatch } from "../../model/text.ts";
import { referenceId } from "../../sync/dependencies/references.ts";
import { downstreamNamespace, type Locator } from "../../sync/ownership/namespace-map.ts";
import { hubIdAnnotation, recordName } from "../../sync/ownership/record.ts";
import { findGoverningPlacement, type GoverningPlacement } from "../../sync/selection.ts";
import type { Workload } from "../../sync/sync-objects.ts";
import { legacyHubId } from "../../upstream/hub-identity.ts";
import { logicalClusterIn } from "../../upstream/logical-cluster.ts";
import { namespaceResource } from "../../upstream/watched-resources.ts";
import { type OpenWorkspace, resourceTypes } from "../workspace.ts";
import { type NamedWorkload, typeTitle, workloadTitle } from "./workload-argument.ts";
import type { WorkloadDetails } from "./workload-format.ts";
import { workloadView } from "./workload-view.ts";

/** A workload with the objects of its workspace that determine its placement and state. */
export type WorkloadRead = Readonly<{
  named: NamedWorkload;
  namespace: string;
  apiVersion: string;
  kind: string;
  workload: Workload | undefined;
  syncRecord: WorkloadSync | undefined;
  namespaceLabels: Readonly<Record<string, string>> | undefined;
  placements: readonly WorkloadPlacement[];
  registrations: readonly ClusterRegistration[];
  governing: GoverningPlacement<WorkloadPlacement> | undefined;
}>;

export type WorkloadReadOptions = Readonly<{
  namespace: string;
  /** Reads only the metadata of the workload, which avoids requesting the data of a Secret. */
  metadataOnly: boolean;
}>;

/** Reads a workload, its sync record, and the placements and registrations of the workspace. Throws when neither workload nor sync record exists. */
export async function readWorkload(
  workspace: OpenWorkspace,
  named: NamedWorkload,
  { namespace, metadataOnly }: WorkloadReadOptions,
): Promise<WorkloadRead> {
  const { client } = workspace;
  const { type, name } = named;
  // Metadata does not contain the kind of a custom resource, which selectors need.
  const reader = metadataOnly && named.kind !== undefined ? client.metadata : client;
  const recordAddress = { type: resourceTypes.syncRecords, namespace, name: recordName({ type, name }) };
  const [found, syncRecord, namespaceObject, placements, registrations] = await Promise.all([
    unlessNotFound(reader.get<KubeObject>({ type, namespace, name })),
    unlessNotFound(client.get<WorkloadSync>(recordAddress)),
    unlessNotFound(client.metadata.get<KubeObject>({ type: namespaceResource.type, name: namespace })),
    workspace.placements(),
    workspace.registrations(),
  ]);
  if (found === undefined && syncRecord === undefined) return throwNotFound(workspace, named, namespace);
  const apiVersion = named.apiVersion ?? syncRecord?.spec.workload.apiVersion ?? found?.apiVersion ?? "v1";
  const kind = named.kind ?? syncRecord?.spec.workload.kind ?? found?.kind ?? type.plural;
  const workload = found === undefined ? undefined : { ...found, apiVersion, kind };
  const namespaceLabels = namespaceObject?.metadata.labels;
  const { labels } = workload?.metadata ?? {};
  const governing =
    workload === undefined || workload.metadata.deletionTimestamp !== undefined
      ? undefined
      : findGoverningPlacement(
          placements,
          { apiVersion, kind, labels, namespace, namespaceLabels: namespaceLabels ?? {} },
          syncRecord?.spec.placement,
        );
  return {
    named,
    namespace,
    apiVersion,
    kind,
    workload,
    syncRecord,
    namespaceLabels,
    placements,
    registrations,
    governing,
  };
}

/** Reads the kind of a type from the server; undefined if the server does not serve the type. */
export async function readKind(
  { client }: OpenWorkspace,
  { group, version, plural }: ResourceType,
): Promise<string | undefined> {
  const { status, text } = await client.raw("GET", `/apis/${group}/${version}`);
  if (status !== 200) return undefined;
  const document: unknown = JSON.parse(text);
  const resources = isRecord(document) && Array.isArray(document.resources) ? document.resources.filter(isRecord) : [];
  const kind = resources.find(({ name }) => name === plural)?.kind;
  return typeof kind === "string" ? kind : undefined;
}

/**
 * Derives the details for output from the objects that were read. `kubeconfigOf` returns the path of a kubeconfig for a cluster,
 * if one is known.
 */
export function workloadDetails(
  read: WorkloadRead,
  kubeconfigOf: (targetCluster: string) => string | undefined,
): WorkloadDetails {
  const { named, namespace, apiVersion, kind, workload, syncRecord, registrations, governing } = read;
  const { name } = named;
  const title = workloadTitle({ apiVersion, kind, name });
  const view = workloadView({
    workload,
    syncRecord,
    placement: governing?.placement,
    registrations: byName(registrations),
  });
  const namespaceOnClusters = syncRecord && downstreamNamespace(locatorIn(read, syncRecord));
  const command = (targetCluster: string): string => {
    const path = kubeconfigOf(targetCluster);
    const where = path === undefined ? `--context ${targetCluster}` : `--kubeconfig ${path}`;
    return `kubectl ${where} -n ${namespaceOnClusters} get ${title}`;
  };
  return {
    title,
    downstreamNamespace: namespaceOnClusters,
    commands: new Map(
      namespaceOnClusters === undefined
        ? []
        : view.copies.map(({ targetCluster }) => [targetCluster, command(targetCluster)]),
    ),
    apiVersion,
    kind,
    namespace,
    name,
    generation: workload?.metadata.generation,
    placement: governing?.placement,
    otherPlacements: governing?.others ?? [],
    references: (syncRecord?.spec.references ?? []).map(referenceId),
    view,
  };
}

/** Returns what distinguishes the copies of a workload on a cluster from those of other namespaces, tenants and hubs. */
function locatorIn({ workload, namespace }: WorkloadRead, syncRecord: WorkloadSync): Locator {
  const hub = syncRecord.metadata.annotations?.[hubIdAnnotation] ?? legacyHubId;
  return { hub, logicalCluster: logicalClusterIn(workload ?? syncRecord), namespace };
}

/** Indexes objects by name. */
export function byName<T extends Readonly<{ metadata: Readonly<{ name?: string }> }>>(
  objects: readonly T[],
): ReadonlyMap<string, T> {
  return new Map(objects.map((each) => [each.metadata.name ?? "", each]));
}

/** Returns undefined when the object does not exist; a 404 because the type is not served remains an error. */
export async function unlessNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  return request.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404 && error.body?.details?.name !== undefined) return undefined;
    throw error;
  });
}

async function throwNotFound({ client }: OpenWorkspace, named: NamedWorkload, namespace: string): Promise<never> {
  const { items } = await client.metadata.listAll<KubeObject>({ type: named.type, namespace });
  const names = items.map(({ metadata }) => metadata.name ?? "");
  const similar = closestMatch(named.name, names);
  const hint = similar === undefined ? "" : ` (did you mean ${similar}?)`;
  throw new Error(`${typeTitle(named)} "${named.name}": not found in namespace ${namespace}${hint}`);
}
