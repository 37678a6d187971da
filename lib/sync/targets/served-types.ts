import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { withClusterTimeout } from "../cluster-timeout.ts";
import { type Observed, registrationKey, type SyncTools } from "../observed.ts";
import type { TargetCluster } from "../sync-objects.ts";
import type { Blocker } from "./decide.ts";

/** Why a cluster cannot be given objects of a type, and when to look again. */
export type TypeBlocker = Readonly<{ obstacle: Blocker; againSeconds: number }>;

/**
 * Finds the clusters that should have a copy and do not serve its type. Where the placement says so they are given it; nobody
 * waits for that here. What a cluster said of its types some minutes ago counts as long as it says yes.
 */
export async function ensureTypesServed(
  tools: SyncTools,
  scene: Observed,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TypeBlocker>> {
  const { clusters, intent, controls } = scene;
  const troubles = new Map<string, TypeBlocker>();
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
  scene: Observed,
  cluster: TargetCluster,
  signal: AbortSignal,
): Promise<TypeBlocker | undefined> {
  const { settings } = tools;
  try {
    return await withClusterTimeout(tools, cluster.name, signal, (itsSignal) =>
      lookAt(tools, scene, cluster, itsSignal),
    );
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    const message = oneLine(error instanceof Error ? error.message : fault);
    const isRefused = fault === "invalid" || fault === "forbidden" || fault === "not-found";
    return isRefused
      ? { obstacle: { reason: "Rejected", message }, againSeconds: settings.refusedSeconds }
      : { obstacle: { reason: "Applying", message }, againSeconds: settings.retrySeconds };
  }
}

async function lookAt(
  { downstream, settings }: SyncTools,
  { key, type, intent }: Observed,
  { name, apis }: TargetCluster,
  signal: AbortSignal,
): Promise<TypeBlocker | undefined> {
  const registration = registrationKey(key.logicalCluster, name);
  const { type: resource, apiVersion, kind, custom } = type;
  if (custom !== undefined && intent.placement?.spec.customResources === "Install") {
    const wanted = { type: resource, definition: custom.definition, hub: settings.hubId };
    const state = await downstream.ensureType(registration, wanted, signal);
    if (state.kind === "served") return undefined;
    const reason = state.kind === "coming" ? "InstallingType" : "ForeignType";
    const againSeconds = state.kind === "coming" ? settings.installSeconds : settings.refusedSeconds;
    return { obstacle: { reason, message: state.why }, againSeconds };
  }
  if (apis === undefined || apis.has(`${apiVersion} ${kind}`)) return undefined;
  // The registration says what was so some minutes ago.
  if (await downstream.serves(registration, resource, signal)) return undefined;
  const message = `the cluster does not serve ${apiVersion} ${kind}`;
  return { obstacle: { reason: "TypeNotServed", message }, againSeconds: settings.refusedSeconds };
}
