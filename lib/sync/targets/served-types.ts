import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { onCluster } from "../cluster-timeout.ts";
import { registrationKey, type Scene, type SyncTools } from "../observed.ts";
import type { SyncCluster } from "../sync-objects.ts";
import type { Obstacle } from "./decide.ts";

/** Why a cluster cannot be given objects of a type, and when to look again. */
export type TypeTrouble = Readonly<{ obstacle: Obstacle; againSeconds: number }>;

/**
 * Finds the clusters that should have a copy and do not serve its type. Where the placement says so they are given it; nobody
 * waits for that here. What a cluster said of its types some minutes ago counts as long as it says yes.
 */
export async function typesServed(
  tools: SyncTools,
  scene: Scene,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TypeTrouble>> {
  const { clusters, intent, controls } = scene;
  const troubles = new Map<string, TypeTrouble>();
  if (controls.stopped !== undefined) return troubles;
  await Promise.all(
    intent.targets.map(async (name) => {
      const cluster = clusters.get(name);
      if (cluster?.isReady !== true) return;
      const trouble = await troubleOn(tools, scene, cluster, signal);
      if (trouble !== undefined) troubles.set(name, trouble);
    }),
  );
  return troubles;
}

async function troubleOn(
  tools: SyncTools,
  scene: Scene,
  cluster: SyncCluster,
  signal: AbortSignal,
): Promise<TypeTrouble | undefined> {
  const { settings } = tools;
  try {
    return await onCluster(tools, cluster.name, signal, (itsSignal) => lookAt(tools, scene, cluster, itsSignal));
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    const message = oneLine(error instanceof Error ? error.message : fault);
    const isRefused = fault === "invalid" || fault === "forbidden" || fault === "not-found";
    return isRefused
      ? { obstacle: { reason: "Refused", message }, againSeconds: settings.refusedSeconds }
      : { obstacle: { reason: "Waiting", message }, againSeconds: settings.retrySeconds };
  }
}

async function lookAt(
  { fleet, settings }: SyncTools,
  { key, type, intent }: Scene,
  { name, apis }: SyncCluster,
  signal: AbortSignal,
): Promise<TypeTrouble | undefined> {
  const registration = registrationKey(key.cluster, name);
  const { type: resource, apiVersion, kind, custom } = type;
  if (custom !== undefined && intent.placement?.spec.customResources === "Install") {
    const wanted = { type: resource, definition: custom.definition, hub: settings.hubId };
    const state = await fleet.ensureType(registration, wanted, signal);
    if (state.kind === "served") return undefined;
    const reason = state.kind === "coming" ? "InstallingType" : "ForeignType";
    const againSeconds = state.kind === "coming" ? settings.installSeconds : settings.refusedSeconds;
    return { obstacle: { reason, message: state.why }, againSeconds };
  }
  if (apis === undefined || apis.has(`${apiVersion} ${kind}`)) return undefined;
  // The registration says what was so some minutes ago.
  if (await fleet.serves(registration, resource, signal)) return undefined;
  const message = `the cluster does not serve ${apiVersion} ${kind}`;
  return { obstacle: { reason: "TypeNotServed", message }, againSeconds: settings.refusedSeconds };
}
