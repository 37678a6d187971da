import type { Clock } from "@tmc/kube/clock.ts";
import { ApiFailure } from "./api-failure.ts";
import { ConnectionReset } from "./http.ts";

/** Which requests a fault is for; what is left out matches everything. */
export type FaultMatch = Readonly<{
  verb?: string;
  group?: string;
  resource?: string;
  subresource?: string;
  /** A logical cluster's name: one tenant. */
  cluster?: string;
  namespace?: string;
  name?: string;
  user?: string;
}>;

export type FaultEffect =
  /** Acts and answers later. */
  | Readonly<{ kind: "delay"; ms: number }>
  /** Breaks the connection: before anything was done, or after it was done and before the answer. */
  | Readonly<{ kind: "reset"; when: "before" | "after" }>
  /** Answers with a failure and does nothing. */
  | Readonly<{ kind: "status"; code: number; reason?: string; message?: string; retryAfterSeconds?: number }>
  /** Breaks a watch after so many events. */
  | Readonly<{ kind: "cut-watch"; afterEvents: number }>
  /** Leaves a watch open and says nothing more after so many events. */
  | Readonly<{ kind: "stall-watch"; afterEvents?: number }>
  /** Answers gets and lists as they were so many revisions ago, or at the oldest that is remembered. */
  | Readonly<{ kind: "stale-read"; revisionsBack: number }>
  /** Says that the resourceVersion of a list, a continued list or a watch is too old. */
  | Readonly<{ kind: "expired" }>
  /** Cuts the way to the server until the fault is removed: requests hang or are refused, open watches fall silent. */
  | Readonly<{ kind: "partition"; requests: "hang" | "refuse" }>;

export type FaultRule = Readonly<{
  match?: FaultMatch;
  effect: FaultEffect;
  /** How many requests it meets. @default all */
  count?: number;
  /** How many matching requests pass unharmed before it begins. @default 0 */
  skip?: number;
}>;

export interface Injection {
  /** How many requests it has met so far. */
  readonly hits: number;
  remove(): void;
}

export type FaultSubject = Readonly<{
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  cluster: string;
  namespace: string;
  name: string;
  user: string;
}>;

/** What is to happen to one request. */
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
  /** Adds a fault; rules act in the order in which they were added, and each counts the requests it meets. */
  inject(rule: FaultRule): Injection;
  /** Takes back every fault. */
  clear(): void;
  /** Breaks the watches that are open now. */
  cutWatches(match?: FaultMatch): void;
  /** The server asks once for each request, and by that counts it. */
  plan(subject: FaultSubject): FaultPlan;
  /** Waits out a delay, or for the end of a partition; rejects with `ConnectionReset` where the connection is to break. */
  pass(subject: FaultSubject, plan: FaultPlan, signal: AbortSignal): Promise<void>;
  /** Whether what is sent to this subject gets lost now. */
  isPartitioned(subject: FaultSubject): boolean;
  /** Tells the faults of an open watch; the answer takes it back. */
  openWatch(subject: FaultSubject, cut: () => void): () => void;
}

/** No harm at all. */
export const unharmed: FaultPlan = {
  delayMs: 0,
  reset: undefined,
  failure: undefined,
  cutWatchAfter: undefined,
  stallWatchAfter: undefined,
  revisionsBack: 0,
  expired: false,
};

type Active = { readonly rule: FaultRule; seen: number; hits: number; readonly waiting: Set<() => void> };

/** Makes a set of faults for one server; it decides by counting only, so that equal runs fail equally. */
export function createFaults({ clock }: Readonly<{ clock: Clock }>): Faults {
  const active = new Set<Active>();
  const watches = new Set<Readonly<{ subject: FaultSubject; cut: () => void }>>();

  const end = (entry: Active): void => {
    if (!active.delete(entry)) return;
    for (const wake of [...entry.waiting]) wake();
    // Whoever missed something during a partition must notice it.
    if (entry.rule.effect.kind === "partition") cutWatches(entry.rule.match);
  };
  const cutWatches = (match: FaultMatch = {}): void => {
    for (const watch of [...watches]) if (isMet(match, watch.subject)) watch.cut();
  };
  const partitionOf = (subject: FaultSubject): Active | undefined => {
    for (const entry of active) {
      if (entry.rule.effect.kind === "partition" && isMet(entry.rule.match ?? {}, subject)) return entry;
    }
    return undefined;
  };

  return {
    inject: (rule) => {
      const entry: Active = { rule, seen: 0, hits: 0, waiting: new Set() };
      active.add(entry);
      return {
        get hits() {
          return entry.hits;
        },
        remove: () => end(entry),
      };
    },
    clear: () => {
      for (const entry of [...active]) end(entry);
    },
    cutWatches,
    plan: (subject) => {
      if (active.size === 0) return unharmed;
      let plan = unharmed;
      for (const entry of active) {
        const { rule } = entry;
        if (!isMet(rule.match ?? {}, subject) || !concerns(rule.effect, subject)) continue;
        entry.seen += 1;
        if (entry.seen <= (rule.skip ?? 0) || entry.hits >= (rule.count ?? Number.POSITIVE_INFINITY)) continue;
        entry.hits += 1;
        plan = withEffect(plan, rule.effect);
      }
      return plan;
    },
    pass: async (subject, plan, signal) => {
      const partition = partitionOf(subject);
      if (partition !== undefined) {
        const { effect } = partition.rule;
        if (effect.kind === "partition" && effect.requests === "hang") {
          await until(signal, (wake) => {
            partition.waiting.add(wake);
            return () => partition.waiting.delete(wake);
          });
        }
        throw new ConnectionReset("partitioned");
      }
      if (plan.delayMs > 0) await until(signal, (wake) => clock.after(plan.delayMs, wake));
      if (plan.reset === "before") throw new ConnectionReset("reset before acting");
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

function isMet(match: FaultMatch, subject: FaultSubject): boolean {
  return matchFields.every((field) => match[field] === undefined || match[field] === subject[field]);
}

const matchFields = [
  "verb",
  "group",
  "resource",
  "subresource",
  "cluster",
  "namespace",
  "name",
  "user",
] as const satisfies readonly (keyof FaultMatch)[];

/** A fault of reads is not used up by writes, nor one of watches by anything else. */
function concerns({ kind }: FaultEffect, { verb }: FaultSubject): boolean {
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

const usualReasons: Readonly<Record<number, string | undefined>> = {
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
  const { code, reason = usualReasons[code] ?? "", message = "injected fault", retryAfterSeconds } = effect;
  return new ApiFailure(code, reason, message, retryAfterSeconds === undefined ? undefined : { retryAfterSeconds });
}

/** Resolves when `start` wakes it or the client has gone, whichever comes first. */
function until(signal: AbortSignal, start: (wake: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const wake = (): void => {
      signal.removeEventListener("abort", wake);
      stop();
      resolve();
    };
    const stop = start(wake);
    signal.addEventListener("abort", wake, { once: true });
  });
}
