import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import { describe, expect, it } from "vitest";
import { startServer } from "../../src/server/embedded-server.ts";
import {
  admin,
  allDefinitions,
  aNamespace,
  asAdmin,
  catalogOf,
  createRandom,
  namespaces,
} from "../support/test-core.ts";

const catalog = catalogOf(allDefinitions);
const options = (events: string[] = []) => ({
  version: { gitVersion: "v1" },
  compose: () => ({
    frontend: {
      authenticate: () => admin,
      resolve: (path: string) => ({ logicalCluster: "", path, catalog, authorize: () => {} }),
    },
    catalogOf: () => catalog,
    start: () => events.push("start"),
    stop: () => events.push("stop"),
  }),
});
const get = { method: "GET", path: "/api/v1/namespaces", headers: {}, timeoutMs: 5000 } as const;

describe("an embedded server", () => {
  it("gives the same responses over TLS and in process", async () => {
    const server = await startServer(options());
    try {
      server.operations.create({ definition: namespaces, logicalCluster: "" }, aNamespace("n"), asAdmin);
      const remote = createHttpsTransport(server.endpoint());
      const [over, inside] = [await remote.send(get), await server.transport().send(get)];
      expect(await over.text()).toBe(await inside.text());
      expect(over.status).toBe(200);
      await remote.close();
    } finally {
      await server.stop();
    }
  });

  it("works without a socket and with a given clock", async () => {
    const clock = createManualClock();
    const run = async () => {
      const server = await startServer({ ...options(), listen: false, clock, random: createRandom() });
      const { metadata } = server.operations.create(
        { definition: namespaces, logicalCluster: "" },
        aNamespace("n"),
        asAdmin,
      );
      const response = await server.transport().send({ ...get, path: "/version" });
      await server.stop();
      return [metadata, await response.text(), server.url];
    };
    expect(await run()).toEqual(await run());
    expect(clock.pending).toBe(0);
  });

  it("starts and stops the parts of its composition", async () => {
    const events: string[] = [];
    const server = await startServer({ ...options(events), listen: false });
    expect(events).toEqual(["start"]);
    await server.stop();
    expect(events).toEqual(["start", "stop"]);
  });
});
