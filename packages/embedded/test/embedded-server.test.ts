import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import { describe, expect, it } from "vitest";
import {
  admin,
  allDefinitions,
  aNamespace,
  asAdmin,
  catalogOf,
  createRandom,
  namespaces,
} from "../../../test/support/embedded-core.ts";
import { createManualClock } from "../../../test/support/manual-clock.ts";
import { startServer } from "../src/embedded-server.ts";

const catalog = catalogOf(allDefinitions);
const options = (events: string[] = []) => ({
  version: { gitVersion: "v1" },
  compose: () => ({
    frontend: {
      authenticate: () => admin,
      resolve: (path: string) => ({ cluster: "", path, catalog, authorize: () => {} }),
    },
    catalogOf: () => catalog,
    start: () => events.push("start"),
    stop: () => events.push("stop"),
  }),
});
const get = { method: "GET", path: "/api/v1/namespaces", headers: {}, timeoutMs: 5000 } as const;

describe("an embedded server", () => {
  it("answers over TLS and inside the process alike", async () => {
    const server = await startServer(options());
    try {
      server.operations.create({ definition: namespaces, cluster: "" }, aNamespace("n"), asAdmin);
      const remote = createHttpsTransport(server.endpoint());
      const [over, inside] = [await remote.send(get), await server.transport().send(get)];
      expect(await over.text()).toBe(await inside.text());
      expect(over.status).toBe(200);
      await remote.close();
    } finally {
      await server.stop();
    }
  });

  it("needs neither socket nor time of its own", async () => {
    const clock = createManualClock();
    const run = async () => {
      const server = await startServer({ ...options(), listen: false, clock, random: createRandom() });
      const { metadata } = server.operations.create({ definition: namespaces, cluster: "" }, aNamespace("n"), asAdmin);
      const response = await server.transport().send({ ...get, path: "/version" });
      await server.stop();
      return [metadata, await response.text(), server.url];
    };
    expect(await run()).toEqual(await run());
    expect(clock.pending).toBe(0);
  });

  it("starts what it is composed of, and stops it", async () => {
    const events: string[] = [];
    const server = await startServer({ ...options(events), listen: false });
    expect(events).toEqual(["start"]);
    await server.stop();
    expect(events).toEqual(["start", "stop"]);
  });
});
