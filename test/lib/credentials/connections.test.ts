import { Readable } from "node:stream";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnections } from "../../../lib/credentials/connections.ts";
import { type CredentialsFound, outcomeOf } from "../../../lib/credentials/credentials.ts";
import type { EndpointRules } from "../../../lib/credentials/endpoint-rules.ts";
import { functionTransports } from "../../../lib/credentials/function-transport.ts";
import { pooledTransports } from "../../../lib/credentials/pooled-transport.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { probe } from "../../../lib/registration/probe.ts";
import { eventually } from "../../support/eventually.ts";
import { startServer, type TestServer } from "../../support/http-server.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };

async function found(
  server: string,
  token: string,
  providedBy: "operator" | "tenant" = "tenant",
  ca?: string,
): Promise<CredentialsFound> {
  const outcome = await outcomeOf({ server, ca, token: async () => token }, { providedBy, nowMs: 0 });
  if (outcome.kind !== "found") throw new Error(outcome.message);
  return outcome;
}

function counted(capacity?: number) {
  const opened: string[] = [];
  let closed = 0;
  const connections = createConnections({
    capacity,
    openTransport: ({ server }, { key, providedBy }) => {
      opened.push(`${key.name} ${server} ${providedBy}`);
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
  it("connections are reused while the credentials do not change", async () => {
    const { connections, opened, closed } = counted();
    const one = connections.clientFor(east, await found("https://east.example.com", "a"));
    expect(connections.clientFor(east, await found("https://east.example.com", "a"))).toBe(one);
    expect(opened).toEqual(["east https://east.example.com tenant"]);
    expect(closed()).toBe(0);
  });

  it("the connections of the least recently used cluster are closed above the capacity", async () => {
    const { connections, opened, closed } = counted(2);
    const way = await found("https://any.example.com", "a");
    for (const name of ["east", "west", "east", "north"]) connections.clientFor({ ...east, name }, way);
    expect(closed()).toBe(1);
    for (const name of ["east", "north"]) connections.clientFor({ ...east, name }, way);
    expect(opened.map((one) => one.split(" ")[0])).toEqual(["east", "west", "north"]);
  });

  it("connections are replaced when server or token change", async () => {
    const { connections, opened, closed } = counted();
    connections.clientFor(east, await found("https://east.example.com", "a"));
    connections.clientFor(east, await found("https://east.example.com", "b"));
    connections.clientFor(east, await found("https://new.example.com", "b"));
    expect(opened).toHaveLength(3);
    expect(closed()).toBe(2);
  });

  it("connections are not shared between registrations of the same name", async () => {
    const { connections, opened } = counted();
    const credentials = await found("https://east.example.com", "a");
    const one = connections.clientFor(east, credentials);
    expect(connections.clientFor({ ...east, logicalCluster: "other" }, credentials)).not.toBe(one);
    expect(opened).toHaveLength(2);
  });

  it("connections are closed with the registration and with the process", async () => {
    const { connections, opened, closed } = counted();
    const credentials = await found("https://east.example.com", "a");
    connections.clientFor(east, credentials);
    await connections.disconnect(east);
    await connections.disconnect(east);
    expect(closed()).toBe(1);
    connections.clientFor(east, credentials);
    await connections.close();
    expect(opened).toHaveLength(2);
    expect(closed()).toBe(2);
  });
});

describe("answers in flight", () => {
  const mebibyte = 1024 * 1024;
  const nodes = { group: "", version: "v1", plural: "nodes" };

  /** Connections to servers that each send 7 MB of a page, and never the rest of it. */
  function endlessPages() {
    const readBytes = new Map<string, number>();
    const connections = createConnections({
      openTransport: (_, { key }) => ({
        send: async ({ signal }) => ({
          status: 200,
          headers: { "content-type": "application/json" },
          text: async () => "",
          chunks: async function* () {
            for (let sent = 0; sent < 7; sent += 1) {
              yield Buffer.alloc(mebibyte, " ");
              const id = `${key.logicalCluster} ${key.name}`;
              readBytes.set(id, (readBytes.get(id) ?? 0) + mebibyte);
            }
            await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
          },
          cancel: () => {},
        }),
        close: async () => {},
      }),
    });
    const megabytesOf = (logicalCluster: string): number =>
      [...readBytes].reduce(
        (sum, [id, bytes]) => sum + (id.startsWith(`${logicalCluster} `) ? bytes / mebibyte : 0),
        0,
      );
    return { connections, megabytesOf };
  }

  it("of all servers that a tenant names take at most 32 MB besides the oldest one, and delay no other tenant", async () => {
    const { connections, megabytesOf } = endlessPages();
    const abort = new AbortController();
    const read = async (logicalCluster: string, name: string) =>
      connections
        .clientFor({ ...east, logicalCluster, name }, await found(`https://${name}.example.com`, "a"))
        .list({ type: nodes }, { signal: abort.signal })
        .catch(() => {});
    const reads = Array.from({ length: 12 }, (_, at) => read("abc", `c${at}`));
    reads.push(read("other", "east"));
    await eventually(async () => (megabytesOf("other") === 7 ? undefined : "the page of the other tenant"), 5_000);
    expect(megabytesOf("abc")).toBeGreaterThan(20);
    expect(megabytesOf("abc")).toBeLessThanOrEqual(32 + 8);
    abort.abort();
    await Promise.all(reads);
  });
});

describe.each([
  ["pooled connections", pooledTransports],
  ["connections of functions", functionTransports],
])("%s to a server of a tenant", (_, openTransports) => {
  const authority = createCertificateAuthority();
  const { certificate, key } = authority.issueServing(["localhost", "127.0.0.1"]);
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ cert: certificate, key });
  });
  afterAll(() => server.close());

  const ask = async (host: string, providedBy: "operator" | "tenant", rules: EndpointRules = {}, more = {}) => {
    const url = server.url.replace("127.0.0.1", host);
    const connections = createConnections({ openTransport: openTransports(rules) });
    const client = connections.clientFor(east, await found(url, "token", providedBy, authority.certificate));
    const options = {
      timeoutMs: 5_000,
      signal: new AbortController().signal,
      clock: systemClock,
      detect: false,
      ...more,
    };
    const { outcome } = await probe(client, options);
    await connections.close();
    return outcome;
  };
  const aNamespace = JSON.stringify({ metadata: { uid: "u1" } });
  const rejected = {
    kind: "failed",
    reason: "EndpointNotAllowed",
    message: "the server is not allowed: its address is in a private network",
  };

  it.each(["localhost", "127.0.0.1"])(
    "no connection is opened to %s for a tenant unless the operator allows it",
    async (host) => {
      server.handle((_request, response) => void response.writeHead(200).end(aNamespace));
      const before = server.connections;
      expect(await ask(host, "tenant")).toEqual(rejected);
      expect(await ask(host, "tenant", { allowedRanges: ["10.0.0.0/8"] })).toEqual(rejected);
      expect(server.connections).toBe(before);
      expect(await ask(host, "tenant", { allowPrivateEndpoints: true })).toMatchObject({ kind: "healthy" });
      expect(await ask(host, "tenant", { allowedRanges: ["127.0.0.0/8", "::1/128"] })).toMatchObject({
        kind: "healthy",
      });
      expect(await ask(host, "operator")).toMatchObject({ kind: "healthy" });
    },
  );

  it.each([
    ["/api", "get /api: answer is larger than 2 MB"],
    ["/api/v1/nodes", "list nodes: answer is larger than 8 MB"],
  ])("a tenant's server with an answer of 20 MB for %s is not healthy", async (path, why) => {
    const part = Buffer.alloc(1024 * 1024, "[],");
    server.handle(({ url }, response) => {
      const isLarge = url.split("?", 1)[0] === path;
      response.writeHead(isLarge || url === "/readyz" ? 200 : 404);
      if (isLarge) Readable.from(Array.from({ length: 20 }, () => part)).pipe(response);
      else response.end();
    });
    const detect = { detect: true };
    expect(await ask("127.0.0.1", "tenant", { allowPrivateEndpoints: true }, detect)).toEqual({
      kind: "failed",
      reason: "ClusterUnhealthy",
      message: `cluster east: ${why}`,
    });
    expect(await ask("127.0.0.1", "operator", {}, detect)).toMatchObject({ kind: "healthy" });
  });

  it("connections for a tenant do not follow redirects", async () => {
    const elsewhere = await startServer({ cert: certificate, key });
    server.handle((_request, response) => void response.writeHead(302, { location: `${elsewhere.url}/readyz` }).end());
    expect(await ask("127.0.0.1", "tenant", { allowPrivateEndpoints: true })).toMatchObject({
      kind: "failed",
      message: "/readyz returned 302: redirects are not followed",
    });
    expect(elsewhere.connections).toBe(0);
    await elsewhere.close();
  });
});
