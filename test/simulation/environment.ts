import { createHash } from "node:crypto";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { type ControllerSettings, defaultControllerSettings } from "../../lib/engine/settings.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { defaultRegistrationSettings } from "../../lib/registration/settings.ts";
import { defaultDeletionGuardSettings } from "../../lib/sync/eviction/deletion-guard.ts";
import { foreignGroups } from "./foreign-objects.ts";
import type { Mode } from "./mode.ts";
import { createMonitor, type Monitor } from "./monitor.ts";
import type { ProcessView } from "./process-view.ts";
import type { QueueWeather, Scenario, WireWeather } from "./scenario.ts";
import { createSeeded, type Seeded } from "./seeded.ts";
import { type Servers, startMs, tokensOf } from "./servers.ts";
import { withSmallDiscovery } from "./small-discovery.ts";

/** Which cluster a registration stands for; only the simulation reads it. */
export const clusterAnnotation = "simulation/cluster";
export const serverOf = (physical: string): string => `https://${physical}.clusters.example:6443`;

/** Notes are hashed in large parts: a call per note would cost more than the hash. */
const longestUnhashed = 65_536;

/** What messages meet just now. */
export type NetworkConditions = { queue: QueueWeather; wire: WireWeather };
export const calm: Readonly<NetworkConditions> = {
  queue: { lose: 0, double: 0, late: 0, refuse: 0, lateMs: 0 },
  wire: { latencyMs: 0, watchLagMs: 0 },
};

/** Everything that the parts of one run share. */
export type SimulationEnvironment = Readonly<{
  servers: Servers;
  mode: Mode;
  throughExport: boolean;
  seeded: Seeded;
  weather: NetworkConditions;
  settings: ControllerSettings;
  monitor: Monitor;
  /** Milliseconds since the run began. */
  nowMs(): number;
  /** Notes what happens; the notes of two runs of one seed are the same. */
  log(line: string): void;
  /** Notes something that must never happen, whatever the laws say. */
  fail(what: string, error: unknown): void;
  /** One text for all notes so far. */
  digest(): string;
  /** Where the operator says a registered cluster is; undefined when it names none. */
  operatorServer(key: ObjectKey, registration: ClusterRegistration): string | undefined;
  operatorToken(cluster: string): string;
  /** `tenant physical` → the cluster that answers there, where it is another one. */
  routes: Map<string, string>;
  /** What each living process was told. */
  views: Set<ProcessView>;
  /** The tenants that kcp answers for until the end: what is checked at rest is checked for these. */
  judged: readonly string[];
  /** The way to the cluster that answers under a name; where it leads may change. */
  transportTo(key: ObjectKey, physical: string): Transport;
}>;

export type SimulationOptions = Readonly<{
  servers: Servers;
  scenario: Scenario;
  /** Distinguishes the two runs of a seed: with faults and without. */
  purpose: string;
  onLog?: ((line: string) => void) | undefined;
}>;

/** Whether kcp does not answer requests for a tenant in the end. */
function isLost({ steps }: Scenario, tenant: number): boolean {
  return steps.some((step) => "fault" in step && step.fault.kind === "lasting-tenant" && step.fault.tenant === tenant);
}

/** Makes the world of one run on servers that have been restarted for it. */
export function createSimulation({ servers, scenario, purpose, onLog }: SimulationOptions): SimulationEnvironment {
  const seeded = createSeeded(scenario.seed).fork(purpose);
  const notes = createHash("sha256");
  const { alwaysAllowed, maxPercent } = scenario;
  const settings: ControllerSettings = {
    ...defaultControllerSettings,
    ...scenario.settings,
    // One after the other, a few at once, and as many as a controller usually has.
    syncWorkers: scenario.settings.workers === 5 ? defaultControllerSettings.syncWorkers : scenario.settings.workers,
    // A function has less time for a key than a controller (`lib/lambda/runtime.ts`).
    ...(scenario.mode === "functions" && { reconcileSeconds: 12 }),
    registration: {
      ...defaultRegistrationSettings,
      failuresToUnready: scenario.failuresToUnready,
      releaseAfterSeconds: 120,
    },
    // Soon enough that whatever stalls has done so before the rest.
    syncSettings: {
      stalledAfterSeconds: 20,
      deletionGuard: { ...defaultDeletionGuardSettings, maxCopies: 1_000, alwaysAllowed, maxPercent },
    },
  };
  const nowMs = (): number => servers.clock.now() - startMs;
  let unhashed = "";
  const hashNotes = (): void => {
    notes.update(unhashed);
    unhashed = "";
  };
  const log = (line: string): void => {
    const note = `${(nowMs() / 1000).toFixed(3).padStart(9)} ${line}`;
    unhashed += `${note}\n`;
    if (unhashed.length > longestUnhashed) hashNotes();
    onLog?.(note);
  };
  const routes = new Map<string, string>();
  const isFunctions = scenario.mode === "functions";
  const monitor = createMonitor({
    servers,
    settings,
    routes,
    readsForResync: isFunctions,
    seesAllTenants: !isFunctions,
    log,
  });
  const groups = scenario.features.includes("foreign-objects") ? foreignGroups : undefined;
  return {
    servers,
    mode: scenario.mode,
    throughExport: scenario.throughExport,
    seeded,
    weather: { ...calm },
    settings,
    monitor,
    nowMs,
    log,
    fail: (what, error) =>
      monitor.broken(0, `${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
    digest: () => {
      hashNotes();
      return notes.copy().digest("hex").slice(0, 16);
    },
    operatorServer: (_key, { metadata }) => {
      const physical = metadata.annotations?.[clusterAnnotation];
      return physical === undefined ? undefined : serverOf(physical);
    },
    operatorToken: (cluster) => tokensOf(servers.tenants.indexOf(cluster))[0],
    routes,
    views: new Set(),
    judged: servers.tenants.filter((_, tenant) => !isLost(scenario, tenant)),
    transportTo: ({ logicalCluster }, physical) => {
      const open = (name: string): Transport => {
        const cluster = servers.clusters.get(name);
        if (cluster === undefined) throw new Error(`simulation: there is no cluster ${name}`);
        return withSmallDiscovery(cluster.transport(), servers, groups);
      };
      const own = open(physical);
      const others = new Map<string, Transport>();
      return {
        send: (request) => {
          const name = routes.get(`${logicalCluster} ${physical}`);
          if (name === undefined) return own.send(request);
          const other = others.get(name) ?? open(name);
          others.set(name, other);
          return other.send(request);
        },
        close: () => {
          for (const other of others.values()) void other.close();
          return own.close();
        },
      };
    },
  };
}
