import { describe, expect, test } from "vitest";
import type { KubeClient } from "../../src/client.ts";
import { isLimitExceeded } from "../../src/errors.ts";
import { listByPages } from "../../src/informer/paged-list.ts";
import { createManualClock, type ManualClock } from "../../src/manual-clock.ts";
import { createKubeClient } from "../../src/rest-client.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { estimateHeapBytes, type ResponseLimits, untrustedServerLimits } from "../../src/transport/transport-limits.ts";

const nodes = { group: "", version: "v1", plural: "nodes" };
const mebibyte = 1024 * 1024;

type Answer = (query: URLSearchParams, path: string) => string;
type Requests = { path: string; query: URLSearchParams }[];

/** A client of a server that answers as the test says, in chunks of 64 KB. */
function clientOf(
  answer: Answer,
  {
    limits = untrustedServerLimits,
    isTrusted = false,
    clock = createManualClock(0),
  }: {
    limits?: ResponseLimits;
    isTrusted?: boolean;
    clock?: ManualClock;
  } = {},
): Readonly<{ client: KubeClient; requests: Requests; sentBytes: () => number }> {
  const requests: Requests = [];
  let sent = 0;
  const transport: Transport = {
    send: async ({ path }) => {
      const { pathname, searchParams } = new URL(path, "https://h");
      requests.push({ path: pathname, query: searchParams });
      const body = Buffer.from(answer(searchParams, pathname));
      return {
        status: 200,
        headers: { "content-type": "application/json" },
        text: async () => body.toString(),
        chunks: async function* () {
          for (let at = 0; at < body.length; at += 65_536) {
            const chunk = body.subarray(at, at + 65_536);
            sent += chunk.length;
            yield chunk;
          }
        },
        cancel: () => {},
      };
    },
    close: async () => {},
  };
  const endpoint = { server: "https://h" };
  const client = createKubeClient({
    endpoint,
    transport,
    name: "cluster east",
    clock,
    limits: isTrusted ? undefined : limits,
  });
  return { client, requests, sentBytes: () => sent };
}

async function failureOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "the call succeeded";
  } catch (error) {
    expect(isLimitExceeded(error)).toBe(true);
    return error instanceof Error ? error.message : "";
  }
}

const page = (items: readonly object[], token?: string): string =>
  JSON.stringify({ apiVersion: "v1", kind: "NodeList", metadata: { resourceVersion: "7", continue: token }, items });
const aNode = (name: string, bytes = 0) => ({ metadata: { name }, spec: { text: "x".repeat(bytes) } });

describe("a client of a server that is not trusted", () => {
  test("reads at most 2 MB of an object, of discovery and of a health check", async () => {
    const { client, sentBytes } = clientOf(() => `{"a":"${"x".repeat(60 * mebibyte)}"}`);
    expect(await failureOf(client.get({ type: nodes, name: "a" }))).toBe(
      'cluster east: get nodes "a": answer is larger than 2 MB',
    );
    expect(await failureOf(client.raw("GET", "/apis"))).toBe("cluster east: get /apis: answer is larger than 2 MB");
    expect(sentBytes()).toBeLessThan(5 * mebibyte);
  });

  test("accepts an object of 1.5 MB, the most that etcd stores", async () => {
    const { client } = clientOf(() => JSON.stringify(aNode("a", 1.5 * mebibyte)));
    expect(await client.get({ type: nodes, name: "a" })).toMatchObject({ metadata: { name: "a" } });
  });

  test("does not parse a page that would take twenty times its length in memory", async () => {
    const garbage = `{"apiVersion":"v1","kind":"NodeList","metadata":{},"items":[${"{},".repeat(2 * mebibyte)}{}]}`;
    const { client } = clientOf(() => garbage);
    expect(await failureOf(client.list({ type: nodes }))).toBe(
      "cluster east: list nodes: answer would take more than 64 MB of memory",
    );
  });

  test("requests a page that is larger than 8 MB again with fewer items, and keeps that page size", async () => {
    const all = Array.from({ length: 200 }, (_, at) => aNode(`n${at}`, 100_000));
    const { client, requests } = clientOf((query) => {
      const start = Number(query.get("continue") ?? 0);
      // A server that answers from its cache ignores the limit.
      const end = query.get("resourceVersion") === "0" ? all.length : start + Number(query.get("limit"));
      return page(all.slice(start, end), end < all.length ? String(end) : undefined);
    });
    const { items } = await client.listAll({ type: nodes }, { resourceVersion: "0" });
    expect(items).toHaveLength(200);
    expect(requests.map(({ query }) => query.get("limit"))).toEqual(["500", "62", "62", "62", "62"]);
    expect(requests.map(({ query }) => query.get("resourceVersion"))).toEqual(["0", null, null, null, null]);
  });

  test("fails if a single item is larger than a page may be", async () => {
    const { client, requests } = clientOf(() => page([aNode("a", 9 * mebibyte)]));
    expect(await failureOf(client.listAll({ type: nodes }))).toBe(
      "cluster east: list nodes: answer is larger than 8 MB",
    );
    expect(requests.map(({ query }) => query.get("limit"))).toEqual(["500", "62", "7", "1"]);
  });

  const small: ResponseLimits = {
    ...untrustedServerLimits,
    listPages: 5,
    listItems: 20,
    listBytes: 4_000,
    listMs: 50_000,
  };
  const endless: Record<string, { limits: ResponseLimits; items: readonly object[]; stepMs?: number; why: string }> = {
    pages: { limits: small, items: [], why: "list has more than 5 pages" },
    items: { limits: small, items: Array.from({ length: 7 }, () => aNode("n")), why: "list has more than 20 items" },
    bytes: {
      limits: { ...small, listBytes: mebibyte },
      items: [aNode("n", mebibyte / 2)],
      why: "list is larger than 1 MB",
    },
    time: { limits: small, items: [], stepMs: 20_000, why: "list takes longer than 50 s" },
  };
  const lists: Record<string, (client: KubeClient) => Promise<unknown>> = {
    listAll: (client) => client.listAll({ type: nodes }),
    "listAll of metadata": (client) => client.metadata.listAll({ type: nodes }),
    listByPages: (client) => listByPages(client, { transform: (object) => object }, { type: nodes }),
  };
  describe.each(Object.entries(lists))("%s", (_what, read) => {
    test.each(Object.entries(endless))("ends a list without end by its %s", async (_name, row) => {
      const clock = createManualClock(0);
      let pages = 0;
      const { client } = clientOf(
        () => {
          pages += 1;
          clock.advance(row.stepMs ?? 0);
          return page(row.items, "more");
        },
        { limits: row.limits, clock },
      );
      expect(await failureOf(read(client))).toBe(`cluster east: list nodes: ${row.why}`);
      expect(pages).toBeLessThanOrEqual(40);
    });
  });

  test("keeps no more of a list in memory than its limit", async () => {
    const limits = { ...untrustedServerLimits, listHeapBytes: 4 * mebibyte };
    const { client } = clientOf(() => page([aNode("n", mebibyte)], "more"), { limits });
    expect(await failureOf(client.listAll({ type: nodes }))).toBe(
      "cluster east: list nodes: list would take more than 4 MB of memory",
    );
  });

  test("rejects a continue token that would make a request of megabytes", async () => {
    const { client } = clientOf(() => page([], "t".repeat(mebibyte)));
    expect(await failureOf(client.list({ type: nodes }))).toContain("continue token is longer than 4096 characters");
  });

  test("rejects an event of a watch that is larger than an object", async () => {
    const { client } = clientOf(() => `{"type":"ADDED","object":{"a":"${"x".repeat(3 * mebibyte)}"}}\n`);
    const read = async () => {
      for await (const _ of client.watch({ type: nodes })) break;
    };
    await expect(read()).rejects.toThrow("line is longer than 2097152 bytes");
  });

  test("a client of a trusted server has none of these limits", async () => {
    let pages = 0;
    const { client } = clientOf(
      () => {
        pages += 1;
        return page([aNode("n", 9 * mebibyte)], pages < 3 ? "t".repeat(5_000) : undefined);
      },
      { isTrusted: true },
    );
    expect((await client.listAll({ type: nodes })).items).toHaveLength(3);
  });
});

test("JSON that is nested as deeply as its length allows is not parsed", async () => {
  const { client } = clientOf(() => "[".repeat(mebibyte) + "]".repeat(mebibyte));
  expect(await failureOf(client.raw("GET", "/apis"))).toContain("answer would take more than 64 MB of memory");
});

test("the estimate of memory is between three and seven times the length of ordinary JSON", () => {
  const deployment = {
    metadata: { name: "web", namespace: "shop", labels: { app: "web", tier: "front" }, annotations: { a: "b" } },
    spec: { replicas: 3, template: { spec: { containers: [{ name: "web", image: "nginx", ports: [{ port: 80 }] }] } } },
    managedFields: [
      { fieldsV1: { "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": {} } } } } },
    ],
  };
  const text = JSON.stringify(Array.from({ length: 100 }, () => deployment));
  expect(estimateHeapBytes(text) / text.length).toBeGreaterThan(3);
  expect(estimateHeapBytes(text) / text.length).toBeLessThan(7);
  expect(estimateHeapBytes("{},".repeat(1_000)) / 3_000).toBeGreaterThan(20);
});
