import type { ApiResponse } from "./http.ts";
import { pageNotFound, plainResponse } from "./representations.ts";

export type HealthCheck = Readonly<{ name: string; ok: boolean }>;

const endpoints = new Set(["healthz", "livez", "readyz"]);

/** Responds to `/healthz`, `/livez`, `/readyz` and single checks below them; undefined for other paths. */
export function respondHealth(
  path: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): ApiResponse | undefined {
  const [endpoint = "", ...rest] = path.split("/").filter((part) => part !== "");
  if (!endpoints.has(endpoint)) return undefined;
  const all: readonly HealthCheck[] = [{ name: "ping", ok: true }, ...checks];
  if (rest.length > 0) {
    const check = all.find(({ name }) => name === rest.join("/"));
    if (check === undefined) return pageNotFound();
    return check.ok ? plainResponse(200, "ok") : plainResponse(500, "internal server error: not ready\n");
  }
  const excluded = new Set(query.getAll("exclude"));
  const selected = all.filter(({ name }) => !excluded.has(name));
  const isHealthy = selected.every(({ ok }) => ok);
  const lines = selected.map(({ name, ok }) => (ok ? `[+]${name} ok` : `[-]${name} failed: reason withheld`));
  if (!isHealthy) return plainResponse(500, `${lines.join("\n")}\n${endpoint} check failed\n`);
  if (!query.has("verbose")) return plainResponse(200, "ok");
  return plainResponse(200, `${lines.join("\n")}\n${endpoint} check passed\n`);
}
