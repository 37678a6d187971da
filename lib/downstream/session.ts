import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { typeId } from "../api/workload-kinds.ts";
import type { ObjectKey, WorkloadAddress } from "../model/key.ts";
import type { TypeState } from "../sync/downstream.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { createRateLimiter, type RateLimit, type RateLimitedClient, rateLimitedClient } from "./rate-limit.ts";

/** The client and the state of one downstream cluster. It lives as long as the credentials of the cluster stay the same. */
export type ClusterSession = Readonly<{
  client: RateLimitedClient;
  /** Namespaces that exist or are being created. */
  namespaces: Map<string, Promise<void>>;
  /** The uid of each object that was last read or written; empty if there was no object. See `rememberUid`. */
  lastSeenUids: Map<string, string>;
  /** After a timeout, requests fail without a call until this time. */
  backoff: { untilMs: number };
  /** Answers of discovery: whether a type is served. */
  served: Map<string, Readonly<{ atMs: number; answer: Promise<boolean> }>>;
  /** Definitions that the cluster has, or that are being applied. */
  definitions: Map<string, Readonly<{ fingerprint: string; state: Promise<TypeState> }>>;
}>;

export type SessionsOptions = Readonly<{
  clientFor: ClientFor;
  clock: Clock;
  rate: RateLimit;
  /** Timeout of one request. @default the client's own */
  callSeconds?: number | undefined;
  onUnauthorized?: ((registration: ObjectKey) => void) | undefined;
}>;

/** Runs `work` with the session of a cluster. */
export type WithSession = <T>(
  registration: ObjectKey,
  signal: AbortSignal,
  work: (session: ClusterSession) => Promise<T>,
) => Promise<T>;

/**
 * Creates the sessions of all clusters. Each cluster has its own rate limit, so a slow or busy cluster delays no other. After a
 * timeout, requests to the cluster fail for some seconds without a call.
 *
 * Credentials that a cluster rejects may have been rotated since they were read: the work is retried once with new ones.
 */
export function createSessions({ clientFor, clock, rate, callSeconds, onUnauthorized }: SessionsOptions): WithSession {
  const sessions = new WeakMap<KubeClient, ClusterSession>();
  const sessionOf = async (registration: ObjectKey, signal: AbortSignal): Promise<ClusterSession> => {
    const client = await clientFor(registration, signal);
    const known = sessions.get(client);
    if (known !== undefined) return known;
    const created: ClusterSession = {
      client: rateLimitedClient(client, createRateLimiter(rate, clock), callSeconds),
      namespaces: new Map(),
      lastSeenUids: new Map(),
      backoff: { untilMs: Number.NEGATIVE_INFINITY },
      served: new Map(),
      definitions: new Map(),
    };
    sessions.set(client, created);
    return created;
  };
  const attempt = async <T>(
    session: ClusterSession,
    { name }: ObjectKey,
    signal: AbortSignal,
    work: (session: ClusterSession) => Promise<T>,
  ): Promise<T> => {
    if (clock.monotonicMs() < session.backoff.untilMs) throw timeoutError(name);
    try {
      return await work(session);
    } catch (error) {
      if (signal.aborted || !isTimeout(error)) throw error;
      session.backoff.untilMs = clock.monotonicMs() + backoffMs;
      throw timeoutError(name, error);
    }
  };
  return async (registration, signal, work) => {
    let session: ClusterSession | undefined;
    try {
      session = await sessionOf(registration, signal);
      return await attempt(session, registration, signal, work);
    } catch (error) {
      if (signal.aborted || faultOf(error) !== "unauthorized") throw error;
      onUnauthorized?.(registration);
      try {
        const renewed = await sessionOf(registration, signal);
        if (renewed === session) throw error;
        return await attempt(renewed, registration, signal, work);
      } catch (again) {
        throw faultOf(again) === "unauthorized" ? unauthorizedError(again) : again;
      }
    }
  };
}

/** Without it, a cluster that hangs would delay every reconcile of every workload on it by a whole request timeout. */
const backoffMs = 5_000;
/** Enough for the objects between a read and the write that follows it; the oldest are dropped. */
const maxLastSeenUids = 5_000;

const idOf = ({ type, namespace, name }: WorkloadAddress): string => `${typeId(type)}/${namespace}/${name}`;

/** The uid that the session last read or wrote for an object: empty if there was no object, undefined if not known. */
export function lastSeenUid({ lastSeenUids }: ClusterSession, object: WorkloadAddress): string | undefined {
  return lastSeenUids.get(idOf(object));
}

/** Remembers the uid of an object that was read or written; empty for no object. */
export function rememberUid({ lastSeenUids }: ClusterSession, object: WorkloadAddress, uid: string): void {
  const id = idOf(object);
  lastSeenUids.delete(id); // moves the entry to the end of the map's order
  lastSeenUids.set(id, uid);
  for (const oldest of lastSeenUids.keys()) {
    if (lastSeenUids.size <= maxLastSeenUids) return;
    lastSeenUids.delete(oldest);
  }
}

export function forgetUid({ lastSeenUids }: ClusterSession, object: WorkloadAddress): void {
  lastSeenUids.delete(idOf(object));
}

function isTimeout(error: unknown): boolean {
  return error instanceof ApiError && error.network === "timeout";
}

/** The text is the same each time, so that a sync record that contains it is not written again. */
function timeoutError(name: string, cause?: unknown): ControllerError {
  return new ControllerError("unreachable", `cluster ${name}: no answer in time`, { cause });
}

/** Rejected credentials say nothing about the objects of the cluster, and others may work: the fault is transient. */
function unauthorizedError(error: unknown): ControllerError {
  const message = error instanceof Error ? error.message : "the cluster rejected the credentials";
  return new ControllerError("unreachable", message, { cause: error });
}
