import { createCertificateAuthority } from "@tmc/embedded/certificates.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnections } from "../../../lib/credentials/connections.ts";
import { asOutcome, type CredentialsFound } from "../../../lib/credentials/credentials.ts";
import type { EndpointRules } from "../../../lib/credentials/endpoint-rules.ts";
import { functionTransports } from "../../../lib/credentials/function-transport.ts";
import { pooledTransports } from "../../../lib/credentials/pooled-transport.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { probe } from "../../../lib/registration/probe.ts";
import { startServer, type TestServer } from "../../support/http-server.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };

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

function counted(most?: number) {
  const opened: string[] = [];
  let closed = 0;
  const connections = createConnections({
    most,
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

  it("of the cluster that was used longest ago are ended when there are too many", async () => {
    const { connections, opened, closed } = counted(2);
    const way = await found("https://any.example.com", "a");
    for (const name of ["east", "west", "east", "north"]) connections.clientFor({ ...east, name }, way);
    expect(closed()).toBe(1);
    for (const name of ["east", "north"]) connections.clientFor({ ...east, name }, way);
    expect(opened.map((one) => one.split(" ")[0])).toEqual(["east", "west", "north"]);
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
    expect(connections.clientFor({ ...east, logicalCluster: "other" }, credentials)).not.toBe(one);
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

describe.each([
  ["pooled connections", pooledTransports],
  ["connections of functions", functionTransports],
])("%s to a server that a tenant names", (_, openTransports) => {
  const authority = createCertificateAuthority();
  const { certificate, key } = authority.issueServing(["localhost", "127.0.0.1"]);
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ cert: certificate, key });
  });
  afterAll(() => server.close());

  const ask = async (host: string, givenBy: "operator" | "tenant", rules: EndpointRules = {}) => {
    const url = server.url.replace("127.0.0.1", host);
    const connections = createConnections({ openTransport: openTransports(rules) });
    const client = connections.clientFor(east, await found(url, "token", givenBy, authority.certificate));
    const options = { timeoutMs: 5_000, signal: new AbortController().signal, clock: systemClock, detect: false };
    const { outcome } = await probe(client, options);
    await connections.close();
    return outcome;
  };
  const refused = {
    kind: "failed",
    reason: "EndpointNotAllowed",
    message: "the server is refused: its address is in a private network",
  };

  it.each(["localhost", "127.0.0.1"])("are not made when %s leads where tenants may not go", async (host) => {
    server.handle((_request, response) => void response.writeHead(200).end("ok"));
    const before = server.connections;
    expect(await ask(host, "tenant")).toEqual(refused);
    expect(await ask(host, "tenant", { allowedRanges: ["10.0.0.0/8"] })).toEqual(refused);
    expect(server.connections).toBe(before);
    expect(await ask(host, "tenant", { allowPrivateEndpoints: true })).toEqual({ kind: "healthy" });
    expect(await ask(host, "tenant", { allowedRanges: ["127.0.0.0/8", "::1/128"] })).toEqual({ kind: "healthy" });
    expect(await ask(host, "operator")).toEqual({ kind: "healthy" });
  });

  it("follow it nowhere else", async () => {
    const elsewhere = await startServer({ cert: certificate, key });
    server.handle((_request, response) => void response.writeHead(302, { location: `${elsewhere.url}/readyz` }).end());
    expect(await ask("127.0.0.1", "tenant", { allowPrivateEndpoints: true })).toMatchObject({
      kind: "failed",
      message: "/readyz answers 302: redirects are not followed",
    });
    expect(elsewhere.connections).toBe(0);
    await elsewhere.close();
  });
});
