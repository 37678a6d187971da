import type { Clock } from "@tmc/kube/clock.ts";
import type { Answer, HttpRequest, Routes } from "./http.ts";

/** How something is, at a look. */
export type CheckState = Readonly<{ ok: boolean; detail: string }>;

/** A check as it is shown: how it is, and since when it has been so, well or not. */
export type CheckReport = Readonly<{ name: string; ok: boolean; detail: string; since: string }>;

export type HealthReport = Readonly<{ status: "Healthy" | "Unhealthy"; checks: readonly CheckReport[] }>;

/** What a check is for: a process that is not alive is to be restarted, one that is not ready is to be left in peace. */
export type Probe = "live" | "ready";

/** Says how its part of the process is, whenever that changes. */
export interface Check {
  pass(detail?: string): void;
  fail(detail: string): void;
  /** The part is no longer there. */
  remove(): void;
}

/** The checks of a process. */
export interface Health {
  /** A check that is told; it fails as "not started" until then. A check of liveness counts for readiness too. */
  register(name: string, options?: Readonly<{ probe?: Probe }>): Check;
  /** A check that is asked at each look; what it throws is how it fails. The answer takes it back. */
  ask(name: string, look: () => CheckState, options?: Readonly<{ probe?: Probe }>): () => void;
  report(probe: Probe): HealthReport;
}

type Entry = { readonly probe: Probe; readonly look: () => CheckState; ok: boolean | undefined; sinceMs: number };

/** Creates the health of a process that has no checks yet; it is well. */
export function createHealth({ clock }: Readonly<{ clock: Clock }>): Health {
  const entries = new Map<string, Entry>();

  const put = (name: string, probe: Probe, look: () => CheckState): Entry => {
    if (entries.has(name)) throw new Error(`health: there is a check "${name}" already`);
    const entry: Entry = { probe, look, ok: undefined, sinceMs: clock.now() };
    entries.set(name, entry);
    return entry;
  };
  /** Looks, and notes when what is seen has turned. */
  const see = (entry: Entry): CheckState => {
    const state = lookAt(entry);
    if (entry.ok !== undefined && entry.ok !== state.ok) entry.sinceMs = clock.now();
    entry.ok = state.ok;
    return state;
  };

  return {
    register: (name, { probe = "ready" } = {}) => {
      let state: CheckState = { ok: false, detail: "not started" };
      const entry = put(name, probe, () => state);
      const become = (next: CheckState): void => {
        state = next;
        see(entry);
      };
      see(entry);
      return {
        pass: (detail = "") => become({ ok: true, detail }),
        fail: (detail) => become({ ok: false, detail }),
        remove: () => {
          if (entries.get(name) === entry) entries.delete(name);
        },
      };
    },
    ask: (name, look, { probe = "ready" } = {}) => {
      const entry = put(name, probe, look);
      return () => {
        if (entries.get(name) === entry) entries.delete(name);
      };
    },
    report: (probe) => {
      const checks: CheckReport[] = [];
      for (const [name, entry] of entries) {
        if (probe === "live" && entry.probe !== "live") continue;
        const { ok, detail } = see(entry);
        checks.push({ name, ok, detail, since: new Date(entry.sinceMs).toISOString() });
      }
      return { status: checks.every(({ ok }) => ok) ? "Healthy" : "Unhealthy", checks };
    },
  };
}

function lookAt({ look }: Entry): CheckState {
  try {
    return look();
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : "the check itself failed" };
  }
}

/**
 * The routes of a process's health: `/healthz` and `/livez` for liveness, `/readyz` for readiness, one check below each of
 * them. JSON for whoever accepts it; otherwise "ok" as Kubernetes says it, with `?verbose` a line per check, and
 * `?exclude=name` to leave one out.
 */
export function healthRoutes(health: Health): Routes {
  return {
    "/healthz": (request) => answer("healthz", health.report("live"), request),
    "/livez": (request) => answer("livez", health.report("live"), request),
    "/readyz": (request) => answer("readyz", health.report("ready"), request),
  };
}

function answer(endpoint: string, whole: HealthReport, { rest, query, accept }: HttpRequest): Answer | undefined {
  const excluded = new Set(query.getAll("exclude"));
  const checks = whole.checks.filter(({ name }) => (rest === "" ? !excluded.has(name) : name === rest));
  if (rest !== "" && checks.length === 0) return undefined;
  const isWell = checks.every(({ ok }) => ok);
  const status = isWell ? 200 : 503;
  if (acceptsJson(accept)) {
    const report: HealthReport = { status: isWell ? "Healthy" : "Unhealthy", checks };
    return { status, type: "application/json", body: `${JSON.stringify(report)}\n` };
  }
  if (isWell && !query.has("verbose")) return { status, type: "text/plain; charset=utf-8", body: "ok" };
  const lines = checks.map(({ name, ok, detail }) => {
    const words = detail === "" ? "" : `: ${detail.replace(/\s+/g, " ")}`;
    return ok ? `[+]${name} ok${words}` : `[-]${name} failed${words}`;
  });
  lines.push(`${endpoint} check ${isWell ? "passed" : "failed"}`);
  return { status, type: "text/plain; charset=utf-8", body: `${lines.join("\n")}\n` };
}

/** Probes and curl accept anything, which is no wish for JSON; a program that wants it says so. */
function acceptsJson(accept: string): boolean {
  return accept.split(",").some((range) => /^\s*application\/json\s*(;|$)/i.test(range));
}
