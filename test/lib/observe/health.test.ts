import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, test } from "vitest";
import { createHealthChecks, healthRoutes } from "../../../lib/observe/health.ts";
import type { HttpRequest } from "../../../lib/observe/http.ts";

function aHealth() {
  const clock = createManualClock();
  return { clock, health: createHealthChecks({ clock }) };
}
const aRequest = (query = "", accept = "*/*", subpath = ""): HttpRequest => ({
  subpath,
  query: new URLSearchParams(query),
  accept,
});

describe("health checks", () => {
  test("a process without health checks is healthy", () => {
    expect(aHealth().health.report("ready")).toEqual({ status: "Healthy", checks: [] });
  });

  test("a health check fails until it first passes", () => {
    const { health } = aHealth();
    const relay = health.register("relay");
    expect(health.report("ready")).toMatchObject({ status: "Unhealthy", checks: [{ detail: "not started" }] });
    relay.pass("2 watches");
    expect(health.report("ready")).toMatchObject({ status: "Healthy", checks: [{ ok: true, detail: "2 watches" }] });
  });

  test("since is the time of the last transition of a check, not of its last report", () => {
    const { health, clock } = aHealth();
    const relay = health.register("relay");
    clock.advance(1000);
    relay.pass();
    clock.advance(1000);
    relay.pass("again");
    expect(health.report("ready").checks[0]?.since).toBe("2026-01-01T00:00:01.000Z");
    relay.fail("cut");
    relay.fail("still cut");
    clock.advance(5000);
    expect(health.report("ready").checks[0]?.since).toBe("2026-01-01T00:00:02.000Z");
  });

  test("a health check with a callback is evaluated at each report, and fails with the error it throws", () => {
    const { health, clock } = aHealth();
    let depth: number | undefined = 1;
    health.registerCallback("queue", () => {
      if (depth === undefined) throw new Error("no queue");
      return { ok: depth < 10, detail: `${depth} keys` };
    });
    expect(health.report("ready").checks).toMatchObject([{ ok: true, detail: "1 keys" }]);
    clock.advance(2000);
    depth = 20;
    expect(health.report("ready").checks).toMatchObject([{ ok: false, since: "2026-01-01T00:00:02.000Z" }]);
    depth = undefined;
    expect(health.report("ready").checks).toMatchObject([{ ok: false, detail: "no queue" }]);
  });

  test("a failed readiness check does not affect liveness, and a failed liveness check affects both", () => {
    const { health } = aHealth();
    health.register("hub").fail("kcp is away");
    const loop = health.register("loop", { probe: "live" });
    loop.pass();
    expect([health.report("live").status, health.report("ready").status]).toEqual(["Healthy", "Unhealthy"]);
    loop.fail("stuck");
    expect(health.report("live").status).toBe("Unhealthy");
    expect(health.report("ready").checks.map(({ name }) => name)).toEqual(["hub", "loop"]);
  });

  test("the name of a health check is unique, and can be used again after its removal", () => {
    const { health } = aHealth();
    const relay = health.register("relay");
    expect(() => health.register("relay")).toThrow('health: check "relay" exists already');
    relay.remove();
    health.registerCallback("relay", () => ({ ok: true, detail: "" }))();
    expect(health.report("ready").checks).toEqual([]);
  });
});

describe("healthRoutes", () => {
  function routes() {
    const { health } = aHealth();
    health.register("ping", { probe: "live" }).pass();
    const hub = health.register("hub");
    hub.fail("kcp:\nconnection refused");
    return { hub, ...{ route: healthRoutes(health) } };
  }
  const cases: Record<string, { path: string; request: HttpRequest; status: number; body: string | undefined }> = {
    "liveness is ok while only readiness fails": { path: "/livez", request: aRequest(), status: 200, body: "ok" },
    "healthz is liveness": { path: "/healthz", request: aRequest(), status: 200, body: "ok" },
    "verbose lists the checks": {
      path: "/livez",
      request: aRequest("verbose"),
      status: 200,
      body: "[+]ping ok\nlivez check passed\n",
    },
    "a failure lists the checks with their details, one per line": {
      path: "/readyz",
      request: aRequest(),
      status: 503,
      body: "[+]ping ok\n[-]hub failed: kcp: connection refused\nreadyz check failed\n",
    },
    "a check can be excluded": { path: "/readyz", request: aRequest("exclude=hub"), status: 200, body: "ok" },
    "a single check can be requested": { path: "/readyz", request: aRequest("", "", "ping"), status: 200, body: "ok" },
    "a client that accepts JSON gets JSON, with the same status": {
      path: "/readyz",
      request: aRequest("", "text/html, application/json;q=0.9"),
      status: 503,
      body: `${JSON.stringify({
        status: "Unhealthy",
        checks: [
          { name: "ping", ok: true, detail: "", since: "2026-01-01T00:00:00.000Z" },
          { name: "hub", ok: false, detail: "kcp:\nconnection refused", since: "2026-01-01T00:00:00.000Z" },
        ],
      })}\n`,
    },
  };
  test.each(Object.entries(cases))("%s", (_, { path, request, status, body }) => {
    expect(routes().route[path]?.(request)).toMatchObject({ status, body });
  });

  test("the path of an unknown check is not found", () => {
    expect(routes().route["/readyz"]?.(aRequest("", "", "nobody"))).toBeUndefined();
  });
});

describe("/startupz", () => {
  test("fails until the process is ready for the first time, and then only if the process is not live", () => {
    const { health } = aHealth();
    const routes = healthRoutes(health);
    const status = () => routes["/startupz"]?.(aRequest())?.status;
    const loop = health.register("event-loop", { probe: "live" });
    const upstream = health.register("upstream");
    loop.pass();
    expect(status()).toBe(503);
    upstream.pass();
    expect(status()).toBe(200);
    upstream.fail("kcp is away");
    expect(status(), "a restart would not help").toBe(200);
    loop.fail("timers are late");
    expect(status()).toBe(503);
  });
});
