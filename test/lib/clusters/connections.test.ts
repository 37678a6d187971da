import { describe, expect, it } from "vitest";
import { createConnections } from "../../../lib/clusters/connections.ts";
import { asOutcome, type CredentialsFound } from "../../../lib/clusters/credentials.ts";
import { pooledTransports } from "../../../lib/clusters/pooled-transport.ts";
import { createCertificateAuthority } from "../../../lib/embedded/certificates.ts";
import { systemClock } from "../../../lib/model/clock.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { probe } from "../../../lib/registration/probe.ts";
import { startServer } from "../../support/http-server.ts";

const east: ObjectKey = { cluster: "abc", kind: "ClusterRegistration", name: "east" };

async function found(
  server: string,
  token: string,
  givenBy: "operator" | "tenant" = "tenant",
  ca?: string,
): Promise<CredentialsFound> {
  const outcome = await asOutcome({ server, ca, token: async () => token }, { givenBy, nowMs: 0 });
  if (outcome.kind !== "found") throw new Error(outcome.message);
  return outcome;
}

function counted() {
  const opened: string[] = [];
  let closed = 0;
  const connections = createConnections({
    openTransport: ({ server }, { key, givenBy }) => {
      opened.push(`${key.name} ${server} ${givenBy}`);
      return {
        send: () => Promise.reject(new Error("not asked for")),
        close: async () => {
          closed += 1;
        },
      };
    },
  });
  return { connections, opened, closed: () => closed };
}

describe("connections", () => {
  it("are kept while the credentials are the same", async () => {
    const { connections, opened, closed } = counted();
    const one = connections.clientFor(east, await found("https://east.example.com", "a"));
    expect(connections.clientFor(east, await found("https://east.example.com", "a"))).toBe(one);
    expect(opened).toEqual(["east https://east.example.com tenant"]);
    expect(closed()).toBe(0);
  });

  it("are made anew, and the old ones ended, when server or token change", async () => {
    const { connections, opened, closed } = counted();
    connections.clientFor(east, await found("https://east.example.com", "a"));
    connections.clientFor(east, await found("https://east.example.com", "b"));
    connections.clientFor(east, await found("https://new.example.com", "b"));
    expect(opened).toHaveLength(3);
    expect(closed()).toBe(2);
  });

  it("are never shared between registrations, not even of one name", async () => {
    const { connections, opened } = counted();
    const credentials = await found("https://east.example.com", "a");
    const one = connections.clientFor(east, credentials);
    expect(connections.clientFor({ ...east, cluster: "other" }, credentials)).not.toBe(one);
    expect(opened).toHaveLength(2);
  });

  it("end with the registration and with the process", async () => {
    const { connections, opened, closed } = counted();
    const credentials = await found("https://east.example.com", "a");
    connections.clientFor(east, credentials);
    await connections.drop(east);
    await connections.drop(east);
    expect(closed()).toBe(1);
    connections.clientFor(east, credentials);
    await connections.close();
    expect(opened).toHaveLength(2);
    expect(closed()).toBe(2);
  });
});

describe("pooled connections to a server that a tenant names", () => {
  it("are not made when its name leads where tenants may not go", async () => {
    const authority = createCertificateAuthority();
    const { certificate, key } = authority.issueServing(["localhost"]);
    const server = await startServer({ cert: certificate, key });
    server.handle((_, response) => void response.writeHead(200).end("ok"));
    const url = server.url.replace("127.0.0.1", "localhost");
    const ask = async (givenBy: "operator" | "tenant", allowPrivateEndpoints: boolean) => {
      const connections = createConnections({ openTransport: pooledTransports({ allowPrivateEndpoints }) });
      const client = connections.clientFor(east, await found(url, "token", givenBy, authority.certificate));
      const options = { timeoutMs: 5_000, signal: new AbortController().signal, clock: systemClock, detect: false };
      const { outcome } = await probe(client, options);
      await connections.close();
      return outcome;
    };
    try {
      expect(await ask("tenant", false)).toEqual({
        kind: "failed",
        reason: "EndpointRefused",
        message: "the server is refused: its address is in a private network",
      });
      expect(server.requests).toEqual([]);
      expect(await ask("tenant", true)).toEqual({ kind: "healthy" });
      expect(await ask("operator", false)).toEqual({ kind: "healthy" });
    } finally {
      await server.close();
    }
  });
});
