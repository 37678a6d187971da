import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { withClusterTimeout } from "../cluster-timeout.ts";
import { type Observed, registrationKey, type SyncTools } from "../observed.ts";
import type { TargetCluster } from "../sync-objects.ts";
import type { Blocker } from "./decide.ts";

/** Why a cluster cannot store objects of a type, and when to ask again. */
export type TypeBlocker = Readonly<{ blocker: Blocker; requeueSeconds: number }>;

/**
 * Finds the target clusters that do not serve the workload's type. Where the placement says so, TMC applies the type's
 * definition, without waiting until it is served. A registration's list of types may be minutes old and is trusted only
 * where it contains the type.
 */
export async function ensureTypesServed(
  tools: SyncTools,
  observed: Observed,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TypeBlocker>> {
  const { targetClusters, intent, controls } = observed;
  const typeBlockers = new Map<string, TypeBlocker>();
  if (controls.syncBlocker !== undefined) return typeBlockers;
  await Promise.all(
    intent.targets.map(async (name) => {
      const targetCluster = targetClusters.get(name);
      if (targetCluster?.isReady !== true) return;
      const typeBlocker = await findTypeBlocker(tools, observed, targetCluster, signal);
      if (typeBlocker !== undefined) typeBlockers.set(name, typeBlocker);
    }),
  );
  return typeBlockers;
}

async function findTypeBlocker(
  tools: SyncTools,
  observed: Observed,
  targetCluster: TargetCluster,
  signal: AbortSignal,
): Promise<TypeBlocker | undefined> {
  const { settings } = tools;
  try {
    return await withClusterTimeout(tools, targetCluster.name, signal, (clusterSignal) =>
      ensureType(tools, observed, targetCluster, clusterSignal),
    );
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    const message = oneLine(error instanceof Error ? error.message : fault);
    const isRejected = fault === "invalid" || fault === "forbidden" || fault === "not-found";
    return isRejected
      ? { blocker: { reason: "Rejected", message }, requeueSeconds: settings.rejectedRetrySeconds }
      : { blocker: { reason: "Applying", message }, requeueSeconds: settings.retrySeconds };
  }
}

async function ensureType(
  { downstream, settings }: SyncTools,
  { key, type, intent }: Observed,
  { name, apis }: TargetCluster,
  signal: AbortSignal,
): Promise<TypeBlocker | undefined> {
  const registration = registrationKey(key.logicalCluster, name);
  const { type: resource, apiVersion, kind, custom } = type;
  if (custom !== undefined && intent.placement?.spec.customResources === "Install") {
    const desired = { type: resource, definition: custom.definition, hub: settings.hubId };
    const state = await downstream.ensureType(registration, desired, signal);
    if (state.kind === "served") return undefined;
    return state.kind === "installing"
      ? {
          blocker: { reason: "InstallingType", message: state.message },
          requeueSeconds: settings.typeInstallRetrySeconds,
        }
      : { blocker: { reason: "ForeignType", message: state.message }, requeueSeconds: settings.rejectedRetrySeconds };
  }
  if (apis === undefined || apis.has(`${apiVersion} ${kind}`)) return undefined;
  // The registration's list may be outdated, so the cluster itself is asked.
  if (await downstream.serves(registration, resource, signal)) return undefined;
  const message = `the cluster does not serve ${apiVersion} ${kind}`;
  return { blocker: { reason: "TypeNotServed", message }, requeueSeconds: settings.rejectedRetrySeconds };
}
