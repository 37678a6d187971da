import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { formatKey } from "../../lib/model/key.ts";
import { controlsOf } from "../../lib/sync/control-annotations.ts";
import { ownerOf, syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { recordName } from "../../lib/sync/ownership/record.ts";
import { upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { hasValidSelector, selectsWorkload } from "../../lib/sync/selection.ts";
import { logicalClusterAnnotation } from "../../lib/upstream/logical-cluster.ts";
import type { WorkRun } from "./cause.ts";
import { markOf, namespaceFor } from "./copies.ts";
import { type WorkloadKind, workloadResources } from "./desired-workloads.ts";
import { type Delivered, kcpServer, type ProcessView, type Source, type ViewAddress } from "./process-view.ts";

/** A workload, or an object that one refers to, by its name in kcp. */
export type ViewedObject = Readonly<{ kind: WorkloadKind; namespace: string; name: string }>;

/** Versions of one object; undefined where the server said that there is none. */
export type Versions<T> = readonly (T | undefined)[];

/** What one run of the work for a tenant may go by, of each object all versions. */
export interface WorkloadView {
  readonly tenant: string;
  readonly run: WorkRun;
  readonly view: ProcessView;
  workload(object: ViewedObject): Versions<KubeObject>;
  /** Whether kcp answered in this run that there is no such object. */
  isGone(object: ViewedObject): boolean;
  record(object: ViewedObject): Versions<WorkloadSync>;
  recordAddress(object: ViewedObject): ViewAddress;
  /** The versions of each record that the process has heard of. One that a complete list of this run lacks is gone. */
  records(): readonly Versions<WorkloadSync>[];
  workloads(kind: WorkloadKind): readonly Versions<KubeObject>[];
  /**
   * The versions of each placement, as of each record. That the recorded placement of a workload is gone is no reason to delete
   * a copy: `placement` goes by its own versions.
   */
  placements(): readonly Versions<WorkloadPlacement>[];
  placement(name: string): Versions<WorkloadPlacement>;
  registration(name: string): Versions<ClusterRegistration>;
  registrations(): readonly Versions<ClusterRegistration>[];
  copy(object: ViewedObject, registration: string): readonly Delivered[];
  /** What a cluster said of a copy in this run. */
  copySince(object: ViewedObject, registration: string, source: Source): readonly Delivered[];
  copyAddress(object: ViewedObject, registration: string): ViewAddress;
  isOwn(copy: KubeObject, registration: string): boolean;
}

/** The kinds that the laws of the history judge: those that every scenario has. */
const judgedKinds = ["Deployment", "Service", "ConfigMap", "Secret"] as const satisfies readonly WorkloadKind[];

/** The kind of objects of a type; undefined for one that the laws of the history do not judge. */
export function kindOf(plural: string): WorkloadKind | undefined {
  return judgedKinds.find((kind) => workloadResources[kind].plural === plural);
}

/** TMC adds no finalizer to these, so that nobody sees them being deleted. */
export const isClaimedKind = (kind: string): boolean => kind === "ConfigMap" || kind === "Secret";

/** Creates the view of a run. */
export function createWorkloadView(view: ProcessView, run: WorkRun, tenant: string): WorkloadView {
  const { began } = run;
  const registrationServer = (name: string): string =>
    formatKey({ logicalCluster: tenant, kind: "ClusterRegistration", name });
  const inKcp = (plural: string, namespace: string, name: string): ViewAddress => ({
    server: kcpServer,
    logicalCluster: tenant,
    plural,
    namespace,
    name,
  });
  // What is delivered under these paths is what the kinds' schemas let in.
  const versionsAt = <T>(plural: string, namespace: string, name: string): Versions<T> =>
    view.versions(began, inKcp(plural, namespace, name)).map(({ object }) => object as T | undefined);
  const allOf = <T>(plural: string): readonly Versions<T>[] =>
    view
      .all(began, { server: kcpServer, logicalCluster: tenant, plural })
      .map((versions) => versions.map(({ object }) => object as T | undefined));
  /** All objects of a kind; one that a complete list of this run lacks may be gone. */
  const listedOf = <T extends WorkloadSync | WorkloadPlacement>(plural: string): readonly Versions<T>[] =>
    allOf<T>(plural).map((versions) => {
      const { namespace = "", name = "" } = versions.find((each) => each !== undefined)?.metadata ?? {};
      return view.isUnlisted(began, inKcp(plural, namespace, name)) ? [...versions, undefined] : versions;
    });
  const withKind = (kind: WorkloadKind, object: KubeObject | undefined): KubeObject | undefined =>
    object === undefined ? undefined : { ...object, apiVersion: kind === "Deployment" ? "apps/v1" : "v1", kind };
  const copyAddress = ({ kind, namespace, name }: ViewedObject, registration: string): ViewAddress => ({
    server: registrationServer(registration),
    logicalCluster: "",
    plural: workloadResources[kind].plural,
    namespace: namespaceFor(tenant, namespace),
    name,
  });
  return {
    tenant,
    run,
    view,
    workload: ({ kind, namespace, name }) =>
      versionsAt<KubeObject>(workloadResources[kind].plural, namespace, name).map((each) => withKind(kind, each)),
    isGone: ({ kind, namespace, name }) =>
      view
        .since(began, inKcp(workloadResources[kind].plural, namespace, name), "read")
        .some(({ object }) => object === undefined),
    record: ({ kind, namespace, name }) =>
      versionsAt("workloadsyncs", namespace, recordName({ type: workloadResources[kind], name })),
    recordAddress: ({ kind, namespace, name }) =>
      inKcp("workloadsyncs", namespace, recordName({ type: workloadResources[kind], name })),
    records: () => listedOf<WorkloadSync>("workloadsyncs"),
    workloads: (kind) =>
      allOf<KubeObject>(workloadResources[kind].plural).map((all) => all.map((each) => withKind(kind, each))),
    placements: () => listedOf<WorkloadPlacement>("workloadplacements"),
    placement: (name) => versionsAt("workloadplacements", "", name),
    registration: (name) => versionsAt("clusterregistrations", "", name),
    registrations: () => allOf("clusterregistrations"),
    copyAddress,
    copy: (object, registration) => view.versions(began, copyAddress(object, registration)),
    copySince: (object, registration, source) => view.since(began, copyAddress(object, registration), source),
    isOwn: (copy, registration) => {
      const owner = ownerOf(copy);
      return (
        copy.metadata.labels?.[syncedLabel] === markOf(tenant) &&
        owner?.logicalCluster === tenant &&
        owner.registration === registration
      );
    },
  };
}

/** The versions of a workload that exist and are not being deleted. */
export function aliveOf(versions: Versions<KubeObject>): readonly KubeObject[] {
  return versions.flatMap((each) =>
    each === undefined || each.metadata.deletionTimestamp !== undefined ? [] : [each],
  );
}

/**
 * Whether a version of a placement selects a workload; undefined if its selector makes no sense, so that it says nothing. The
 * labels of namespaces are not part of the view: `mayDependOnNamespace` says where they count too.
 */
export function selects(placement: WorkloadPlacement | undefined, workload: KubeObject): boolean | undefined {
  if (placement === undefined || placement.metadata.deletionTimestamp !== undefined) return false;
  if (!hasValidSelector(placement)) return undefined;
  const { apiVersion, kind, metadata } = workload;
  const { labels, namespace = "" } = metadata;
  const facts = { apiVersion, kind, labels, namespace, namespaceLabels: undefined };
  if (!mayDependOnNamespace(placement)) return selectsWorkload(placement, facts);
  const { namespaceSelector: _, ...workloadSelector } = placement.spec.workloadSelector ?? {};
  return selectsWorkload({ ...placement, spec: { ...placement.spec, workloadSelector } }, facts);
}

export function mayDependOnNamespace(placement: WorkloadPlacement | undefined): boolean {
  return placement?.spec.workloadSelector?.namespaceSelector !== undefined;
}

/** The clusters that a version of a placement selects for a workload. One that was mirrored has no copy where its original is. */
export function targetsOf(placement: WorkloadPlacement, workload: KubeObject): readonly string[] {
  const tenant = workload.metadata.annotations?.[logicalClusterAnnotation] ?? "";
  const origin = upsyncOriginOf(workload, tenant)?.registration;
  const selected = (placement.status?.selectedClusters ?? []).filter(controlsOf(workload).allows);
  return selected.filter((name) => name !== origin);
}

/** How many replicas an object says are ready. */
export function readyReplicasOf({ status }: KubeObject): number {
  const { readyReplicas } = (status ?? {}) as Readonly<{ readyReplicas?: unknown }>;
  return typeof readyReplicas === "number" ? readyReplicas : 0;
}

/** How many replicas an object asks for. */
export function replicasOf({ spec }: KubeObject): number {
  const { replicas } = (spec ?? {}) as Readonly<{ replicas?: unknown }>;
  return typeof replicas === "number" ? replicas : 1;
}
