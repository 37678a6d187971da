import type { ObjectAddress } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectEvent } from "../model/event.ts";
import { createHubEvents, type HubEventsOptions } from "../upstream/events.ts";
import type { ExportAddress } from "../upstream/export/address.ts";
import { apiExports } from "../upstream/kcp-types.ts";
import { clientOf, type LogicalCluster, logicalClusters } from "../upstream/logical-cluster.ts";

/** An object beside which people read that a controller has started, and what that one looks after there. */
export type Landmark = Readonly<{ logicalCluster: string; address: ObjectAddress; served: string }>;

export type Served = Readonly<{
  /** The export whose tenants are looked after, in place of workspaces. */
  apiExport: ExportAddress | undefined;
  /** The workspaces; undefined for a plain Kubernetes cluster. */
  workspaces: readonly LogicalCluster[] | undefined;
}>;

const definitions: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

/**
 * Where the start of a controller is told: beside what makes a hub one of TMC's, and once, whatever it has of tenants and objects.
 *
 * That is the export for all of its tenants, who did not start anything and whose workspaces nothing is written to for it; the
 * LogicalCluster of each workspace that was named; the definition of registrations in a plain cluster.
 */
export function landmarksOf({ apiExport, workspaces }: Served): readonly Landmark[] {
  if (apiExport !== undefined) {
    const { path, name } = apiExport;
    return [
      { logicalCluster: path, address: { type: apiExports, name }, served: "the workspaces that bind this export" },
    ];
  }
  if (workspaces === undefined) {
    const name = `${clusterRegistration.plural}.${clusterRegistration.group}`;
    return [{ logicalCluster: "", address: { type: definitions, name }, served: "this cluster" }];
  }
  return workspaces.map(({ name: logicalCluster }) => ({
    logicalCluster: logicalCluster,
    address: { type: logicalClusters, name: "cluster" },
    served: "this workspace",
  }));
}

/** What is told: the same words for each start of a version, so that a process that starts again and again is one Event. */
export function eventOfStart(who: string, { served }: Pick<Landmark, "served">): ObjectEvent {
  return { type: "Normal", reason: "ControllerStarted", message: `${who} has started and looks after ${served}` };
}

/** Tells that a controller has started. Resolves when that is written or given up; nothing else comes of a refusal. */
export async function announceStart(
  { client, onTrouble, ...rest }: HubEventsOptions,
  { who, landmarks, signal }: Readonly<{ who: string; landmarks: readonly Landmark[]; signal: AbortSignal }>,
): Promise<void> {
  const events = createHubEvents({ client, onTrouble, ...rest });
  for (const landmark of landmarks) {
    const { logicalCluster, address } = landmark;
    try {
      const about = await clientOf(client, logicalCluster).get<KubeObject>(address, { signal });
      events.tell({ logicalCluster }, about, eventOfStart(who, landmark));
    } catch (error) {
      onTrouble?.(error, { logicalCluster, name: address.name });
    }
  }
  await events.whenTold();
}
