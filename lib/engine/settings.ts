import { defaultRegistrationSettings, type RegistrationSettings } from "../registration/settings.ts";
import type { SyncSettings } from "../sync/settings.ts";

/** Settings of a controller process. */
export type ControllerSettings = Readonly<{
  /** Every object is reconciled at least this often. */
  resyncSeconds: number;
  /** Keys that are reconciled concurrently; on an in-memory queue, without workloads. */
  workers: number;
  /** Workloads that are reconciled concurrently, on an in-memory queue. They mostly wait for clusters. */
  syncWorkers: number;
  /**
   * Keys of one tenant that an in-memory queue reconciles concurrently, so that a tenant with slow reconciles leaves workers
   * to others. @default half of the workers if there can be several tenants, otherwise all
   */
  tenantConcurrency?: number | undefined;
  /** The share of the process's CPU time that one tenant may use while other tenants have work; 1 for no limit. */
  tenantCpuShare: number;
  /** Keys of one tenant that the relay sends per second, if there can be several tenants; 0 for no limit. */
  tenantEventsPerSecond: number;
  /** Whether workloads are synced. */
  sync: boolean;
  syncSettings: Partial<Omit<SyncSettings, "hubId">>;
  /** Every cluster is probed about this often. */
  heartbeatSeconds: number;
  /** `lastHeartbeat` of an idle cluster is written at most this often. */
  heartbeatWriteSeconds: number;
  /** Timeout of a reconcile, which is then retried. */
  reconcileSeconds: number;
  /** How long reconciles in flight may take at shutdown. */
  drainSeconds: number;
  /** Interval of full lists, which repair a watch that missed an event. */
  relistSeconds: number;
  /** Whether registrations may name servers in private networks and on this machine. */
  allowPrivateEndpoints: boolean;
  /** CIDRs that registrations may name servers in, in addition to public addresses. */
  allowedEndpoints: readonly string[];
  /** Probing of clusters; `heartbeatSeconds` and `heartbeatWriteSeconds` above override its intervals. */
  registration: RegistrationSettings;
}>;

export const defaultControllerSettings: ControllerSettings = {
  resyncSeconds: 30,
  workers: 5,
  syncWorkers: 32,
  tenantCpuShare: 0.1,
  tenantEventsPerSecond: 0,
  sync: true,
  syncSettings: {},
  heartbeatSeconds: defaultRegistrationSettings.intervalSeconds,
  heartbeatWriteSeconds: defaultRegistrationSettings.heartbeatWriteSeconds,
  reconcileSeconds: 30,
  drainSeconds: 10,
  relistSeconds: 1_800,
  allowPrivateEndpoints: false,
  allowedEndpoints: [],
  registration: defaultRegistrationSettings,
};

/** Keys of one tenant that are reconciled concurrently: the setting, or half of the workers if there can be several tenants; undefined for no limit. */
export function tenantConcurrencyOf(
  { tenantConcurrency }: Pick<Partial<ControllerSettings>, "tenantConcurrency">,
  { workers, isShared }: Readonly<{ workers: number; isShared: boolean }>,
): number | undefined {
  return tenantConcurrency ?? (isShared ? Math.ceil(workers / 2) : undefined);
}

/** The CPU share of one tenant; undefined for no limit. */
export function tenantCpuShareOf(
  { tenantCpuShare = defaultControllerSettings.tenantCpuShare }: Partial<ControllerSettings>,
  isShared: boolean,
): number | undefined {
  return isShared && tenantCpuShare < 1 ? tenantCpuShare : undefined;
}

/** Concurrent invocations of the functions whose number an operator sets. */
export type FunctionConcurrency = Readonly<Record<"reconcile" | "forward" | "probe", number>>;

/**
 * Defaults of a deployment: 20 batches of ten keys are about 800 keys per second, 5 forward as many, and 10 messages of 50
 * clusters are 10,000 clusters per minute, unless many of them do not respond.
 */
export const defaultConcurrency: FunctionConcurrency = { reconcile: 20, forward: 5, probe: 10 };

/** Resync consumes its own queue, whose event source has a minimum of two; heartbeat and health run once at a time. */
const fixedConcurrency = { resync: 2, heartbeat: 1, health: 1 } as const;

/** Concurrent invocations that a deployment needs at most. */
export function concurrencyDemand({ reconcile, forward, probe }: FunctionConcurrency): number {
  const fixed = Object.values(fixedConcurrency).reduce((sum, each) => sum + each, 0);
  return reconcile + forward + probe + fixed;
}
