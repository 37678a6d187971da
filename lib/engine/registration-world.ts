import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type ClusterRegistration, clusterRegistration } from "../api/cluster-registration.ts";
import { formatApiVersion } from "../api/kind.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialLifetime, CredentialSource, CredentialsFound } from "../credentials/credentials.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey, type WorkKey } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { ObservedWatches } from "../registration/conditions.ts";
import { type HealthPath, type ProbeResult, probe } from "../registration/probe.ts";
import type { ProbeOutcome } from "../registration/probe-outcome.ts";
import type { LastProbe, RegistrationChange, RegistrationWorld } from "../registration/reconcile.ts";
import type { ReadBindings } from "../registration/served-apis.ts";
import { isDownstreamName } from "../sync/ownership/namespace-map.ts";

export type RegistrationWorldOptions = Readonly<{
  hub: Hub;
  queue: WorkQueue;
  connections: Connections;
  credentials: CredentialSource;
  clock: Clock;
  /** Reads APIBindings. @default none are visible */
  readBindings?: ReadBindings | undefined;
  /** Hash of the facts about a cluster that placements decide on. */
  factsHash: (registration: ClusterRegistration) => string;
  /** Whether a change of a cluster may affect a placement. At least one side of the change has the cluster's name. */
  mayAffect: (placement: WorkloadPlacement, change: RegistrationChange) => boolean;
  /** Workloads that have, or may have, a copy on a cluster. @default none */
  workloadsOn?: ((key: ObjectKey, signal: AbortSignal) => Promise<readonly WorkKey[]>) | undefined;
  /** Other keys that a change of an existing cluster may affect. @default none */
  alsoAffected?:
    | ((key: ObjectKey, registration: ClusterRegistration, signal: AbortSignal) => Promise<readonly WorkKey[]>)
    | undefined;
  /** Called when the Ready condition has changed. */
  onReadyChange?: ((key: ObjectKey, change: ObjectEvent) => void) | undefined;
  /** Records an Event on the registration. @default no Events */
  recordEvent?: RegistrationWorld["recordEvent"] | undefined;
  /** What this process watches of a cluster. @default it does not watch clusters */
  watches?: ((key: ObjectKey) => ObservedWatches) | undefined;
  /** Called after each probe. Not called if there are no credentials to probe with. */
  onProbe?: ((key: ObjectKey, probe: Readonly<{ outcome: ProbeOutcome["kind"]; tookMs: number }>) => void) | undefined;
}>;

/** Creates the adapter between the registration reconciler and the upstream, the queue and the clusters. */
export function createRegistrationWorld(options: RegistrationWorldOptions): RegistrationWorld {
  const { hub, queue, connections, credentials, clock, factsHash, mayAffect, onReadyChange, recordEvent, onProbe } =
    options;
  const { readBindings, workloadsOn = async () => [], alsoAffected = async () => [] } = options;
  const lastProbes = new Map<string, LastProbe>();
  /** The health path that each cluster serves; only saves requests. */
  const healthPaths = new Map<string, HealthPath>();

  const listPlacements = async (
    { logicalCluster }: ObjectKey,
    signal: AbortSignal,
    matches: (placement: WorkloadPlacement) => boolean,
  ): Promise<readonly ObjectKey[]> => {
    const placements = await hub.list<WorkloadPlacement>("WorkloadPlacement", logicalCluster, signal);
    return placements.filter(matches).map(({ metadata }) => ({
      logicalCluster: logicalCluster,
      kind: "WorkloadPlacement",
      name: metadata.name ?? "",
    }));
  };
  const probeWith = async (
    key: ObjectKey,
    registration: ClusterRegistration,
    found: CredentialsFound,
    { detect, timeoutMs, signal }: Readonly<{ detect: boolean; timeoutMs: number; signal: AbortSignal }>,
  ): Promise<ProbeOutcome> => {
    let client: ReturnType<Connections["clientFor"]>;
    try {
      client = connections.clientFor(key, found);
    } catch (error) {
      if (!(error instanceof ControllerError)) throw error;
      return { kind: "not-configured", reason: "CredentialsInvalid", message: found.redact(error.message) };
    }
    const id = formatKey(key);
    const version = registration.status?.kubernetesVersion;
    const result = await probe(client, {
      timeoutMs,
      signal,
      clock,
      detect,
      path: healthPaths.get(id),
      version,
      isOwnNamespace: isDownstreamName,
    });
    if (result.path !== undefined) healthPaths.set(id, result.path);
    return redactOutcome(result.outcome, found);
  };

  return {
    nowMs: () => clock.now(),
    read: (key, signal) => hub.read<ClusterRegistration>(key, signal),
    writeStatus: (key, seen, status, signal) => hub.writeStatus(key, seen, status, signal),
    writeFinalizers: (key, seen, finalizers, signal) => hub.writeFinalizers(key, seen, finalizers, signal),
    probe: async (key, registration, { detect, fresh: refreshCredentials, timeoutMs }, signal) => {
      if (refreshCredentials) credentials.invalidate(key);
      const startedMs = clock.monotonicMs();
      const request = { key, registration };
      const found = await credentials.find(request, signal);
      if (found.kind === "not-configured") return withExpiry(found, found);
      let outcome = await probeWith(key, registration, found, { detect, timeoutMs, signal });
      if (outcome.kind === "failed" && outcome.reason === "CredentialsRejected") {
        // The credentials may have been rotated since they were read. Retry once, and only with different ones.
        credentials.invalidate(key);
        const fresh = await credentials.find(request, signal);
        if (fresh.kind === "not-configured") return withExpiry(fresh, fresh);
        if (fresh.hash !== found.hash) {
          outcome = await probeWith(key, registration, fresh, { detect: true, timeoutMs, signal });
        }
      }
      onProbe?.(key, { outcome: outcome.kind, tookMs: clock.monotonicMs() - startedMs });
      return outcome;
    },
    readBindings: async ({ logicalCluster }, names, signal) =>
      readBindings === undefined ? [] : readBindings({ logicalCluster, names }, signal),
    listRegistrations: ({ logicalCluster }, signal) =>
      hub.list<ClusterRegistration>("ClusterRegistration", logicalCluster, signal),
    lastProbe: (key) => lastProbes.get(formatKey(key)) ?? {},
    recordProbe: (key, memory) => {
      lastProbes.set(formatKey(key), memory);
    },
    watches: (key) => options.watches?.(key),
    forget: async (key) => {
      lastProbes.delete(formatKey(key));
      healthPaths.delete(formatKey(key));
      credentials.invalidate(key);
      await connections.disconnect(key);
    },
    factsHash,
    affected: async (key, change, signal) => {
      const knownChange: RegistrationChange =
        change.after === undefined ? { before: change.before ?? deletedRegistration(key) } : change;
      const placements = await listPlacements(key, signal, (placement) => mayAffect(placement, knownChange));
      const others = change.after === undefined ? [] : await alsoAffected(key, change.after, signal);
      const all = [...placements, ...(await workloadsOn(key, signal)), ...others];
      return [...new Map(all.map((affected) => [formatKey(affected), affected])).values()];
    },
    dependents: async (key, signal) => {
      const placements = await listPlacements(key, signal, (placement) => isSelectedBy(placement, key.name));
      return [...placements, ...(await workloadsOn(key, signal))];
    },
    enqueue: (keys) => queue.send(keys.map((key) => ({ key, reason: "fan-out" }))),
    logReadyChange: (key, change) => onReadyChange?.(key, change),
    recordEvent: (key, about, event) => recordEvent?.(key, about, event),
  };
}

/** Stands for a deleted registration, of which only the name is known. */
function deletedRegistration({ name }: ObjectKey): ClusterRegistration {
  return {
    apiVersion: formatApiVersion(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name },
    spec: { location: "" },
  };
}

function isSelectedBy({ status }: WorkloadPlacement, name: string): boolean {
  return status?.selectedClusters?.includes(name) === true;
}

function redactOutcome(outcome: ProbeResult["outcome"], found: CredentialsFound): ProbeOutcome {
  if (outcome.kind === "healthy") return withExpiry(outcome, found);
  return withExpiry({ ...outcome, message: found.redact(outcome.message) }, found);
}

function withExpiry<T extends object>(outcome: T, { expiresMs, renewMs }: CredentialLifetime) {
  return { ...outcome, credentialsExpireMs: expiresMs, credentialsRenewMs: renewMs };
}
