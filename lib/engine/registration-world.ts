import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type ClusterRegistration, clusterRegistration } from "../api/cluster-registration.ts";
import { apiVersionOf } from "../api/kind.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource, CredentialsFound } from "../credentials/credentials.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey, type WorkKey } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { ReadBindings } from "../registration/connected-apis.ts";
import { type HealthPath, type ProbeResult, probe } from "../registration/probe.ts";
import type { Look } from "../registration/probe-outcome.ts";
import type { Change, Memory, RegistrationWorld } from "../registration/reconcile.ts";

export type RegistrationWorldOptions = Readonly<{
  hub: Hub;
  queue: WorkQueue;
  connections: Connections;
  credentials: CredentialSource;
  clock: Clock;
  /** Looks at APIBindings. @default none can be seen */
  readBindings?: ReadBindings | undefined;
  /** The same text as long as placements would decide the same about a cluster. */
  fingerprint: (registration: ClusterRegistration) => string;
  /** Whether a change of a cluster may concern a placement; at least one side of the change names the cluster. */
  mayConcern: (placement: WorkloadPlacement, change: Change) => boolean;
  /** The workloads that a cluster has or may have. @default none */
  workloadsOn?: ((key: ObjectKey, signal: AbortSignal) => Promise<readonly WorkKey[]>) | undefined;
  /** Who else a change of a cluster that is there may concern. @default nobody */
  alsoConcerned?:
    | ((key: ObjectKey, registration: ClusterRegistration, signal: AbortSignal) => Promise<readonly WorkKey[]>)
    | undefined;
  /** Hears how Ready has changed. */
  onEvent?: ((key: ObjectKey, change: ObjectEvent) => void) | undefined;
  /** Tells people something, as an Event beside the registration. @default nobody is told */
  tell?: RegistrationWorld["tell"] | undefined;
  /** Hears of each probe when it has ended: how it went and how long it took. */
  onProbe?: ((key: ObjectKey, probe: Readonly<{ outcome: Look["kind"]; tookMs: number }>) => void) | undefined;
}>;

/** Gives the reconciler its world over a hub, a queue and the clusters themselves. */
export function createRegistrationWorld(options: RegistrationWorldOptions): RegistrationWorld {
  const { hub, queue, connections, credentials, clock, fingerprint, mayConcern, onEvent, tell, onProbe } = options;
  const { readBindings, workloadsOn = async () => [], alsoConcerned = async () => [] } = options;
  const memories = new Map<string, Memory>();
  /** What only saves requests: the path a cluster answers on. */
  const paths = new Map<string, HealthPath>();

  const placementsOf = async (
    { logicalCluster }: ObjectKey,
    signal: AbortSignal,
    wanted: (placement: WorkloadPlacement) => boolean,
  ): Promise<readonly ObjectKey[]> => {
    const placements = await hub.list<WorkloadPlacement>("WorkloadPlacement", logicalCluster, signal);
    return placements.filter(wanted).map(({ metadata }) => ({
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
  ): Promise<Look> => {
    let client: ReturnType<Connections["clientFor"]>;
    try {
      client = connections.clientFor(key, found);
    } catch (error) {
      if (!(error instanceof ControllerError)) throw error;
      return { kind: "not-configured", reason: "CredentialsInvalid", message: found.conceal(error.message) };
    }
    const id = formatKey(key);
    const version = registration.status?.kubernetesVersion;
    const result = await probe(client, { timeoutMs, signal, clock, detect, path: paths.get(id), version });
    if (result.path !== undefined) paths.set(id, result.path);
    return concealed(result.outcome, found);
  };

  return {
    nowMs: () => clock.now(),
    read: (key, signal) => hub.read<ClusterRegistration>(key, signal),
    writeStatus: (key, seen, status, signal) => hub.writeStatus(key, seen, status, signal),
    writeFinalizers: (key, seen, finalizers, signal) => hub.writeFinalizers(key, seen, finalizers, signal),
    look: async (key, registration, { detect, fresh: isAskedFor, timeoutMs }, signal) => {
      if (isAskedFor) credentials.forget(key);
      const startedMs = clock.now();
      const wanted = { key, registration };
      const found = await credentials.find(wanted, signal);
      if (found.kind === "not-configured") return { ...found, credentialsExpireMs: found.expiresMs };
      let look = await probeWith(key, registration, found, { detect, timeoutMs, signal });
      if (look.kind === "failed" && look.reason === "CredentialsRejected") {
        // They may have been rotated since they were read: once, and only with others than those.
        credentials.forget(key);
        const fresh = await credentials.find(wanted, signal);
        if (fresh.kind === "not-configured") return { ...fresh, credentialsExpireMs: fresh.expiresMs };
        if (fresh.fingerprint !== found.fingerprint) {
          look = await probeWith(key, registration, fresh, { detect: true, timeoutMs, signal });
        }
      }
      onProbe?.(key, { outcome: look.kind, tookMs: clock.now() - startedMs });
      return look;
    },
    readBindings: async ({ logicalCluster }, names, signal) =>
      readBindings === undefined ? [] : readBindings({ logicalCluster, names }, signal),
    memory: (key) => memories.get(formatKey(key)) ?? {},
    remember: (key, memory) => {
      memories.set(formatKey(key), memory);
    },
    forget: async (key) => {
      memories.delete(formatKey(key));
      paths.delete(formatKey(key));
      credentials.forget(key);
      await connections.drop(key);
    },
    fingerprint,
    concerned: async (key, change, signal) => {
      const named: Change = change.after === undefined ? { before: change.before ?? traceOf(key) } : change;
      const placements = await placementsOf(key, signal, (placement) => mayConcern(placement, named));
      const others = change.after === undefined ? [] : await alsoConcerned(key, change.after, signal);
      const all = [...placements, ...(await workloadsOn(key, signal)), ...others];
      return [...new Map(all.map((each) => [formatKey(each), each])).values()];
    },
    users: async (key, signal) => {
      const placements = await placementsOf(key, signal, (placement) => isUser(placement, key.name));
      return [...placements, ...(await workloadsOn(key, signal))];
    },
    wake: (keys) => queue.send(keys.map((key) => ({ key, reason: "fan-out" }))),
    note: (key, change) => onEvent?.(key, change),
    tell: (key, about, event) => tell?.(key, about, event),
  };
}

/** All that is left of a registration that has gone: its name. */
function traceOf({ name }: ObjectKey): ClusterRegistration {
  return {
    apiVersion: apiVersionOf(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name },
    spec: { location: "" },
  };
}

function isUser({ status }: WorkloadPlacement, name: string): boolean {
  return status?.selectedClusters?.includes(name) === true;
}

function concealed(outcome: ProbeResult["outcome"], { conceal, expiresMs }: CredentialsFound): Look {
  if (outcome.kind === "healthy") return { ...outcome, credentialsExpireMs: expiresMs };
  return { ...outcome, message: conceal(outcome.message), credentialsExpireMs: expiresMs };
}
