import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ObjectKey } from "../model/key.ts";
import type { TypeState } from "../sync/downstream.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { type CallRate, createTurns, type PacedClient, pacedClient } from "./rate-limit.ts";

/** What is remembered of a cluster, for as long as the same client leads to it. */
export type Site = Readonly<{
  client: PacedClient;
  /** Namespaces that are known to be there, or are being made. */
  namespaces: Map<string, Promise<void>>;
  /** The uid of what was last seen in a place, empty for nothing. */
  seen: Map<string, string>;
  /** Until when it is left in peace, because it has just given no answer. */
  rest: { untilMs: number };
  /** What it said of the types that it serves. */
  served: Map<string, Readonly<{ atMs: number; answer: Promise<boolean> }>>;
  /** Definitions that it has, or is being given. */
  definitions: Map<string, Readonly<{ fingerprint: string; state: Promise<TypeState> }>>;
}>;

export type SitesOptions = Readonly<{
  clientFor: ClientFor;
  clock: Clock;
  rate: CallRate;
  /** How long one call may take. @default what clients give it */
  callSeconds?: number | undefined;
  onRefused?: ((registration: ObjectKey) => void) | undefined;
}>;

/** Does something on a cluster. */
export type OnSite = <T>(registration: ObjectKey, signal: AbortSignal, work: (site: Site) => Promise<T>) => Promise<T>;

/**
 * Creates the way to the clusters. Each has its own turns: one that is slow, or has had too many calls, holds up no other.
 * One that has given no answer in time is not asked for some seconds, and whoever wants to is told so at once.
 *
 * Credentials that a cluster refuses may have been rotated since they were found: others are tried once, as a probe does.
 */
export function createSites({ clientFor, clock, rate, callSeconds, onRefused }: SitesOptions): OnSite {
  const sites = new WeakMap<KubeClient, Site>();
  const siteAt = async (registration: ObjectKey, signal: AbortSignal): Promise<Site> => {
    const client = await clientFor(registration, signal);
    const known = sites.get(client);
    if (known !== undefined) return known;
    const made: Site = {
      client: pacedClient(client, createTurns(rate, clock), callSeconds),
      namespaces: new Map(),
      seen: new Map(),
      rest: { untilMs: Number.NEGATIVE_INFINITY },
      served: new Map(),
      definitions: new Map(),
    };
    sites.set(client, made);
    return made;
  };
  const attempt = async <T>(
    site: Site,
    { name }: ObjectKey,
    signal: AbortSignal,
    work: (site: Site) => Promise<T>,
  ): Promise<T> => {
    if (clock.now() < site.rest.untilMs) throw noAnswer(name);
    try {
      return await work(site);
    } catch (error) {
      if (signal.aborted || !isTimeout(error)) throw error;
      site.rest.untilMs = clock.now() + restMs;
      throw noAnswer(name, error);
    }
  };
  return async (registration, signal, work) => {
    const site = await siteAt(registration, signal);
    try {
      return await attempt(site, registration, signal, work);
    } catch (error) {
      if (signal.aborted || faultOf(error) !== "unauthorized") throw error;
      onRefused?.(registration);
      const renewed = await siteAt(registration, signal);
      if (renewed === site) throw refused(error);
      try {
        return await attempt(renewed, registration, signal, work);
      } catch (again) {
        throw faultOf(again) === "unauthorized" ? refused(again) : again;
      }
    }
  };
}

/** A cluster that hangs would otherwise hold up every look at every workload that it has for as long as a call may take. */
const restMs = 5_000;

function isTimeout(error: unknown): boolean {
  return error instanceof ApiError && error.network === "timeout";
}

/** The same words each time, so that a record which says so need not be written again. */
function noAnswer(name: string, cause?: unknown): ControllerError {
  return new ControllerError("unreachable", `cluster ${name}: no answer in time`, { cause });
}

/** Whoever is not let in cannot ask: that is no word about what is there, and passes with other credentials. */
function refused(error: unknown): ControllerError {
  const message = error instanceof Error ? error.message : "the cluster refuses the credentials";
  return new ControllerError("unreachable", message, { cause: error });
}
