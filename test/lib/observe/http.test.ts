import { once } from "node:events";
import { connect } from "node:net";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, describe, expect, test } from "vitest";
import { createHealthChecks, healthRoutes } from "../../../lib/observe/health.ts";
import { type HttpServer, metricsRoutes, type Routes, startHttp } from "../../../lib/observe/http.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { parseExposition } from "./exposition.ts";

const host = "127.0.0.1";
const servers: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(routes: Routes, options: { port?: number; host?: string } = {}) {
  const server = await startHttp({ name: "metrics", port: 0, host, routes, ...options });
  servers.push(server);
  const ask = (path: string, init: RequestInit = {}) => fetch(`http://${host}:${server.port}${path}`, init);
  return { server, ask };
}
const hello: Routes = { "/hello": ({ subpath }) => ({ status: 200, type: "text/plain", body: `hello ${subpath}` }) };

describe("startHttp", () => {
  test("the server serves metrics in the exposition format of Prometheus", async () => {
    const metrics = createMetrics();
    metrics.set("tmc_clusters", { ready: "true" }, 2);
    const { ask } = await start(metricsRoutes(metrics));
    const response = await ask("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(parseExposition(await response.text()).get("tmc_clusters")?.samples).toMatchObject([{ value: 2 }]);
    expect((await ask("/metrics/more")).status).toBe(404);
  });

  test("the server serves health as text or as JSON", async () => {
    const health = createHealthChecks({ clock: createManualClock() });
    health.register("hub").fail("away");
    const { ask } = await start({ ...metricsRoutes(createMetrics()), ...healthRoutes(health) });
    const live = await ask("/livez");
    expect([live.status, await live.text()]).toEqual([200, "ok"]);
    const ready = await ask("/readyz", { headers: { accept: "application/json" } });
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: "Unhealthy", checks: [{ name: "hub", ok: false, detail: "away", since: "2026-01-01T00:00:00.000Z" }] },
    ]);
    expect((await ask("/readyz/hub")).status).toBe(503);
    expect((await ask("/readyz?exclude=hub")).status).toBe(200);
  });

  test("the server responds with 404 and its available paths to an unknown path", async () => {
    const { ask } = await start(hello);
    const response = await ask("/hell");
    expect([response.status, await response.text()]).toEqual([404, "not found; available: /hello\n"]);
  });

  test("the server responds to HEAD without a body, and rejects other methods than GET", async () => {
    const { ask } = await start(hello);
    const head = await ask("/hello", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "6", ""]);
    const post = await ask("/hello", { method: "POST", body: "x".repeat(100_000) });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("the response to a failed handler does not contain the error", async () => {
    const { ask } = await start({
      "/bad": () => {
        throw new Error("token abc");
      },
    });
    const response = await ask("/bad");
    expect([response.status, await response.text()]).toEqual([500, "internal error\n"]);
  });

  test.each(["/hello/%", "//hello", "/hello?%zz", "/hello/../metrics"])(
    "the server does not fail for the path %s",
    async (path) => {
      const { ask } = await start(hello);
      expect((await ask(path)).status).toBeLessThan(500);
    },
  );
});

describe("ports of the server", () => {
  test("a port in use is named in one line", async () => {
    const { server } = await start(hello);
    const again = startHttp({ name: "health", port: server.port, host, routes: hello });
    await expect(again).rejects.toMatchObject({ fault: "invalid", message: `health: port ${server.port} is in use` });
  });

  test.each([-1, 65_536, 1.5])("the invalid port %s is rejected", async (port) => {
    await expect(startHttp({ name: "health", port, routes: hello })).rejects.toThrow(
      `health: port ${port} is not a port; must be 0 to 65535`,
    );
  });

  test("an address of another machine is rejected and named", async () => {
    await expect(startHttp({ name: "health", port: 0, host: "192.0.2.1", routes: hello })).rejects.toThrow(
      "health: 192.0.2.1 is not an address of this machine",
    );
  });

  test("the port of a closed server is free", async () => {
    const first = await startHttp({ name: "metrics", port: 0, host, routes: hello });
    await first.close();
    await start(hello, { port: first.port });
  });

  test("idle connections do not delay the close of a server", async () => {
    const server = await startHttp({ name: "metrics", port: 0, host, routes: hello });
    await (await fetch(`http://${host}:${server.port}/hello`)).text();
    const silent = connect(server.port, host);
    silent.on("error", () => {});
    await once(silent, "connect");
    const cut = once(silent, "close");
    await server.close();
    await cut;
  });
});
