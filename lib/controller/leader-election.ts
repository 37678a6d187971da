import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { accountNamespace } from "../api/export-access.ts";
import { managedByTmc } from "../api/group.ts";
import type { Log } from "../observe/log.ts";

const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
/** The Leases of controllers. */
export const leaseCollection = { type: leases, namespace: accountNamespace } as const;
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };

/** The Lease of the controller that works, in the workspace with the hub's identity. */
export const leaderLeaseName = "tmc-controller";

/** The fields of a Lease that leader election uses. */
export type Lease = KubeObject & {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
};

/** The times are those of Kubernetes' own controllers. */
export const leaseTimes = {
  /** Without a renewal for this long, another process takes over. */
  durationSeconds: 15,
  /** Without a successful renewal for this long, the holder stops working: before another one may start. */
  renewDeadlineSeconds: 10,
  retrySeconds: 2,
} as const;

export type LeaseFacts = Readonly<{
  /** Undefined if there is none. */
  lease: Lease | undefined;
  identity: string;
  /** For how long this process has seen the Lease without a change, by its own clock: clocks of machines differ. */
  unchangedMs: number;
}>;

/** Decides whether a process creates, renews or takes the Lease, or waits for it. */
export function decideLease({ lease, identity, unchangedMs }: LeaseFacts): "create" | "renew" | "take" | "wait" {
  if (lease === undefined) return "create";
  const { holderIdentity = "", leaseDurationSeconds = leaseTimes.durationSeconds } = lease.spec ?? {};
  if (holderIdentity === identity) return "renew";
  return holderIdentity === "" || unchangedMs >= leaseDurationSeconds * 1000 ? "take" : "wait";
}

/** Reads and writes the Lease; a write of an outdated Lease fails with the fault "conflict". */
export interface LeaseStore {
  read(): Promise<Lease | undefined>;
  create(lease: Lease): Promise<Lease>;
  update(lease: Lease): Promise<Lease>;
}

/** Opens the Lease in a workspace of the hub, or in a plain cluster. */
export function openLease(client: KubeClient, name: string = leaderLeaseName): LeaseStore {
  const address: ObjectAddress = { ...leaseCollection, name };
  const create = (lease: Lease): Promise<Lease> =>
    client.create<Lease>(leaseCollection, { ...lease, metadata: { ...lease.metadata, name } });
  return {
    read: () =>
      client.get<Lease>(address).catch((error: unknown) => {
        if (faultOf(error) === "not-found") return undefined;
        throw error;
      }),
    create: (lease) =>
      create(lease).catch(async (error: unknown) => {
        if (faultOf(error) !== "not-found") throw error;
        const metadata = { name: accountNamespace, labels: managedByTmc };
        await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata });
        return create(lease);
      }),
    update: (lease) => client.update<Lease>(address, lease),
  };
}

export type LeaderElection = Readonly<{ store: LeaseStore; identity: string; clock: Clock; log: Log }>;

/**
 * Works while this process holds the Lease: waits for it, calls `work`, and renews the Lease meanwhile. If the Lease is lost,
 * `work` is aborted and the process waits again. After an abort from outside, the Lease is released when `work` has ended, so
 * that the next process need not wait.
 */
export async function workAsLeader(
  election: LeaderElection,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, identity } = election;
  const elector = createElector(election);
  let isWaitLogged = false;
  while (!signal.aborted) {
    if (!(await elector.tryHold())) {
      if (!isWaitLogged) log.info("waiting for the lease", { identity, holder: elector.holder() });
      isWaitLogged = true;
      await delay(clock, leaseTimes.retrySeconds * 1000, signal);
      continue;
    }
    isWaitLogged = false;
    log.info("lease acquired", { identity });
    const term = new AbortController();
    const stopRenewing = elector.keep(() => term.abort());
    try {
      await work(AbortSignal.any([signal, term.signal]));
      if (!term.signal.aborted) return;
      log.error("lease lost", { identity, holder: elector.holder() });
    } finally {
      stopRenewing();
      if (!term.signal.aborted) await elector.release();
    }
  }
}

function createElector({ store, identity, clock, log }: LeaderElection) {
  let seen: { lease: Lease | undefined; sinceMs: number } | undefined;
  const observe = (lease: Lease | undefined): void => {
    const isSame = seen !== undefined && lease?.metadata.resourceVersion === seen.lease?.metadata.resourceVersion;
    if (!isSame) seen = { lease, sinceMs: clock.monotonicMs() };
  };
  const spec = (holderIdentity: string, previous: Lease["spec"]): NonNullable<Lease["spec"]> => {
    // A Lease has times with microseconds.
    const now = new Date(clock.now()).toISOString().replace("Z", "000Z");
    const isRenewal = previous?.holderIdentity === holderIdentity;
    return {
      holderIdentity,
      leaseDurationSeconds: leaseTimes.durationSeconds,
      acquireTime: isRenewal ? (previous.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (previous?.leaseTransitions ?? 0) + (isRenewal || previous === undefined ? 0 : 1),
    };
  };
  /** Creates, renews or takes the Lease; false if another process holds it, or if the hub cannot be reached. */
  const tryHold = async (): Promise<boolean> => {
    try {
      const lease = await store.read();
      observe(lease);
      const unchangedMs = clock.monotonicMs() - (seen?.sinceMs ?? clock.monotonicMs());
      const decided = decideLease({ lease, identity, unchangedMs });
      if (decided === "wait") return false;
      const held = spec(identity, lease?.spec);
      observe(
        lease === undefined
          ? await store.create({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: {}, spec: held })
          : await store.update({ ...lease, spec: held }),
      );
      return true;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === undefined) throw error;
      // Another process was faster.
      if (fault !== "conflict" && fault !== "exists") log.warn("the lease cannot be written", { identity, error });
      return false;
    }
  };
  return {
    tryHold,
    holder: (): string => seen?.lease?.spec?.holderIdentity ?? "",
    /** Renews the Lease until it is stopped; calls `onLost` once if that fails for too long, or if another process has it. */
    keep: (onLost: () => void): (() => void) => {
      let isStopped = false;
      let cancelRenewal = (): void => {};
      let cancelDeadline = (): void => {};
      const stop = (): void => {
        isStopped = true;
        cancelRenewal();
        cancelDeadline();
      };
      const lose = (): void => {
        if (isStopped) return;
        stop();
        onLost();
      };
      const extend = (): void => {
        cancelDeadline();
        cancelDeadline = clock.after(leaseTimes.renewDeadlineSeconds * 1000, lose);
        schedule();
      };
      const renew = async (): Promise<void> => {
        const isHeld = await tryHold();
        if (isStopped) return;
        if (isHeld) extend();
        else if (![identity, ""].includes(seen?.lease?.spec?.holderIdentity ?? "")) lose();
        else schedule();
      };
      const schedule = (): void => {
        cancelRenewal = clock.after(leaseTimes.retrySeconds * 1000, () => void renew().catch(lose));
      };
      extend();
      return stop;
    },
    /** Lets another process take the Lease at once. */
    release: async (): Promise<void> => {
      try {
        const lease = await store.read();
        if (lease?.spec?.holderIdentity === identity) await store.update({ ...lease, spec: spec("", lease.spec) });
      } catch (error) {
        if (faultOf(error) === undefined) throw error;
        log.warn("the lease cannot be released", { identity, error });
      }
    },
  };
}
