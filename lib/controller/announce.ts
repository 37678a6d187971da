import type { ObjectAddress } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectEvent } from "../model/event.ts";
import { createEventSink, type EventSinkOptions } from "../upstream/events.ts";
import type { ExportAddress } from "../upstream/export/address.ts";
import { apiExports } from "../upstream/kcp-types.ts";
import { clientOf, type LogicalCluster, logicalClusters } from "../upstream/logical-cluster.ts";

/** An object on which the start of a controller is recorded as an Event, and the scope that the Event names. */
export type AnnouncementTarget = Readonly<{ logicalCluster: string; address: ObjectAddress; scopeText: string }>;

export type AnnouncementScope = Readonly<{
  /** The export whose tenants the controller reconciles, instead of workspaces. */
  apiExport: ExportAddress | undefined;
  /** Undefined for a plain Kubernetes cluster. */
  workspaces: readonly LogicalCluster[] | undefined;
}>;

const crdType: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

/**
 * The objects on which the start of a controller is recorded: one per workspace, export or plain cluster, not per tenant or object.
 *
 * With an export it is the APIExport itself, because nothing is written to the workspaces of tenants for it. Otherwise it is
 * the LogicalCluster of each named workspace, or the CRD of registrations in a plain cluster.
 */
export function announcementTargets({ apiExport, workspaces }: AnnouncementScope): readonly AnnouncementTarget[] {
  if (apiExport !== undefined) {
    const { path, name } = apiExport;
    return [
      { logicalCluster: path, address: { type: apiExports, name }, scopeText: "the workspaces that bind this export" },
    ];
  }
  if (workspaces === undefined) {
    const name = `${clusterRegistration.plural}.${clusterRegistration.group}`;
    return [{ logicalCluster: "", address: { type: crdType, name }, scopeText: "this cluster" }];
  }
  return workspaces.map(({ name: logicalCluster }) => ({
    logicalCluster,
    address: { type: logicalClusters, name: "cluster" },
    scopeText: "this workspace",
  }));
}

/** The Event. Its text is the same for each start of a version, so that repeated restarts are counted in one Event. */
export function startedEvent(processName: string, { scopeText }: Pick<AnnouncementTarget, "scopeText">): ObjectEvent {
  const message = `${processName} has started and reconciles ${scopeText}`;
  return { type: "Normal", reason: "ControllerStarted", message };
}

/** Records that a controller has started. Resolves when the Events were written or have failed; a failure is only reported. */
export async function announceStart(
  { client, onFailure, ...rest }: EventSinkOptions,
  {
    processName,
    targets,
    signal,
  }: Readonly<{ processName: string; targets: readonly AnnouncementTarget[]; signal: AbortSignal }>,
): Promise<void> {
  const events = createEventSink({ client, onFailure, ...rest });
  for (const target of targets) {
    const { logicalCluster, address } = target;
    try {
      const object = await clientOf(client, logicalCluster).get<KubeObject>(address, { signal });
      events.record({ logicalCluster }, object, startedEvent(processName, target));
    } catch (error) {
      onFailure?.(error, { logicalCluster, name: address.name });
    }
  }
  await events.whenFlushed();
}
