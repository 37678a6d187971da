import type { ApiResponse } from "./http.ts";
import { pageNotFound, plainResponse } from "./representations.ts";

/** One thing that a server looks at to say how it is. */
export type HealthCheck = Readonly<{ name: string; ok: boolean }>;

const endpoints = new Set(["healthz", "livez", "readyz"]);

/** Answers `/healthz`, `/livez`, `/readyz` and single checks below them; undefined for every other path. */
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
  const asked = all.filter(({ name }) => !excluded.has(name));
  const isWell = asked.every(({ ok }) => ok);
  const lines = asked.map(({ name, ok }) => (ok ? `[+]${name} ok` : `[-]${name} failed: reason withheld`));
  if (!isWell) return plainResponse(500, `${lines.join("\n")}\n${endpoint} check failed\n`);
  if (!query.has("verbose")) return plainResponse(200, "ok");
  return plainResponse(200, `${lines.join("\n")}\n${endpoint} check passed\n`);
}
