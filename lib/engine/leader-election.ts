import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline, delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { Log } from "../observe/log.ts";

/** The spec of a Lease of coordination.k8s.io/v1. */
type LeaseSpec = Readonly<{
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}>;
type Lease = KubeObject & Readonly<{ spec?: LeaseSpec }>;

const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };

/** What a process knows when it decides about the Lease. */
export type LeaseFacts = Readonly<{
  identity: string;
  /** The spec of the Lease; undefined if there is no Lease. */
  spec: LeaseSpec | undefined;
  /** For how long this process has observed the same spec, by its own clock. */
  unchangedMs: number;
}>;

/**
 * Decides what a process may do with the Lease: renew its own, acquire one that is free or expired, or wait.
 *
 * As in client-go, a Lease has expired if this process saw no change of it for its duration. The times in the Lease come from
 * clocks of other machines and are not compared.
 */
export function decideLease({ identity, spec, unchangedMs }: LeaseFacts): "acquire" | "renew" | "wait" {
  const holder = spec?.holderIdentity ?? "";
  if (holder === identity) return "renew";
  return holder === "" || unchangedMs >= (spec?.leaseDurationSeconds ?? 0) * 1000 ? "acquire" : "wait";
}

/** Returns the spec that a process writes to acquire or to renew the Lease. */
export function nextLeaseSpec(
  action: "acquire" | "renew",
  {
    identity,
    spec,
    durationSeconds,
    nowMs,
  }: Omit<LeaseFacts, "unchangedMs"> & { durationSeconds: number; nowMs: number },
): LeaseSpec {
  // The API requires microseconds.
  const renewTime = new Date(nowMs).toISOString().replace("Z", "000Z");
  const common = { holderIdentity: identity, leaseDurationSeconds: durationSeconds, renewTime };
  return action === "renew"
    ? { ...spec, ...common }
    : {
        ...common,
        acquireTime: renewTime,
        leaseTransitions: spec === undefined ? 0 : (spec.leaseTransitions ?? 0) + 1,
      };
}

export type LeaderElectionOptions = Readonly<{
  client: KubeClient;
  namespace: string;
  name: string;
  /** The name of this process in the Lease, unique. */
  identity: string;
  /** After this time without a renewal another process may acquire the Lease. */
  durationSeconds: number;
  clock: Clock;
  log: Log;
}>;

/** The part of a process in a leader election. */
export interface LeaderElection {
  /** Waits until this process holds the Lease, and renews it from then on; returns false if the signal is aborted first. */
  acquire(signal: AbortSignal): Promise<boolean>;
  /** Resolves when the Lease could not be renewed in time, or another process has it. Work must then end before it expires. */
  readonly lost: Promise<void>;
  /** The process that holds the Lease, as far as this process knows; empty if none. */
  readonly holder: string;
  /** Ends the renewals, and gives the Lease back so that another process need not wait for its end. */
  release(): Promise<void>;
}

/** The share of the duration in which a renewal must succeed, and the interval between renewals; client-go has 10 s and 2 s of 15 s. */
const renewShare = 10 / 15;
const retryShare = 2 / 15;

/** How long a process has for its end after it lost the Lease, in milliseconds. */
export const graceAfterLossMs = (durationSeconds: number): number => durationSeconds * 1000 * (1 - renewShare);

/** Creates the part of this process in a leader election. Nothing is requested before `acquire`. */
export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { client, namespace, name, identity, durationSeconds, clock, log } = options;
  const address = { type: leases, namespace, name };
  const retryMs = durationSeconds * 1000 * retryShare;
  const renewMs = durationSeconds * 1000 * renewShare;
  const lost = Promise.withResolvers<void>();
  const ended = new AbortController();
  let renewing: Promise<void> | undefined;
  let observed: Readonly<{ spec: string; atMs: number; holder: string }> | undefined;

  const observe = (spec: LeaseSpec | undefined): void => {
    const text = JSON.stringify(spec ?? {});
    if (observed?.spec === text) return;
    const holder = spec?.holderIdentity ?? "";
    if (holder !== (observed?.holder ?? ""))
      log.info("leader of the controllers", { lease: `${namespace}/${name}`, holder, identity });
    observed = { spec: text, atMs: clock.monotonicMs(), holder };
  };
  /** Reads the Lease, and writes it if it may; returns whether this process holds it now. */
  const acquireOrRenew = async (signal: AbortSignal): Promise<boolean> => {
    const lease = await client.get<Lease>(address, { signal }).catch((error: unknown) => {
      if (faultOf(error) === "not-found") return undefined;
      throw error;
    });
    observe(lease?.spec);
    const unchangedMs = clock.monotonicMs() - (observed?.atMs ?? 0);
    const action = decideLease({ identity, spec: lease?.spec, unchangedMs });
    if (action === "wait") return false;
    const spec = nextLeaseSpec(action, { identity, spec: lease?.spec, durationSeconds, nowMs: clock.now() });
    const written =
      lease === undefined
        ? await client.create<Lease>(
            { type: leases, namespace },
            { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace }, spec },
            { signal },
          )
        : // With the resourceVersion of the read: of two processes that acquire at once, the second one gets a conflict.
          await client.update<Lease>(address, { ...lease, spec }, { signal });
    observe(written.spec);
    return true;
  };
  /** The same with a time limit; a failure is logged, and does not count as held. */
  const attempt = async (limitMs: number, signal: AbortSignal): Promise<boolean> => {
    const deadline = createDeadline(clock, { signal, timeoutMs: limitMs });
    try {
      return await acquireOrRenew(deadline.signal);
    } catch (error) {
      if (!signal.aborted) log.warn("Lease cannot be acquired or renewed", { lease: `${namespace}/${name}`, error });
      return false;
    } finally {
      deadline.end();
    }
  };
  const keepRenewing = async (acquiredMs: number): Promise<void> => {
    let renewedMs = acquiredMs;
    while (await delay(clock, retryMs, ended.signal)) {
      const startedMs = clock.monotonicMs();
      if (await attempt(Math.max(1, renewedMs + renewMs - startedMs), ended.signal)) renewedMs = startedMs;
      if (ended.signal.aborted) return;
      const isTaken = observed !== undefined && observed.holder !== "" && observed.holder !== identity;
      if (!isTaken && clock.monotonicMs() < renewedMs + renewMs) continue;
      log.error("the Lease is lost", { lease: `${namespace}/${name}`, holder: observed?.holder });
      lost.resolve();
      return;
    }
  };

  return {
    lost: lost.promise,
    get holder() {
      return observed?.holder ?? "";
    },
    acquire: async (signal) => {
      for (;;) {
        // The Lease may count from when the request began, not from its answer.
        const startedMs = clock.monotonicMs();
        if (await attempt(renewMs, signal)) {
          renewing = keepRenewing(startedMs);
          return true;
        }
        if (!(await delay(clock, retryMs, signal))) return false;
      }
    },
    release: async () => {
      ended.abort();
      await renewing;
      if (observed?.holder !== identity) return;
      await attemptRelease();
    },
  };

  async function attemptRelease(): Promise<void> {
    const deadline = createDeadline(clock, { signal: undefined, timeoutMs: retryMs });
    try {
      const lease = await client.get<Lease>(address, { signal: deadline.signal });
      if (lease.spec?.holderIdentity !== identity) return;
      const { holderIdentity: _, ...spec } = lease.spec;
      await client.update(address, { ...lease, spec: { ...spec, holderIdentity: "" } }, { signal: deadline.signal });
    } catch (error) {
      log.warn("Lease cannot be released; it expires by itself", { lease: `${namespace}/${name}`, error });
    } finally {
      deadline.end();
    }
  }
}
