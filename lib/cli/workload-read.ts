import { ApiError } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { closestMatch } from "../model/text.ts";
import { referenceId } from "../sync/decide.ts";
import { recordName } from "../sync/ownership/record.ts";
import { type Governing, governing } from "../sync/selection.ts";
import type { Workload } from "../sync/sync-objects.ts";
import { namespaceLane } from "../upstream/watched-resources.ts";
import type { ShownWorkload } from "./workload-format.ts";
import { viewOf } from "./workload-view.ts";
import { type NamedWorkload, typeTitle, workloadTitle } from "./workload-words.ts";
import { resourceTypes, type Workspace } from "./workspace.ts";

/** All that a workspace knows of one workload. */
export type ReadWorkload = Readonly<{
  named: NamedWorkload;
  namespace: string;
  apiVersion: string;
  kind: string;
  workload: Workload | undefined;
  record: WorkloadSync | undefined;
  namespaceLabels: Readonly<Record<string, string>> | undefined;
  placements: readonly WorkloadPlacement[];
  clusters: readonly ClusterRegistration[];
  governed: Governing<WorkloadPlacement> | undefined;
}>;

export type ReadOptions = Readonly<{
  namespace: string;
  /** Whether only the metadata of the workload is needed; what a Secret holds is not asked for then. */
  metadataOnly: boolean;
}>;

/** Reads a workload and everything that says where it belongs and where it is. Fails when there never was any. */
export async function readWorkload(
  workspace: Workspace,
  named: NamedWorkload,
  { namespace, metadataOnly }: ReadOptions,
): Promise<ReadWorkload> {
  const { client } = workspace;
  const { type, name } = named;
  const reader = metadataOnly ? client.metadata : client;
  const recordAt = { type: resourceTypes.records, namespace, name: recordName({ type, name }) };
  const [found, record, home, placements, clusters] = await Promise.all([
    present(reader.get<KubeObject>({ type, namespace, name })),
    present(client.get<WorkloadSync>(recordAt)),
    present(client.metadata.get<KubeObject>({ type: namespaceLane.type, name: namespace })),
    workspace.placements(),
    workspace.clusters(),
  ]);
  if (found === undefined && record === undefined) return refuseMissing(workspace, named, namespace);
  const apiVersion = named.apiVersion ?? record?.spec.workload.apiVersion ?? found?.apiVersion ?? "v1";
  const kind = named.kind ?? record?.spec.workload.kind ?? (metadataOnly ? undefined : found?.kind) ?? type.plural;
  const workload = found === undefined ? undefined : { ...found, apiVersion, kind };
  const namespaceLabels = home?.metadata.labels;
  const { labels } = workload?.metadata ?? {};
  const governed =
    workload === undefined || workload.metadata.deletionTimestamp !== undefined
      ? undefined
      : governing(
          placements,
          { apiVersion, kind, labels, namespace, namespaceLabels: namespaceLabels ?? {} },
          record?.spec.placement,
        );
  return { named, namespace, apiVersion, kind, workload, record, namespaceLabels, placements, clusters, governed };
}

/** What was read, as it is shown. */
export function shownOf(read: ReadWorkload): ShownWorkload {
  const { named, namespace, apiVersion, kind, workload, record, clusters, governed } = read;
  const { name } = named;
  return {
    title: workloadTitle({ apiVersion, kind, name }),
    apiVersion,
    kind,
    namespace,
    name,
    generation: workload?.metadata.generation,
    placement: governed?.placement,
    others: governed?.others ?? [],
    references: (record?.spec.references ?? []).map(referenceId),
    view: viewOf({ workload, record, placement: governed?.placement, clusters: byName(clusters) }),
  };
}

/** Registrations by their names. */
export function byName<T extends Readonly<{ metadata: Readonly<{ name?: string }> }>>(
  objects: readonly T[],
): ReadonlyMap<string, T> {
  return new Map(objects.map((each) => [each.metadata.name ?? "", each]));
}

/** The answer, or undefined where the server says that there is no such object; a type that is not served stays an error. */
export async function present<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404 && error.body?.details?.name !== undefined) return undefined;
    throw error;
  });
}

async function refuseMissing({ client }: Workspace, named: NamedWorkload, namespace: string): Promise<never> {
  const { items } = await client.metadata.listAll<KubeObject>({ type: named.type, namespace });
  const names = items.map(({ metadata }) => metadata.name ?? "");
  const similar = closestMatch(named.name, names);
  const hint = similar === undefined ? "" : ` (did you mean ${similar}?)`;
  throw new Error(`${typeTitle(named)} "${named.name}": there is none in namespace ${namespace}${hint}`);
}
