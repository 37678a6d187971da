import { describe, expect, test } from "vitest";
import { createHealth, healthRoutes } from "../../../lib/observe/health.ts";
import type { HttpRequest } from "../../../lib/observe/http.ts";
import { createManualClock } from "../../support/manual-clock.ts";

function aHealth() {
  const clock = createManualClock();
  return { clock, health: createHealth({ clock }) };
}
const asking = (query = "", accept = "*/*", rest = ""): HttpRequest => ({
  rest,
  query: new URLSearchParams(query),
  accept,
});

describe("checks", () => {
  test("without any a process is well", () => {
    expect(aHealth().health.report("ready")).toEqual({ status: "Healthy", checks: [] });
  });

  test("a check fails until it is first told otherwise", () => {
    const { health } = aHealth();
    const relay = health.register("relay");
    expect(health.report("ready")).toMatchObject({ status: "Unhealthy", checks: [{ detail: "not started" }] });
    relay.pass("2 watches");
    expect(health.report("ready")).toMatchObject({ status: "Healthy", checks: [{ ok: true, detail: "2 watches" }] });
  });

  test("since is when it last turned, not when it last spoke", () => {
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

  test("a check that is asked turns when it is seen to, and fails with what it throws", () => {
    const { health, clock } = aHealth();
    let depth: number | undefined = 1;
    health.ask("queue", () => {
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

  test("what is not ready does not make a process dead; what is dead is not ready", () => {
    const { health } = aHealth();
    health.register("hub").fail("kcp is away");
    const loop = health.register("loop", { probe: "live" });
    loop.pass();
    expect([health.report("live").status, health.report("ready").status]).toEqual(["Healthy", "Unhealthy"]);
    loop.fail("stuck");
    expect(health.report("live").status).toBe("Unhealthy");
    expect(health.report("ready").checks.map(({ name }) => name)).toEqual(["hub", "loop"]);
  });

  test("a name is used once, and again after it was taken back", () => {
    const { health } = aHealth();
    const relay = health.register("relay");
    expect(() => health.register("relay")).toThrow('health: there is a check "relay" already');
    relay.remove();
    health.ask("relay", () => ({ ok: true, detail: "" }))();
    expect(health.report("ready").checks).toEqual([]);
  });
});

describe("answers", () => {
  function routes() {
    const { health } = aHealth();
    health.register("ping", { probe: "live" }).pass();
    const hub = health.register("hub");
    hub.fail("kcp:\nconnection refused");
    return { hub, ...{ route: healthRoutes(health) } };
  }
  const cases: Record<string, { path: string; request: HttpRequest; status: number; body: string | undefined }> = {
    "liveness is ok while only readiness fails": { path: "/livez", request: asking(), status: 200, body: "ok" },
    "healthz is liveness": { path: "/healthz", request: asking(), status: 200, body: "ok" },
    "verbose lists the checks": {
      path: "/livez",
      request: asking("verbose"),
      status: 200,
      body: "[+]ping ok\nlivez check passed\n",
    },
    "a failure lists the checks with their words, each in its line": {
      path: "/readyz",
      request: asking(),
      status: 503,
      body: "[+]ping ok\n[-]hub failed: kcp: connection refused\nreadyz check failed\n",
    },
    "a check can be left out": { path: "/readyz", request: asking("exclude=hub"), status: 200, body: "ok" },
    "a check can be asked for alone": { path: "/readyz", request: asking("", "", "ping"), status: 200, body: "ok" },
    "whoever accepts JSON gets it, with the same status": {
      path: "/readyz",
      request: asking("", "text/html, application/json;q=0.9"),
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

  test("there is nothing below for a check that is not there", () => {
    expect(routes().route["/readyz"]?.(asking("", "", "nobody"))).toBeUndefined();
  });
});
