import { ApiError } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { allWorkloadTypes, claimedWorkloads, isClaimed, typeId } from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { isReservedNamespace } from "../../sync/ownership/namespace-map.ts";
import { recordName } from "../../sync/ownership/record.ts";
import { findGoverningPlacement, selectedTypes } from "../../sync/selection.ts";
import type { Workload } from "../../sync/sync-objects.ts";
import { namespaceResource } from "../../upstream/watched-resources.ts";
import { UsageError } from "../cli-io.ts";
import type { OpenWorkspace } from "../workspace.ts";
import { isRecordOfType, type NamedType, parseWorkloadType, typeOfRecord } from "./workload-argument.ts";
import { listedWorkloads, type UnrecordedWorkload } from "./workload-list.ts";

export type WorkloadFilter = Readonly<{
  /** @default all types that TMC syncs */
  type: NamedType | undefined;
  /** @default all namespaces */
  namespace: string | undefined;
  labelSelector: string | undefined;
}>;

/** The workloads of a workspace, with everything that determines their state. */
export type WorkloadsRead = Readonly<{
  syncRecords: readonly WorkloadSync[];
  unrecorded: readonly UnrecordedWorkload[];
  placements: readonly WorkloadPlacement[];
  registrations: readonly ClusterRegistration[];
  /** The types that the user may not list: of these, only workloads with a sync record are known. */
  forbidden: readonly string[];
}>;

/** Reads the sync records of a workspace, and the workloads that have none. */
export async function readWorkloads(workspace: OpenWorkspace, filter: WorkloadFilter): Promise<WorkloadsRead> {
  const { type, namespace, labelSelector } = filter;
  const [placements, registrations, allRecords] = await Promise.all([
    workspace.placements(),
    workspace.registrations(),
    workspace.syncRecords(namespace),
  ]);
  const records = allRecords.filter((record) => type === undefined || isRecordOfType(record, type));
  const [{ objects, forbidden }, namespaceLabels] = await Promise.all([
    listObjects(workspace, type === undefined ? listedTypes(records, placements) : [type], filter),
    readNamespaceLabels(workspace, placements),
  ]);
  const keyOf = (inNamespace: string | undefined, record: string | undefined): string => `${inNamespace}/${record}`;
  const found = new Set(objects.map(({ workload, record }) => keyOf(workload.metadata.namespace, record)));
  const recorded = new Set(records.map(({ metadata }) => keyOf(metadata.namespace, metadata.name)));
  const unrecorded = objects
    .filter(({ workload, record }) => !recorded.has(keyOf(workload.metadata.namespace, record)))
    .map(({ workload }) => ({ workload, placement: placementFor(workload, placements, namespaceLabels) }))
    // Objects of claimed types are synced with the workloads that reference them: most need no placement of their own.
    .filter(({ workload, placement }) => placement !== undefined || !isOfClaimedType(workload));
  return {
    // A sync record has no labels: the selector applies to its workload.
    syncRecords:
      labelSelector === undefined
        ? records
        : records.filter(({ metadata }) => found.has(keyOf(metadata.namespace, metadata.name))),
    unrecorded,
    placements,
    registrations,
    forbidden,
  };
}

type ListedObjects = Readonly<{
  objects: readonly Readonly<{ workload: Workload; record: string }>[];
  forbidden: readonly string[];
}>;

/** The types that TMC syncs: of the claimed ones those that a placement selects, of the custom ones those that have a sync record. */
function listedTypes(records: readonly WorkloadSync[], placements: readonly WorkloadPlacement[]): readonly NamedType[] {
  const known = allWorkloadTypes();
  const selected = new Set(selectedTypes(placements, known));
  const types: readonly NamedType[] = [
    ...known.filter((each) => !isClaimed(each) || selected.has(each)),
    ...records.flatMap((record) => typeOfRecord(record) ?? []),
  ];
  return [...new Map(types.map((each) => [typeId(each.type), each])).values()];
}

/** Lists the metadata of workloads. Types that the server does not serve are left out, unless the user names one. */
async function listObjects(
  { client }: OpenWorkspace,
  types: readonly NamedType[],
  { type, namespace, labelSelector }: WorkloadFilter,
): Promise<ListedObjects> {
  const lists = await Promise.all(
    types.map(async (each): Promise<ListedObjects> => {
      // Only the server knows the kind of a custom resource, and metadata does not contain it.
      const reader = each.kind === undefined ? client : client.metadata;
      try {
        const { items } = await reader.listAll<KubeObject>({ type: each.type, namespace }, { labelSelector });
        const objects = items.map((item) => {
          const kind = each.kind ?? item.kind ?? each.type.plural;
          const workload = { ...item, apiVersion: each.apiVersion ?? item.apiVersion ?? "v1", kind };
          return { workload, record: recordName({ type: each.type, name: item.metadata.name ?? "" }) };
        });
        return { objects, forbidden: [] };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 404 && type === undefined) return { objects: [], forbidden: [] };
        if (error.status === 403) return { objects: [], forbidden: [each.type.plural] };
        throw error;
      }
    }),
  );
  return {
    objects: lists
      .flatMap(({ objects }) => objects)
      .filter(({ workload }) => !isReservedNamespace(workload.metadata.namespace ?? "")),
    forbidden: lists.flatMap(({ forbidden }) => forbidden),
  };
}

type NamespaceLabels = ReadonlyMap<string, Readonly<Record<string, string>> | undefined>;

/** Returns the labels of all namespaces, if a placement selects by them. */
async function readNamespaceLabels(
  { client }: OpenWorkspace,
  placements: readonly WorkloadPlacement[],
): Promise<NamespaceLabels> {
  if (placements.every(({ spec }) => spec.workloadSelector?.namespaceSelector === undefined)) return new Map();
  const { items } = await client.metadata.listAll<KubeObject>({ type: namespaceResource.type });
  return new Map(items.map(({ metadata }) => [metadata.name ?? "", metadata.labels]));
}

function placementFor(
  { apiVersion, kind, metadata }: Workload,
  placements: readonly WorkloadPlacement[],
  labelsOf: NamespaceLabels,
): WorkloadPlacement | undefined {
  const { namespace = "", labels, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return undefined;
  const workload = { apiVersion, kind, labels, namespace, namespaceLabels: labelsOf.get(namespace) ?? {} };
  return findGoverningPlacement(placements, workload, undefined)?.placement;
}

function isOfClaimedType({ apiVersion, kind }: Workload): boolean {
  return claimedWorkloads.some((each) => each.apiVersion === apiVersion && each.kind === kind);
}

/**
 * Returns the workloads of a namespace in the form that completes the last word: `deploy/web` after `deploy/`, `web` after the
 * word `deploy`, and otherwise `deployment.apps/web`.
 */
export async function workloadNames(
  workspace: OpenWorkspace,
  { namespace, words }: Readonly<{ namespace: string; words: readonly string[] }>,
): Promise<readonly string[]> {
  const [before = "", current = ""] = words.slice(-2);
  const slash = current.indexOf("/");
  const prefix = slash < 0 ? "" : current.slice(0, slash);
  const type = typeNamed(slash < 0 ? before : prefix);
  const { syncRecords, unrecorded } = await readWorkloads(workspace, { type, namespace, labelSelector: undefined });
  const listed = listedWorkloads(syncRecords, { placements: new Map(), registrations: new Map() }, unrecorded);
  if (type === undefined) return listed.map(({ title }) => title);
  return listed.map(({ name }) => (slash < 0 ? name : `${prefix}/${name}`));
}

function typeNamed(word: string): NamedType | undefined {
  try {
    return parseWorkloadType(word);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
