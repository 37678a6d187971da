import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { answerJson, startServer, type TestServer } from "../../../test/support/http-server.ts";
import type { KubeClient, Patch } from "../src/client.ts";
import { ApiError } from "../src/errors.ts";
import { createManualClock } from "../src/manual-clock.ts";
import { createKubeClient } from "../src/rest-client.ts";
import { createHttpsTransport } from "../src/transport/https-transport.ts";
import type { Endpoint, Transport, TransportRequest } from "../src/transport/transport.ts";
import { createUndiciTransport } from "../src/transport/undici-transport.ts";

const deployments = { group: "apps", version: "v1", plural: "deployments" };
const pods = { group: "", version: "v1", plural: "pods" };
const nodes = { group: "", version: "v1", plural: "nodes" };
const web = { type: deployments, namespace: "default", name: "web" };
const anObject = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" } };
const partial = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1`;

const authority = createCertificateAuthority();
const pair = authority.issueServing(["127.0.0.1"]);
const transports: [string, (endpoint: Endpoint) => Transport][] = [
  ["undici", createUndiciTransport],
  ["node:https", createHttpsTransport],
];

async function failureOf(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the call went well");
}

describe.each(transports)("a client over %s", (_, createTransport) => {
  let server: TestServer;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startServer({ cert: pair.certificate, key: pair.key });
    const endpoint: Endpoint = {
      server: server.url,
      ca: authority.certificate,
      token: async () => "s3cret\n",
      impersonate: { user: "jane", groups: ["a", "b"] },
    };
    client = createKubeClient({ endpoint, transport: createTransport(endpoint), name: "kcp", userAgent: "tmc/test" });
  });
  beforeEach(() => {
    server.requests.length = 0;
    server.handle(({ method }, response) => answerJson(response, anObject, { status: method === "POST" ? 201 : 200 }));
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  type Wire = { method?: string; url: string; type?: string; body?: unknown; accept?: string };
  const wires: Record<string, [(client: KubeClient) => Promise<unknown>, Wire]> = {
    "a get in a group": [(c) => c.get(web), { url: "/apis/apps/v1/namespaces/default/deployments/web" }],
    "a get in the core group": [
      (c) => c.get({ type: nodes, name: "n1" }, { resourceVersion: "0" }),
      { url: "/api/v1/nodes/n1?resourceVersion=0" },
    ],
    "a get of a subresource": [
      (c) => c.get(web, { subresource: "scale" }),
      { url: "/apis/apps/v1/namespaces/default/deployments/web/scale" },
    ],
    "a name that needs escapes": [
      (c) => c.get({ type: nodes, name: "system:a b" }),
      { url: "/api/v1/nodes/system%3Aa%20b" },
    ],
    "a get of metadata": [
      (c) => c.metadata.get(web),
      { url: "/apis/apps/v1/namespaces/default/deployments/web", accept: partial("PartialObjectMetadata") },
    ],
    "a get below a workspace": [
      (c) => c.at("/clusters/root:demo/").get({ type: nodes, name: "n1" }),
      { url: "/clusters/root:demo/api/v1/nodes/n1" },
    ],
    "a create": [
      (c) => c.create({ type: deployments, namespace: "default" }, anObject, { fieldManager: "tmc", dryRun: true }),
      {
        method: "POST",
        url: "/apis/apps/v1/namespaces/default/deployments?fieldManager=tmc&dryRun=All",
        type: "application/json",
        body: anObject,
      },
    ],
    "a create of a subresource": [
      (c) => c.create({ type: pods, namespace: "x" }, {}, { name: "p", subresource: "eviction" }),
      { method: "POST", url: "/api/v1/namespaces/x/pods/p/eviction", type: "application/json", body: {} },
    ],
    "an update of the status": [
      (c) => c.update(web, anObject, { subresource: "status", fieldValidation: "Strict" }),
      {
        method: "PUT",
        url: "/apis/apps/v1/namespaces/default/deployments/web/status?fieldValidation=Strict",
        type: "application/json",
        body: anObject,
      },
    ],
    "an apply": [
      (c) => c.patch(web, { type: "apply", body: anObject, force: true }, { fieldManager: "tmc" }),
      {
        method: "PATCH",
        url: "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=tmc&force=true",
        type: "application/apply-patch+yaml",
        body: anObject,
      },
    ],
    "a delete with preconditions": [
      (c) => c.delete(web, { preconditions: { uid: "u", resourceVersion: "7" }, propagationPolicy: "Foreground" }),
      {
        method: "DELETE",
        url: "/apis/apps/v1/namespaces/default/deployments/web",
        type: "application/json",
        body: {
          apiVersion: "v1",
          kind: "DeleteOptions",
          preconditions: { uid: "u", resourceVersion: "7" },
          propagationPolicy: "Foreground",
        },
      },
    ],
    "a delete of many": [
      (c) => c.deleteAll({ type: pods, namespace: "x" }, { labelSelector: "a=b,c!=d", gracePeriodSeconds: 0 }),
      {
        method: "DELETE",
        url: "/api/v1/namespaces/x/pods?labelSelector=a%3Db%2Cc!%3Dd",
        type: "application/json",
        body: { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 },
      },
    ],
  };
  test.each(Object.entries(wires))("sends %s as servers expect it", async (_case, [call, wire]) => {
    await call(client);
    const seen = server.requests[0];
    expect({
      method: seen?.method,
      url: seen?.url,
      type: seen?.headers["content-type"],
      body: seen?.body ? JSON.parse(seen.body) : undefined,
      accept: seen?.headers.accept,
    }).toEqual({ method: "GET", type: undefined, body: undefined, accept: "application/json", ...wire });
  });

  const patches: [Patch, string][] = [
    [{ type: "json", body: [{ op: "remove", path: "/spec" }] }, "application/json-patch+json"],
    [{ type: "merge", body: { a: null } }, "application/merge-patch+json"],
    [{ type: "strategic", body: { a: 1 } }, "application/strategic-merge-patch+json"],
  ];
  test.each(patches)("sends the content type of the patch %j", async (patch, type) => {
    await client.patch(web, patch);
    expect(server.requests[0]?.headers["content-type"]).toBe(type);
    expect(JSON.parse(server.requests[0]?.body ?? "")).toEqual(patch.body);
  });

  test("authenticates and identifies itself with every request", async () => {
    await client.get(web);
    const { headers, rawHeaders = [] } = server.requests[0] ?? {};
    expect([headers?.authorization, headers?.["user-agent"], headers?.["impersonate-user"]]).toEqual([
      "Bearer s3cret",
      "tmc/test",
      "jane",
    ]);
    expect(rawHeaders.filter((name) => name.toLowerCase() === "impersonate-group")).toHaveLength(2);
  });

  test("turns a failure into an error that names the call, the object and the reason", async () => {
    server.handle((_request, response) =>
      answerJson(
        response,
        { kind: "Status", code: 403, reason: "Forbidden", message: "no access to workloads" },
        { status: 403 },
      ),
    );
    const error = await failureOf(client.at("/clusters/root:demo").get(web));
    expect(error.message).toBe(
      'kcp: get deployments.apps "web" in default at /clusters/root:demo: 403 no access to workloads',
    );
    expect([error.fault, error.status, error.reason, error.body?.code]).toEqual(["forbidden", 403, "Forbidden", 403]);
  });

  test("reports that the response does not come from an API server if a success is not JSON", async () => {
    server.handle((_request, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>"));
    const error = await failureOf(client.get(web));
    expect(error.network).toBe("not-an-api-server");
    expect(error.message).toBe(
      'kcp: get deployments.apps "web" in default: 200 answer is not json: 6 characters text/html',
    );
  });

  test("lists all pages from one snapshot, and sets the kind of each item", async () => {
    server.handle(({ url }, response) => {
      const last = url.includes("continue=next");
      const metadata = last ? { resourceVersion: "5" } : { resourceVersion: "5", continue: "next" };
      const items = [{ metadata: { name: last ? "b" : "a" } }];
      answerJson(response, { kind: "PodList", apiVersion: "v1", metadata, items });
    });
    const list = await client.listAll({ type: pods }, { limit: 1, resourceVersion: "0", labelSelector: "a" });
    expect(list).toEqual({
      kind: "PodList",
      apiVersion: "v1",
      metadata: { resourceVersion: "5" },
      items: [
        { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
        { apiVersion: "v1", kind: "Pod", metadata: { name: "b" } },
      ],
    });
    expect(server.requests.map(({ url }) => url)).toEqual([
      "/api/v1/pods?limit=1&resourceVersion=0&labelSelector=a",
      "/api/v1/pods?limit=1&continue=next&labelSelector=a",
    ]);
  });

  test("lists again without pages when its snapshot has expired", async () => {
    server.handle(({ url }, response) => {
      if (url.includes("continue=")) answerJson(response, { kind: "Status", reason: "Expired" }, { status: 410 });
      else if (url.includes("limit=")) {
        answerJson(response, { kind: "PodList", apiVersion: "v1", metadata: { continue: "old" }, items: [{}] });
      } else
        answerJson(response, { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "9" }, items: null });
    });
    const list = await client.metadata.listAll({ type: pods });
    expect([list.items, list.metadata.resourceVersion]).toEqual([[], "9"]);
    expect(server.requests[2]?.headers.accept).toBe(partial("PartialObjectMetadataList"));
    expect(server.requests[2]?.url).toBe("/api/v1/pods");
  });

  test("returns any status of a raw request, whose path is below the client's own", async () => {
    server.handle((_request, response) => void response.writeHead(500, { "x-why": "etcd" }).end("not ready"));
    const answer = await client.at("/clusters/root").raw("GET", "/readyz?verbose", { accept: "*/*" });
    expect([answer.status, answer.headers["x-why"], answer.text]).toEqual([500, "etcd", "not ready"]);
    expect(server.requests[0]?.url).toBe("/clusters/root/readyz?verbose");
  });

  test("retries a read whose keep-alive connection was stale", async () => {
    await client.get(web);
    let first = true;
    server.handle((_request, response, socket) => {
      if (first) socket.destroy();
      else answerJson(response, anObject);
      first = false;
    });
    expect(await client.get(web)).toEqual(anObject);
  });

  test("does not retry a write whose connection was cut", async () => {
    server.handle((_request, _response, socket) => void socket.destroy());
    const error = await failureOf(client.update(web, anObject));
    expect([error.fault, error.network]).toEqual(["unreachable", "reset"]);
    expect(server.requests).toHaveLength(1);
  });

  test("fails with the reason of the caller's signal when the caller aborts", async () => {
    const given = new AbortController();
    const reason = new Error("the invocation ends");
    server.handle(() => given.abort(reason));
    await expect(client.get(web, { signal: given.signal })).rejects.toBe(reason);
    await expect(client.get(web, { signal: given.signal })).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  test("times out on a response that takes too long, or whose body never ends", async () => {
    server.handle(() => {});
    const silent = await failureOf(client.get(web, { timeoutMs: 50 }));
    expect([silent.network, silent.message]).toEqual([
      "timeout",
      'kcp: get deployments.apps "web" in default: no answer in time',
    ]);
    server.handle((_request, response) => void response.write("{"));
    expect((await failureOf(client.get(web, { timeoutMs: 50 }))).network).toBe("timeout");
  });

  test("yields watch events one by one, and throws an ERROR event", async () => {
    server.handle((_request, response) => {
      const events = [
        { type: "ADDED", object: anObject },
        { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } },
        { type: "LATER", object: {} },
        { type: "DELETED", object: anObject },
        { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } },
      ];
      response.end(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    });
    const seen: string[] = [];
    const watching = (async () => {
      const options = { resourceVersion: "5", timeoutSeconds: 60, fieldSelector: "metadata.name=web" };
      for await (const event of client.metadata.watch({ type: deployments }, options)) seen.push(event.type);
    })();
    const error = await failureOf(watching);
    expect([error.fault, error.message]).toEqual(["expired", "kcp: watch deployments.apps: 410 too old"]);
    expect(seen).toEqual(["ADDED", "BOOKMARK", "DELETED"]);
    expect(server.requests[0]?.headers.accept).toBe(partial("PartialObjectMetadata"));
    expect(server.requests[0]?.url).toBe(
      "/apis/apps/v1/deployments?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=60&fieldSelector=metadata.name%3Dweb",
    );
  });

  test("ends a watch without an error when the server ends it, and drops an incomplete event", async () => {
    server.handle((_request, response) => void response.end('{"type":"ADDED","object":{}}\n{"type":"ADD'));
    const seen: string[] = [];
    for await (const event of client.watch({ type: pods })) seen.push(event.type);
    expect(seen).toEqual(["ADDED"]);
  });
});

describe("a call of the client", () => {
  type Reply = { status: number; text?: string; headers?: Record<string, string> } | Error | "never";
  const scripted = (...replies: Reply[]) => {
    const sent: TransportRequest[] = [];
    const clock = createManualClock();
    const transport: Transport = {
      send: async (request) => {
        sent.push(request);
        const reply = replies[Math.min(sent.length, replies.length) - 1] ?? "never";
        if (reply instanceof Error) throw reply;
        if (reply === "never") {
          return new Promise((_resolve, reject) => {
            request.signal?.addEventListener("abort", () => reject(request.signal?.reason));
          });
        }
        return {
          status: reply.status,
          headers: reply.headers ?? {},
          text: async () => reply.text ?? "{}",
          chunks: async function* () {},
          cancel: () => {},
        };
      },
      close: async () => {},
    };
    const endpoint = { server: "https://kcp.example.com:6443/clusters/root:demo" };
    const client = createKubeClient({ endpoint, transport, clock, random: () => 0 });
    return { client, clock, sent };
  };
  const throttled = (seconds: number): Reply => ({ status: 429, headers: { "retry-after": String(seconds) } });
  const reset = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });

  test("has the server's address with its path", async () => {
    const { client, sent } = scripted({ status: 200 });
    expect(client.server).toBe("https://kcp.example.com:6443/clusters/root:demo");
    await client.get(web);
    expect(sent[0]?.path).toBe("/clusters/root:demo/apis/apps/v1/namespaces/default/deployments/web");
    expect(client.at("").server).toBe("https://kcp.example.com:6443");
  });

  test("that was throttled is sent again after the Retry-After, also a write", async () => {
    const { client, clock, sent } = scripted(throttled(2), { status: 201 });
    const call = client.create({ type: pods, namespace: "x" }, {});
    await vi.waitFor(() => expect(clock.waits[0]).toBe(2_000));
    clock.advance(1_999);
    expect(sent).toHaveLength(1);
    clock.advance(1);
    await call;
    expect(sent).toHaveLength(2);
  });

  test("that stays throttled fails after four tries", async () => {
    const { client, clock, sent } = scripted(throttled(1));
    const failed = failureOf(client.get(web));
    for (let wait = 0; wait < 3; wait++) {
      await vi.waitFor(() => expect(clock.waits[0]).toBe(1_000));
      clock.advance(1_000);
    }
    expect([(await failed).fault, (await failed).retryAfterSeconds, sent.length]).toEqual(["throttled", 1, 4]);
    expect(clock.waits).toEqual([]);
  });

  test("fails at once when the Retry-After is longer than the time-out of the call", async () => {
    const { client, sent } = scripted(throttled(30));
    expect((await failureOf(client.get(web))).retryAfterSeconds).toBe(30);
    expect(sent).toHaveLength(1);
  });

  test("that waits for a Retry-After ends with the caller's signal", async () => {
    const { client, clock } = scripted(throttled(2));
    const given = new AbortController();
    const call = client.get(web, { signal: given.signal });
    await vi.waitFor(() => expect(clock.waits[0]).toBe(2_000));
    given.abort("enough");
    await expect(call).rejects.toBe("enough");
    expect(clock.waits).toEqual([]);
  });

  test("times out after ten seconds by default", async () => {
    const { client, clock } = scripted("never");
    const failed = failureOf(client.get(web));
    await vi.waitFor(() => expect(clock.waits).toEqual([10_000]));
    clock.advance(10_000);
    expect((await failed).network).toBe("timeout");
  });

  test("that reads is sent at most three times when its connection is cut", async () => {
    const { client, sent } = scripted(reset);
    expect((await failureOf(client.get(web))).network).toBe("reset");
    expect(sent).toHaveLength(3);
  });

  test.each([500, 503, 504])("that is answered %i is not sent again", async (status) => {
    const { client, sent } = scripted({ status });
    expect((await failureOf(client.get(web))).fault).toBe("unreachable");
    expect(sent).toHaveLength(1);
  });

  test.each(["", ".", "..", "a/b", "a%2fb"])("with the name %j is refused before it is sent", async (name) => {
    const { client, sent } = scripted({ status: 200 });
    await expect(client.delete({ ...web, name })).rejects.toThrow("cannot be part of a path");
    await expect(client.get({ ...web, namespace: name })).rejects.toThrow("cannot be part of a path");
    expect(sent).toHaveLength(0);
  });

  test("that applies needs a field manager", async () => {
    const { client, sent } = scripted({ status: 200 });
    await expect(client.patch(web, { type: "apply", body: {} })).rejects.toThrow("needs a field manager");
    expect(sent).toHaveLength(0);
  });

  test("fails as unauthorized without a token, and its message contains no token", async () => {
    const transport: Transport = { send: () => Promise.reject(new Error("not reached")), close: async () => {} };
    const withToken = (token: () => Promise<string>) =>
      createKubeClient({ endpoint: { server: "https://a.example", token }, transport });
    const missing = await failureOf(withToken(() => Promise.reject(new Error("sts is down"))).get(web));
    expect([missing.fault, missing.message]).toEqual([
      "unauthorized",
      'a.example: get deployments.apps "web" in default: no token: sts is down',
    ]);
    const split = await failureOf(withToken(async () => "a\r\nx-evil: 1").get(web));
    expect(split.fault).toBe("unauthorized");
    expect(split.message).not.toContain("evil");
  });
});
