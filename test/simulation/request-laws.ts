import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import { formatKey, type ObjectKey, parseWorkloadKey } from "../../lib/model/key.ts";
import { syncedLabel } from "../../lib/sync/ownership/owner.ts";
import type { Cause, WorkRun } from "./cause.ts";
import { namespaceFor } from "./copies.ts";
import { workloadResources } from "./desired-workloads.ts";
import type { GuardLimits } from "./guard-law.ts";
import { whyNamespaceStays, whyNotApplied, whyNotEvicted, whyNotPruned } from "./removal-laws.ts";
import { type ResourcePath, resourcePathOf } from "./resource-path.ts";
import { tenantNamespaces } from "./servers.ts";
import { createWorkloadView, isClaimedKind, kindOf, type ViewedObject, type WorkloadView } from "./workload-view.ts";

/** Judges what controllers send to clusters by what they knew when they sent it. */
export interface RequestLaws {
  /** A request leaves for a cluster, for a workload of the tenant whose registration leads there. */
  check(request: TransportRequest, cause: Cause, registration: ObjectKey): void;
}

type RequestLawsOptions = Readonly<{ broken: (law: number, message: string) => void; limits: GuardLimits }>;

/** Identifies a deletion that was asked for. */
export function deletionId({ kind, namespace, name }: Readonly<Record<"kind" | "namespace" | "name", string>>): string {
  return kind === "Namespace" ? `Namespace/${name}` : `${kind}/${namespace}/${name}`;
}

/** Creates the laws of requests to clusters. */
export function createRequestLaws({ broken, limits }: RequestLawsOptions): RequestLaws {
  const checkDeletion = (view: WorkloadView, own: ViewedObject, path: ResourcePath, registration: string): void => {
    const { namespace, name } = path;
    const eviction = { view, workload: own, registration };
    const complain = (what: string, why: string | undefined): void => {
      if (why === undefined) return;
      const who = formatKey(view.run.item.key);
      broken(3, `${what} was to be deleted on ${view.tenant}/${registration} for ${who}: ${why}`);
    };
    if (path.plural === "namespaces") {
      const upstream = tenantNamespaces.find((each) => namespaceFor(view.tenant, each) === name);
      if (upstream !== undefined) complain(`namespace ${upstream}`, whyNamespaceStays(eviction, upstream));
      return;
    }
    const kind = kindOf(path.plural);
    if (kind === undefined) return;
    const object = { kind, namespace: own.namespace, name };
    const what = `${kind} ${own.namespace}/${name}`;
    if (namespace !== namespaceFor(view.tenant, own.namespace)) complain(what, "it is in another namespace");
    else if (kind === own.kind && name === own.name) complain(what, whyNotEvicted(eviction, limits));
    else if (isClaimedKind(kind)) complain(what, whyNotPruned(eviction, object));
    else complain(what, "it is the copy of another workload");
  };
  const checkWrite = (
    view: WorkloadView,
    own: ViewedObject,
    { plural, namespace, name }: ResourcePath,
    registration: string,
  ): void => {
    const isOwn = kindOf(plural) === own.kind && name === own.name;
    if (!isOwn || namespace !== namespaceFor(view.tenant, own.namespace)) return;
    const why = whyNotApplied({ view, workload: own, registration });
    if (why !== undefined) {
      const copy = `${own.kind} ${own.namespace}/${own.name}`;
      broken(3, `${copy} was to be written on ${view.tenant}/${registration}: ${why}`);
    }
  };
  return {
    check: (request, { process, work }, { logicalCluster, name: registration }) => {
      const own = work && workloadOf(work);
      const path = request.method === "GET" ? undefined : resourcePathOf(request.path);
      if (work !== undefined && path !== undefined && request.method === "DELETE") {
        work.deletions.add(deletionId({ ...path, kind: deletedKindOf(path.plural) }));
      }
      if (work === undefined || own === undefined || path === undefined) return;
      const view = createWorkloadView(process.view, work, logicalCluster);
      if (request.method === "DELETE") checkDeletion(view, own, path, registration);
      else if (request.method === "PATCH" && !isRelease(request)) checkWrite(view, own, path, registration);
    },
  };
}

/** The kind of a type that a controller may delete. */
function deletedKindOf(plural: string): string {
  if (plural === "namespaces") return "Namespace";
  return Object.entries(workloadResources).find(([, each]) => each.plural === plural)?.[0] ?? plural;
}

/** The workload that a run is about; undefined for a kind that no tenant of a run has. */
export function workloadOf({ item: { key } }: WorkRun): ViewedObject | undefined {
  const address = key.kind === "Workload" ? parseWorkloadKey(key) : undefined;
  const kind = address && kindOf(address.type.plural);
  return address === undefined || kind === undefined
    ? undefined
    : { kind, namespace: address.namespace, name: address.name };
}

/** Whether a request takes our mark from a copy, which is left to whoever has the cluster. */
function isRelease({ body = "" }: TransportRequest): boolean {
  return body.includes(`"${syncedLabel}":null`);
}
