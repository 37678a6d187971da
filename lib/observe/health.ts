import type { Clock } from "@tmc/kube/clock.ts";
import type { HttpRequest, HttpResponse, Routes } from "./http.ts";

export type CheckState = Readonly<{ ok: boolean; detail: string }>;

/** The state of a check, and since when it has had this state. */
export type CheckReport = Readonly<{ name: string; ok: boolean; detail: string; since: string }>;

export type HealthReport = Readonly<{ status: "Healthy" | "Unhealthy"; checks: readonly CheckReport[] }>;

/** The probe that a check belongs to. Kubernetes restarts a process that is not live, and sends no traffic to one that is not ready. */
export type HealthProbe = "live" | "ready";

/** A registered check; its owner reports state changes. */
export interface Check {
  pass(detail?: string): void;
  fail(detail: string): void;
  remove(): void;
}

export interface HealthChecks {
  /** Registers a check whose owner reports its state; until then it fails as "not started". A liveness check counts for readiness too. */
  register(name: string, options?: Readonly<{ probe?: HealthProbe }>): Check;
  /** Registers a check that is called for each report; an error it throws is a failure. Returns a function that unregisters it. */
  registerCallback(name: string, check: () => CheckState, options?: Readonly<{ probe?: HealthProbe }>): () => void;
  report(probe: HealthProbe): HealthReport;
}

type Entry = {
  readonly probe: HealthProbe;
  readonly check: () => CheckState;
  ok: boolean | undefined;
  sinceMs: number;
};

/** Creates an empty set of checks, which is healthy. */
export function createHealthChecks({ clock }: Readonly<{ clock: Clock }>): HealthChecks {
  const entries = new Map<string, Entry>();

  const addEntry = (name: string, probe: HealthProbe, check: () => CheckState): Entry => {
    if (entries.has(name)) throw new Error(`health: check "${name}" exists already`);
    const entry: Entry = { probe, check, ok: undefined, sinceMs: clock.now() };
    entries.set(name, entry);
    return entry;
  };
  /** Runs the check and records when its state changes. */
  const evaluate = (entry: Entry): CheckState => {
    const state = runCheck(entry);
    if (entry.ok !== undefined && entry.ok !== state.ok) entry.sinceMs = clock.now();
    entry.ok = state.ok;
    return state;
  };

  return {
    register: (name, { probe = "ready" } = {}) => {
      let state: CheckState = { ok: false, detail: "not started" };
      const entry = addEntry(name, probe, () => state);
      const update = (next: CheckState): void => {
        state = next;
        evaluate(entry);
      };
      evaluate(entry);
      return {
        pass: (detail = "") => update({ ok: true, detail }),
        fail: (detail) => update({ ok: false, detail }),
        remove: () => {
          if (entries.get(name) === entry) entries.delete(name);
        },
      };
    },
    registerCallback: (name, check, { probe = "ready" } = {}) => {
      const entry = addEntry(name, probe, check);
      return () => {
        if (entries.get(name) === entry) entries.delete(name);
      };
    },
    report: (probe) => {
      const checks: CheckReport[] = [];
      for (const [name, entry] of entries) {
        if (probe === "live" && entry.probe !== "live") continue;
        const { ok, detail } = evaluate(entry);
        checks.push({ name, ok, detail, since: new Date(entry.sinceMs).toISOString() });
      }
      return { status: checks.every(({ ok }) => ok) ? "Healthy" : "Unhealthy", checks };
    },
  };
}

function runCheck({ check }: Entry): CheckState {
  try {
    return check();
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : "the check failed" };
  }
}

/**
 * The health routes: `/healthz` and `/livez` for liveness, `/readyz` for readiness, `/startupz` for readiness until the process
 * was ready once and for liveness afterwards, and single checks below each of them.
 * JSON for clients that accept it. Otherwise "ok" like Kubernetes, `?verbose` for one line per check, `?exclude=name` to
 * leave one out.
 */
export function healthRoutes(health: HealthChecks): Routes {
  let wasReady = false;
  return {
    "/healthz": (request) => healthResponse("healthz", health.report("live"), request),
    "/livez": (request) => healthResponse("livez", health.report("live"), request),
    "/readyz": (request) => healthResponse("readyz", health.report("ready"), request),
    "/startupz": (request) => {
      wasReady ||= health.report("ready").status === "Healthy";
      return healthResponse("startupz", health.report(wasReady ? "live" : "ready"), request);
    },
  };
}

function healthResponse(
  endpoint: string,
  report: HealthReport,
  { subpath, query, accept }: HttpRequest,
): HttpResponse | undefined {
  const excluded = new Set(query.getAll("exclude"));
  const checks = report.checks.filter(({ name }) => (subpath === "" ? !excluded.has(name) : name === subpath));
  if (subpath !== "" && checks.length === 0) return undefined;
  const isHealthy = checks.every(({ ok }) => ok);
  const status = isHealthy ? 200 : 503;
  if (acceptsJson(accept)) {
    const selected: HealthReport = { status: isHealthy ? "Healthy" : "Unhealthy", checks };
    return { status, type: "application/json", body: `${JSON.stringify(selected)}\n` };
  }
  if (isHealthy && !query.has("verbose")) return { status, type: "text/plain; charset=utf-8", body: "ok" };
  const lines = checks.map(({ name, ok, detail }) => {
    const suffix = detail === "" ? "" : `: ${detail.replace(/\s+/g, " ")}`;
    return ok ? `[+]${name} ok${suffix}` : `[-]${name} failed${suffix}`;
  });
  lines.push(`${endpoint} check ${isHealthy ? "passed" : "failed"}`);
  return { status, type: "text/plain; charset=utf-8", body: `${lines.join("\n")}\n` };
}

/** Probes and curl accept any type; only an explicit `application/json` asks for JSON. */
function acceptsJson(accept: string): boolean {
  return accept.split(",").some((range) => /^\s*application\/json\s*(;|$)/i.test(range));
}
