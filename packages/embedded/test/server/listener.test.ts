import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { connect } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler } from "../../src/server/http.ts";
import { createListener, type Listener, splitUrl } from "../../src/server/listener.ts";
import { createCertificateAuthority } from "../../src/tls/certificates.ts";

const authority = createCertificateAuthority();
const ca = authority.certificate;
const json = { "content-type": "application/json" };
const listeners: Listener[] = [];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

async function serve(handler: Handler): Promise<Listener> {
  const listener = await createListener({ handler, authority });
  listeners.push(listener);
  return listener;
}

type Reply = Readonly<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>;

function call(url: string, options: RequestOptions = {}, body = ""): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(url, { ca, ...options }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        text += chunk;
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
      incoming.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const echo: Handler = async ({
  method,
  path,
  query,
  headers,
  body,
  certificate,
}: ApiRequest): Promise<ApiResponse> => ({
  status: 200,
  headers: json,
  body: JSON.stringify({ method, path, query: [...query], agent: headers["user-agent"], body, certificate }),
});

describe("a listener", () => {
  it("passes method, path, query, headers and body to the handler", async () => {
    const { url } = await serve(echo);
    const reply = await call(
      `${url}/clusters/root%3Ademo/api?labelSelector=a%3Db&x=1`,
      { method: "POST", headers: { "User-Agent": "me/1" } },
      "häh",
    );
    expect(JSON.parse(reply.text)).toEqual({
      method: "POST",
      path: "/clusters/root:demo/api",
      query: [
        ["labelSelector", "a=b"],
        ["x", "1"],
      ],
      agent: "me/1",
      body: "häh",
    });
  });

  it("accepts client certificates of its own authority only", async () => {
    const { url } = await serve(echo);
    const certificateOf = async (credentials?: { certificate: string; key: string }) => {
      const options = credentials === undefined ? {} : { cert: credentials.certificate, key: credentials.key };
      return JSON.parse((await call(url, { ...options, agent: new Agent() })).text).certificate;
    };
    expect(await certificateOf()).toBeUndefined();
    const ours = authority.issueClient({ name: "ann", groups: ["devs", "ops"] });
    expect(await certificateOf(ours)).toEqual({ user: "ann", groups: ["devs", "ops"] });
    const single = authority.issueClient({ name: "bob", groups: ["devs"] });
    expect(await certificateOf(single)).toEqual({ user: "bob", groups: ["devs"] });
    const strange = createCertificateAuthority().issueClient({ name: "eve", groups: ["system:masters"] });
    expect(await certificateOf(strange)).toBeUndefined();
  });

  it("keeps connections alive for the next request", async () => {
    const { url } = await serve(echo);
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
    const ports = new Set<number | undefined>();
    agent.on("free", (socket) => ports.add(socket.localPort));
    for (let index = 0; index < 3; index += 1) await call(url, { agent });
    agent.destroy();
    expect(ports.size).toBe(1);
  });

  it("sends a stream as its chunks are produced", async () => {
    let push: (() => void) | undefined;
    const next = new Promise<void>((resolve) => {
      push = resolve;
    });
    const { url } = await serve(async () => ({
      status: 200,
      headers: json,
      body: (async function* () {
        yield "first\n";
        await next;
        yield "second\n";
      })(),
    }));
    const seen: string[] = [];
    await new Promise<void>((resolve, reject) => {
      httpsRequest(url, { ca }, (incoming) => {
        incoming.setEncoding("utf8");
        incoming.on("data", (chunk: string) => {
          seen.push(chunk);
          push?.();
        });
        incoming.on("end", resolve);
      })
        .on("error", reject)
        .end();
    });
    expect(seen).toEqual(["first\n", "second\n"]);
  });

  it("stops producing a stream that is not read, or whose reader has left", async () => {
    let made = 0;
    let returned: (() => void) | undefined;
    const over = new Promise<void>((resolve) => {
      returned = resolve;
    });
    const { url } = await serve(async () => ({
      status: 200,
      headers: json,
      body: (async function* () {
        try {
          for (;;) {
            made += 1;
            yield "x".repeat(64 * 1024);
          }
        } finally {
          returned?.();
        }
      })(),
    }));
    await new Promise<void>((resolve, reject) => {
      const outgoing = httpsRequest(url, { ca }, (incoming) => {
        // The response is never read: the socket buffers fill up and the producer stops.
        incoming.on("error", () => {});
        const look = (before: number): void => {
          setImmediate(() => {
            if (made > 0 && made === before) {
              outgoing.destroy();
              resolve();
            } else setTimeout(look, 50, made);
          });
        };
        look(-1);
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
    await over;
    expect(made).toBeLessThan(1000);
  });

  it("resets the connection for a fault", async () => {
    const { url } = await serve(async () => {
      throw new ConnectionReset("fault");
    });
    await expect(call(url)).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("closes every connection when it stops, also open streams and idle ones", async () => {
    const listener = await createListener({
      authority,
      handler: async ({ signal }) => ({
        status: 200,
        headers: json,
        body: (async function* () {
          yield "open\n";
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        })(),
      }),
    });
    const { port } = new URL(listener.url);
    const idle = connect({ host: "127.0.0.1", port: Number(port), ca });
    await new Promise((resolve) => idle.once("secureConnect", resolve));
    const idleClosed = new Promise((resolve) => idle.once("close", resolve));
    const streamEnded = new Promise<void>((resolve) => {
      httpsRequest(listener.url, { ca }, (incoming) => {
        incoming.once("data", () => void listener.close());
        incoming.once("close", resolve);
        incoming.on("error", () => {});
      }).end();
    });
    await Promise.all([streamEnded, idleClosed]);
    await expect(call(listener.url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("rejects a body that is too large with a response", async () => {
    const { url } = await serve(async ({ body }) => ({ status: 200, headers: json, body: String(body.length) }));
    const { text } = await call(url, { method: "POST" }, "x".repeat(5 * 1024 * 1024));
    expect(Number(text)).toBe(3 * 1024 * 1024 + 1);
  });
});

it("splits a URL with an invalid percent-encoding", () => {
  expect(splitUrl("/a%2Fb/c?d=%20").path).toBe("/a/b/c");
  expect(splitUrl("/a%zz").path).toBe("/a%zz");
  expect([...splitUrl("/a?d=%20&d=2").query]).toEqual([
    ["d", " "],
    ["d", "2"],
  ]);
});
