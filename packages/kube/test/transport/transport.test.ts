import { type Credentials, createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../../../../test/support/http-server.ts";
import { errorOfNetwork } from "../../src/errors.ts";
import { createHttpsTransport } from "../../src/transport/https-transport.ts";
import type { Endpoint, Transport, TransportRequest } from "../../src/transport/transport.ts";
import { createUndiciTransport } from "../../src/transport/undici-transport.ts";

const authority = createCertificateAuthority();
const serverPair = authority.issueServing(["127.0.0.1", "api.example"]);
const tls = { cert: serverPair.certificate, key: serverPair.key, ca: authority.certificate };

type Options = { connections?: number; connectTimeoutMs?: number; largestBodyBytes?: number };
const transports: [string, (endpoint: Endpoint, options?: Options) => Transport][] = [
  ["undici", createUndiciTransport],
  ["node:https", createHttpsTransport],
];

const aRequest = (given: Partial<TransportRequest> = {}): TransportRequest => ({
  method: "GET",
  path: "/version",
  headers: { accept: "application/json" },
  timeoutMs: 5_000,
  ...given,
});

describe.each(transports)("the %s transport", (_, createTransport) => {
  let server: TestServer;
  const opened: (() => Promise<void>)[] = [];
  const open = (endpoint: Endpoint, options?: Options): Transport => {
    const transport = createTransport(endpoint, options);
    opened.push(() => transport.close());
    return transport;
  };
  const openHere = (options?: Options): Transport => open({ server: server.url, ca: authority.certificate }, options);
  const failureOf = async (transport: Transport, request = aRequest()): Promise<string | undefined> => {
    try {
      const response = await transport.send(request);
      await response.text();
      return undefined;
    } catch (error) {
      return errorOfNetwork("test", error).network;
    }
  };

  beforeAll(async () => {
    server = await startServer(tls);
  });
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });
  afterAll(async () => {
    await server.close();
  });

  test("sends method, path, headers and body unchanged", async () => {
    server.handle((_request, response) => void response.writeHead(201, { "X-Answer": "yes" }).end("grüße"));
    const response = await openHere().send(
      aRequest({
        method: "DELETE",
        path: "/services/apiexport/root:a/b/clusters/*/api?x=%2A",
        headers: { "content-type": "application/json", "x-given": "1" },
        repeatedHeaders: { "impersonate-group": ["a", "b"] },
        body: '{"ü":1}',
      }),
    );
    expect([response.status, response.headers["x-answer"], await response.text()]).toEqual([201, "yes", "grüße"]);
    const seen = server.requests.at(-1);
    expect([seen?.method, seen?.url, seen?.body, seen?.headers["x-given"]]).toEqual([
      "DELETE",
      "/services/apiexport/root:a/b/clusters/*/api?x=%2A",
      '{"ü":1}',
      "1",
    ]);
    const groups = seen?.rawHeaders.filter(
      (_name, index, all) => all[index - 1]?.toLowerCase() === "impersonate-group",
    );
    expect(groups).toEqual(["a", "b"]);
  });

  test("does not follow redirects", async () => {
    server.handle((_request, response) => void response.writeHead(302, { location: "https://example.com/" }).end());
    const response = await openHere().send(aRequest());
    await response.text();
    expect(response.status).toBe(302);
  });

  test("reuses its connection for the next request", async () => {
    server.handle((_request, response) => void response.end("{}"));
    const before = server.connections;
    const transport = openHere();
    for (let call = 0; call < 30; call++) await (await transport.send(aRequest())).text();
    // Not always one: undici may start the next call before it has let go of the last one's connection.
    expect(server.connections - before).toBeLessThanOrEqual(2);
  });

  test("opens no more connections for requests than its limit", async () => {
    server.handle((_request, response) => void setImmediate(() => response.end("{}")));
    const before = server.connections;
    const transport = openHere({ connections: 4 });
    await Promise.all(Array.from({ length: 40 }, async () => (await transport.send(aRequest())).text()));
    expect(server.connections - before).toBeLessThanOrEqual(4);
  });

  test("lets no number of streams delay a request", async () => {
    server.handle(({ url }, response) => {
      if (url === "/watch") response.write("{}\n");
      else response.end("done");
    });
    const transport = openHere({ connections: 2 });
    const streams = await Promise.all(
      Array.from({ length: 6 }, () => transport.send(aRequest({ path: "/watch", stream: true }))),
    );
    expect(await (await transport.send(aRequest())).text()).toBe("done");
    for (const stream of streams) stream.cancel();
  });

  test("yields a stream's chunks as they arrive, and closes the connection when its reader stops", async () => {
    const gone = Promise.withResolvers<void>();
    server.handle((_request, response, socket) => {
      socket.once("close", () => gone.resolve());
      response.write("one\n");
    });
    const response = await openHere().send(aRequest({ stream: true }));
    for await (const chunk of response.chunks()) {
      expect(Buffer.from(chunk).toString()).toBe("one\n");
      break;
    }
    await gone.promise;
  });

  test("reads a stream no faster than its caller", async () => {
    let sent = 0;
    const full = Promise.withResolvers<void>();
    server.handle((_request, response) => {
      const line = Buffer.alloc(64 * 1024, "x");
      const pump = (): void => {
        while (response.write(line)) sent += line.length;
        sent += line.length;
        // Nobody reads: the kernel's buffers fill, then ours, and the server must wait.
        const stuck = setTimeout(() => full.resolve(), 300);
        response.once("drain", () => {
          clearTimeout(stuck);
          pump();
        });
      };
      pump();
    });
    const response = await openHere().send(aRequest({ stream: true }));
    await full.promise;
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    response.cancel();
  });

  test("ends with the caller's signal, before the headers and after them", async () => {
    const arrived = Promise.withResolvers<void>();
    server.handle(() => arrived.resolve());
    const early = new AbortController();
    const waiting = openHere().send(aRequest({ signal: early.signal }));
    await arrived.promise;
    early.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();

    server.handle((_request, response) => void response.write("{"));
    const late = new AbortController();
    const response = await openHere().send(aRequest({ signal: late.signal }));
    const text = response.text();
    late.abort(new Error("enough"));
    await expect(text).rejects.toThrow();
  });

  test("reports a time-out of the headers with its code", async () => {
    server.handle(() => {});
    expect(await failureOf(openHere(), aRequest({ timeoutMs: 50 }))).toBe("timeout");
  });

  test("reports a cut connection with its code, with and without a partial response", async () => {
    server.handle((_request, _response, socket) => void socket.destroy());
    expect(await failureOf(openHere())).toBe("reset");
    server.handle((_request, response, socket) => {
      response.writeHead(200, { "content-length": "100" }).write("half");
      setImmediate(() => socket.destroy());
    });
    expect(await failureOf(openHere())).toBe("reset");
  });

  test("reports an unreachable server and an unknown host name with their codes", async () => {
    const gone = await startServer(tls);
    await gone.close();
    expect(await failureOf(open({ server: gone.url, ca: authority.certificate }))).toBe("refused");
    expect(await failureOf(open({ server: "https://no-such-host.invalid", ca: authority.certificate }))).toBe("dns");
  });

  test("rejects a response that is larger than allowed", async () => {
    server.handle((_request, response) => void response.end("x".repeat(10_000)));
    expect(await failureOf(openHere({ largestBodyBytes: 1_000 }))).toBe("not-an-api-server");
  });

  const now = Date.now();
  const badCertificates: Record<string, () => Credentials> = {
    expired: () => authority.issueServing(["127.0.0.1"], { notAfter: now - 60_000 }),
    "not valid yet": () => authority.issueServing(["127.0.0.1"], { notBefore: now + 3_600_000 }),
    "made for another name": () => authority.issueServing(["other.example"]),
    "signed by an unknown authority": () => createCertificateAuthority({ name: "another" }).issueServing(["127.0.0.1"]),
  };
  test.each(Object.entries(badCertificates))("refuses a server whose certificate is %s", async (_case, issue) => {
    const { certificate, key } = issue();
    const bad = await startServer({ cert: certificate, key });
    opened.push(() => bad.close());
    expect(await failureOf(open({ server: bad.url, ca: authority.certificate }))).toBe("tls");
    bad.handle((_request, response) => void response.end("{}"));
    expect(await failureOf(open({ server: bad.url, insecureSkipTlsVerify: true }))).toBeUndefined();
  });

  test("checks the server's certificate against serverName", async () => {
    server.handle((_request, response) => void response.end("{}"));
    const endpoint = { server: server.url, ca: authority.certificate };
    expect(await failureOf(open({ ...endpoint, serverName: "api.example" }))).toBeUndefined();
    expect(await failureOf(open({ ...endpoint, serverName: "wrong.example" }))).toBe("tls");
  });

  test("sends its client certificate, and reports a server that requires one", async () => {
    const strict = await startServer({ ...tls, requestCert: true, rejectUnauthorized: true });
    opened.push(() => strict.close());
    strict.handle((_request, response) => void response.end("{}"));
    const mine = authority.issueClient({ name: "me" });
    const endpoint = { server: strict.url, ca: authority.certificate };
    expect(await failureOf(open({ ...endpoint, certificate: mine.certificate, key: mine.key }))).toBeUndefined();
    expect(["client-certificate", "reset"]).toContain(await failureOf(open(endpoint)));
  });

  test("accepts plain http for this machine only", async () => {
    const plain = await startServer();
    opened.push(() => plain.close());
    plain.handle((_request, response) => void response.end("plain"));
    expect(await (await open({ server: plain.url }).send(aRequest())).text()).toBe("plain");
    expect(() => createTransport({ server: "http://kcp.example.com" })).toThrow(/this machine only/);
  });

  test("rejects requests after it was closed, and ends streams", async () => {
    server.handle((_request, response) => void response.write("{}\n"));
    const transport = openHere();
    const stream = await transport.send(aRequest({ stream: true }));
    const reading = (async () => {
      for await (const _chunk of stream.chunks());
    })();
    await transport.close();
    await expect(reading).rejects.toThrow();
    expect(await failureOf(transport)).toBe("closed");
  });
});

test("the undici transport opens spare connections only for a burst of requests", async () => {
  const server = await startServer(tls);
  const held: (() => void)[] = [];
  const transport = createUndiciTransport(
    { server: server.url, ca: authority.certificate },
    { connections: 2, spareConnections: 3 },
  );
  const ask = async (count: number): Promise<void> => {
    server.handle((_request, response) => void held.push(() => response.end("{}")));
    const answers = Array.from({ length: count }, async () => (await transport.send(aRequest())).text());
    const answerAll = setInterval(() => {
      for (const answer of held.splice(0)) answer();
    }, 5);
    await Promise.all(answers);
    clearInterval(answerAll);
  };
  await ask(6);
  expect(server.connections).toBeLessThanOrEqual(2);
  await ask(40);
  expect(server.connections).toBeGreaterThan(2);
  expect(server.connections).toBeLessThanOrEqual(5);
  await transport.close();
  await server.close();
});
