import type { Clock } from "@tmc/kube/clock.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { ConnectionReset } from "./http.ts";

/** Selects requests. All given fields must match; omitted fields match everything. */
export type FaultMatch = Readonly<{
  verb?: string;
  group?: string;
  resource?: string;
  subresource?: string;
  /** Name of a logical cluster, to select one tenant. */
  logicalCluster?: string;
  namespace?: string;
  name?: string;
  user?: string;
}>;

export type FaultEffect =
  /** Handles the request after a delay. */
  | Readonly<{ kind: "delay"; ms: number }>
  /** Resets the connection: before the request is handled, or after it and before the response. */
  | Readonly<{ kind: "reset"; when: "before" | "after" }>
  /** Responds with an error; the request has no effect. */
  | Readonly<{ kind: "status"; code: number; reason?: string; message?: string; retryAfterSeconds?: number }>
  /** Resets a watch after a number of events. */
  | Readonly<{ kind: "cut-watch"; afterEvents: number }>
  /** Leaves a watch open but sends nothing after a number of events. */
  | Readonly<{ kind: "stall-watch"; afterEvents?: number }>
  /** Serves gets and lists from an earlier revision, at most as old as the history. */
  | Readonly<{ kind: "stale-read"; revisionsBack: number }>
  /** Responds to lists with a resourceVersion, continued lists and watches that their resourceVersion is too old. */
  | Readonly<{ kind: "expired" }>
  /** Partitions the network until the fault is removed: requests hang or are refused, open watches stall. */
  | Readonly<{ kind: "partition"; requests: "hang" | "refuse" }>;

export type FaultRule = Readonly<{
  match?: FaultMatch;
  effect: FaultEffect;
  /** How many requests the fault affects. @default all */
  count?: number;
  /** How many matching requests succeed before the fault starts. @default 0 */
  skip?: number;
}>;

export interface Injection {
  /** How many requests the fault has affected. */
  readonly hits: number;
  remove(): void;
}

export type FaultSubject = Readonly<{
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  logicalCluster: string;
  namespace: string;
  name: string;
  user: string;
}>;

/** The combined effects on one request. */
export type FaultPlan = Readonly<{
  delayMs: number;
  reset: "before" | "after" | undefined;
  failure: ApiFailure | undefined;
  cutWatchAfter: number | undefined;
  stallWatchAfter: number | undefined;
  revisionsBack: number;
  expired: boolean;
}>;

export interface Faults {
  /** Adds a fault. Rules apply in the order of injection, and each counts the requests it affects. */
  inject(rule: FaultRule): Injection;
  /** Removes all faults. */
  clear(): void;
  /** Resets the watches that are open now. */
  cutWatches(match?: FaultMatch): void;
  /** Called by the server once per request; counts the request. */
  plan(subject: FaultSubject): FaultPlan;
  /**
   * Waits for a delay or for the end of a partition; rejects with `ConnectionReset` if the connection must be reset.
   */
  enforce(subject: FaultSubject, plan: FaultPlan, signal: AbortSignal): Promise<void>;
  /** Whether data sent to this subject is lost now. */
  isPartitioned(subject: FaultSubject): boolean;
  /** Registers an open watch; returns a function that unregisters it. */
  openWatch(subject: FaultSubject, cut: () => void): () => void;
}

export const noFaults: FaultPlan = {
  delayMs: 0,
  reset: undefined,
  failure: undefined,
  cutWatchAfter: undefined,
  stallWatchAfter: undefined,
  revisionsBack: 0,
  expired: false,
};

type ActiveFault = { readonly rule: FaultRule; seen: number; hits: number; readonly waiting: Set<() => void> };

/** Creates the faults of one server. Effects depend only on counters, so that equal runs fail equally. */
export function createFaults({ clock }: Readonly<{ clock: Clock }>): Faults {
  const active = new Set<ActiveFault>();
  const watches = new Set<Readonly<{ subject: FaultSubject; cut: () => void }>>();

  const removeFault = (entry: ActiveFault): void => {
    if (!active.delete(entry)) return;
    for (const resume of [...entry.waiting]) resume();
    // Clients must notice that they missed events during the partition.
    if (entry.rule.effect.kind === "partition") cutWatches(entry.rule.match);
  };
  const cutWatches = (match: FaultMatch = {}): void => {
    for (const watch of [...watches]) if (matchesSubject(match, watch.subject)) watch.cut();
  };
  const partitionOf = (subject: FaultSubject): ActiveFault | undefined => {
    for (const entry of active) {
      if (entry.rule.effect.kind === "partition" && matchesSubject(entry.rule.match ?? {}, subject)) return entry;
    }
    return undefined;
  };

  return {
    inject: (rule) => {
      const entry: ActiveFault = { rule, seen: 0, hits: 0, waiting: new Set() };
      active.add(entry);
      return {
        get hits() {
          return entry.hits;
        },
        remove: () => removeFault(entry),
      };
    },
    clear: () => {
      for (const entry of [...active]) removeFault(entry);
    },
    cutWatches,
    plan: (subject) => {
      if (active.size === 0) return noFaults;
      let plan = noFaults;
      for (const entry of active) {
        const { rule } = entry;
        if (!matchesSubject(rule.match ?? {}, subject) || !appliesTo(rule.effect, subject)) continue;
        entry.seen += 1;
        if (entry.seen <= (rule.skip ?? 0) || entry.hits >= (rule.count ?? Number.POSITIVE_INFINITY)) continue;
        entry.hits += 1;
        plan = withEffect(plan, rule.effect);
      }
      return plan;
    },
    enforce: async (subject, plan, signal) => {
      const partition = partitionOf(subject);
      if (partition !== undefined) {
        const { effect } = partition.rule;
        if (effect.kind === "partition" && effect.requests === "hang") {
          await until(signal, (resume) => {
            partition.waiting.add(resume);
            return () => partition.waiting.delete(resume);
          });
        }
        throw new ConnectionReset("injected network partition");
      }
      if (plan.delayMs > 0) await until(signal, (resume) => clock.after(plan.delayMs, resume));
      if (plan.reset === "before") throw new ConnectionReset("injected reset before the request was handled");
      if (plan.failure !== undefined) throw plan.failure;
    },
    isPartitioned: (subject) => active.size > 0 && partitionOf(subject) !== undefined,
    openWatch: (subject, cut) => {
      const watch = { subject, cut };
      watches.add(watch);
      return () => {
        watches.delete(watch);
      };
    },
  };
}

function matchesSubject(match: FaultMatch, subject: FaultSubject): boolean {
  return matchFields.every((field) => match[field] === undefined || match[field] === subject[field]);
}

const matchFields = [
  "verb",
  "group",
  "resource",
  "subresource",
  "logicalCluster",
  "namespace",
  "name",
  "user",
] as const satisfies readonly (keyof FaultMatch)[];

/** Faults of reads do not count writes, and faults of watches count only watches. */
function appliesTo({ kind }: FaultEffect, { verb }: FaultSubject): boolean {
  switch (kind) {
    case "cut-watch":
    case "stall-watch":
      return verb === "watch";
    case "stale-read":
      return verb === "get" || verb === "list";
    case "expired":
      return verb === "watch" || verb === "list";
    default:
      return true;
  }
}

function withEffect(plan: FaultPlan, effect: FaultEffect): FaultPlan {
  switch (effect.kind) {
    case "delay":
      return { ...plan, delayMs: plan.delayMs + effect.ms };
    case "reset":
      return { ...plan, reset: plan.reset ?? effect.when };
    case "status":
      return { ...plan, failure: plan.failure ?? failureOf(effect) };
    case "cut-watch":
      return { ...plan, cutWatchAfter: Math.min(plan.cutWatchAfter ?? effect.afterEvents, effect.afterEvents) };
    case "stall-watch":
      return { ...plan, stallWatchAfter: effect.afterEvents ?? 0 };
    case "stale-read":
      return { ...plan, revisionsBack: Math.max(plan.revisionsBack, effect.revisionsBack) };
    case "expired":
      return { ...plan, expired: true };
    default:
      return plan;
  }
}

const defaultReasons: Readonly<Record<number, string | undefined>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function failureOf(effect: Extract<FaultEffect, { kind: "status" }>): ApiFailure {
  const { code, reason = defaultReasons[code] ?? "", message = "injected fault", retryAfterSeconds } = effect;
  return new ApiFailure(code, reason, message, retryAfterSeconds === undefined ? undefined : { retryAfterSeconds });
}

/** Resolves when `start` calls back or when the client disconnects. */
function until(signal: AbortSignal, start: (resume: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const resume = (): void => {
      signal.removeEventListener("abort", resume);
      stop();
      resolve();
    };
    const stop = start(resume);
    signal.addEventListener("abort", resume, { once: true });
  });
}
