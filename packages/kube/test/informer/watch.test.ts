import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { answerJson, type Handler, startServer, type TestServer } from "../../../../test/support/http-server.ts";
import type { KubeClient, ListOptions, WatchEvent, WatchOptions } from "../../src/client.ts";
import { ApiError, type ApiErrorDetails } from "../../src/errors.ts";
import type { Fault } from "../../src/fault.ts";
import { type EndlessWatchEvent, type EndlessWatchOptions, watchForever } from "../../src/informer/watch.ts";
import type { KubeObject } from "../../src/kube-object.ts";
import { createManualClock, type ManualClock } from "../../src/manual-clock.ts";
import { createKubeClient } from "../../src/rest-client.ts";
import { createHttpsTransport } from "../../src/transport/https-transport.ts";
import type { Endpoint, Transport } from "../../src/transport/transport.ts";
import { createUndiciTransport } from "../../src/transport/undici-transport.ts";

const pods = { type: { group: "", version: "v1", plural: "pods" } };
const aPod = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, resourceVersion },
});
const added = (name: string, version: string): WatchEvent => ({ type: "ADDED", object: aPod(name, version) });
const failed = (fault: Fault, details: ApiErrorDetails = {}) => new ApiError(fault, fault, details);

/** An event in one line, so that a test reads like a log. */
function brief(event: EndlessWatchEvent): string {
  switch (event.type) {
    case "listed":
      return `listed ${event.objects.map(({ metadata }) => metadata.name).join(",")} @${event.resourceVersion}`;
    case "changed":
    case "deleted":
      return `${event.type} ${event.object.metadata.name}`;
    case "bookmark":
      return `bookmark @${event.resourceVersion}`;
    case "failed":
      return `failed ${event.error.fault} ${event.retryInMs}`;
  }
}

/** What one watch request does: events, then its end. */
type WatchScript = Readonly<{
  events?: readonly WatchEvent[];
  afterMs?: number;
  ends?: "plainly" | "never" | ApiError;
}>;
type ListScript = string | ApiError;

/** A client that follows a script, and a watch on it. */
function given(script: { lists?: ListScript[]; watches: WatchScript[] }, options: Partial<EndlessWatchOptions> = {}) {
  const asked: string[] = [];
  const lists = [...(script.lists ?? ["1"])];
  const watches = [...script.watches];
  const clock: ManualClock = createManualClock();
  const stop = new AbortController();
  const client = {
    listAll: async (_collection: object, { limit, labelSelector }: ListOptions) => {
      asked.push(["list", limit, labelSelector].filter((part) => part !== undefined).join(" "));
      const next = lists.length > 1 ? lists.shift() : lists[0];
      if (next instanceof ApiError) throw next;
      return { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: next }, items: [aPod("a", "1")] };
    },
    watch: async function* (_collection: object, watched: WatchOptions) {
      asked.push(`watch @${watched.resourceVersion} for ${watched.timeoutSeconds}`);
      const { events = [], afterMs = 0, ends = "plainly" } = watches.shift() ?? { ends: "never" };
      yield* events;
      clock.advance(afterMs);
      if (ends === "never") {
        await new Promise((_resolve, reject) => {
          watched.signal?.addEventListener("abort", () => reject(watched.signal?.reason), { once: true });
        });
      }
      if (ends instanceof ApiError) throw ends;
    },
    // Generic over the object's type, which a script cannot be.
  } as unknown as Pick<KubeClient, "listAll" | "watch">;
  const watch = watchForever(client, pods, { signal: stop.signal, clock, random: () => 0.5, ...options });
  const seen: string[] = [];
  const running = (async () => {
    for await (const event of watch) seen.push(brief(event));
  })();
  const end = async () => {
    stop.abort();
    await running;
  };
  /** Waits for what is seen to end in the given events. */
  const sees = (...events: string[]) => vi.waitFor(() => expect(seen.slice(-events.length)).toEqual(events));
  return { asked, clock, seen, sees, watch, end };
}

describe("an endless watch", () => {
  test("lists first, then watches from the list's version", async () => {
    const { asked, seen, sees, end } = given(
      {
        watches: [{ events: [added("b", "2"), { type: "DELETED", object: aPod("a", "3") }], ends: "never" }],
      },
      { pageSize: 7, labelSelector: "x=y" },
    );
    await sees("deleted a");
    expect(seen).toEqual(["listed a @1", "changed b", "deleted a"]);
    expect(asked).toEqual(["list 7 x=y", "watch @1 for 270"]);
    await end();
  });

  test("resumes from the last version it saw when a watch ends, without a list and without an event", async () => {
    const { asked, seen, sees, end } = given({
      watches: [
        { events: [added("b", "2"), { type: "BOOKMARK", resourceVersion: "8" }] },
        { events: [added("c", "9")], ends: failed("unreachable", { network: "reset" }) },
        { events: [added("d", "10")], ends: "never" },
      ],
    });
    await sees("changed d");
    expect(seen).toEqual(["listed a @1", "changed b", "bookmark @8", "changed c", "changed d"]);
    expect(asked).toEqual(["list", "watch @1 for 270", "watch @8 for 270", "watch @9 for 270"]);
    await end();
  });

  test("resumes at once when a quiet watch that was open for a long time is cut", async () => {
    const { seen, asked, end } = given({
      watches: [{ afterMs: 40_000, ends: failed("unreachable", { network: "reset" }) }, { ends: "never" }],
    });
    await vi.waitFor(() => expect(asked).toHaveLength(3));
    expect(seen).toEqual(["listed a @1"]);
    await end();
  });

  const interruptions: [string, WatchScript, string][] = [
    ["is cut after an event", { events: [added("b", "2")], ends: failed("unreachable", { network: "reset" }) }, "2"],
    ["is cut while it is quiet", { afterMs: 40_000, ends: failed("unreachable", { network: "reset" }) }, "1"],
    ["ends before the time that was asked for", { events: [added("b", "2")], afterMs: 40_000 }, "2"],
    ["cannot be opened", { ends: failed("unreachable", { network: "refused" }) }, "1"],
  ];
  test.each(interruptions)(
    "resumes a watch that %s, and lists soon: the server may be restored",
    async (_, watch, at) => {
      const { asked, sees, clock, end } = given({ lists: ["1", "0"], watches: [watch, { ends: "never" }] });
      await vi.waitFor(() => expect(clock.waits.length).toBeGreaterThan(0));
      clock.advance(2_000); // the pause after a watch that could not be opened
      await vi.waitFor(() => expect(asked).toEqual(["list", "watch @1 for 270", `watch @${at} for 270`]));
      clock.advance(62_500);
      await sees("listed a @0");
      await vi.waitFor(() => expect(asked.slice(3)).toEqual(["list", "watch @0 for 270"]));
      await end();
    },
  );

  test("does not list again when a watch has reached its age, is throttled or forbidden", async () => {
    const { asked, clock, sees, end } = given({
      watches: [
        { events: [{ type: "BOOKMARK", resourceVersion: "8" }], afterMs: 270_000 },
        { events: [added("b", "9")], ends: failed("throttled", { status: 429 }) },
        { events: [added("c", "10")], ends: failed("forbidden", { status: 403 }) },
      ],
    });
    for (const fault of ["throttled", "forbidden"]) {
      await sees(`failed ${fault} 2000`);
      await vi.waitFor(() => expect(clock.waits).toEqual([2_000]));
      clock.advance(2_000);
    }
    await vi.waitFor(() => expect(asked).toHaveLength(5));
    expect(asked.filter((each) => each === "list")).toHaveLength(1);
    expect(clock.waits).toEqual([]);
    await end();
  });

  test("lists at most once a minute however often its watch is cut, and not while the server is down", async () => {
    const cut: WatchScript = { events: [added("b", "2")], ends: failed("unreachable", { network: "reset" }) };
    const down: WatchScript = { ends: failed("unreachable", { network: "refused" }) };
    const { asked, clock, sees, end } = given({ watches: [cut, cut, cut, down, { ends: "never" }] });
    await sees("failed unreachable 2000");
    await vi.waitFor(() => expect(clock.waits).toEqual([2_000, 62_500]));
    clock.advance(62_499);
    await vi.waitFor(() => expect(asked).toHaveLength(6));
    expect(asked.filter((each) => each === "list")).toHaveLength(1);
    clock.advance(1);
    await vi.waitFor(() => expect(asked.filter((each) => each === "list")).toHaveLength(2));
    await end();
    expect(clock.waits).toEqual([]);
  });

  test("lists soon on demand, once for several calls", async () => {
    const { asked, watch, clock, end } = given({ watches: [] }, { relistSeconds: 600 });
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    clock.advance(100_000);
    for (let call = 0; call < 3; call++) watch.relistSoon();
    expect(clock.waits).toEqual([2_500]);
    clock.advance(2_500);
    await vi.waitFor(() => expect(asked).toHaveLength(4));
    expect(clock.waits).toEqual([600_000]);
    await end();
  });

  test("lists again at once when its version has expired, and with a backoff when that does not help", async () => {
    const { asked, seen, sees, clock, end } = given({
      lists: ["1", "5", "7"],
      watches: [{ ends: failed("expired") }, { ends: failed("expired") }, { ends: "never" }],
    });
    await sees("failed expired 2000");
    expect(seen).toEqual(["listed a @1", "failed expired 0", "listed a @5", "failed expired 2000"]);
    await vi.waitFor(() => expect(clock.waits).toEqual([2_000]));
    clock.advance(2_000);
    await sees("listed a @7");
    await vi.waitFor(() => expect(asked.at(-1)).toBe("watch @7 for 270"));
    await end();
  });

  test("waits for the Retry-After of a server that throttles, and no longer than a minute", async () => {
    const { sees, clock, asked, end } = given({
      watches: [
        { ends: failed("throttled", { status: 429, retryAfterSeconds: 3 }) },
        { ends: failed("throttled", { status: 429, retryAfterSeconds: 3600 }) },
      ],
    });
    await sees("failed throttled 3500");
    await vi.waitFor(() => expect(clock.waits).toEqual([3_500]));
    clock.advance(3_500);
    await sees("failed throttled 60000");
    expect(asked).toEqual(["list", "watch @1 for 270", "watch @1 for 270"]);
    await end();
  });

  const pauses: [Fault, "list" | "watch"][] = [
    ["unreachable", "watch"],
    ["forbidden", "watch"],
    ["unauthorized", "watch"],
    ["not-found", "list"],
    ["invalid", "list"],
  ];
  test.each(pauses)("pauses after the fault %s, then continues with a %s", async (fault, next) => {
    const { sees, clock, asked, end } = given({ watches: [{ ends: failed(fault) }, { ends: "never" }] });
    await sees(`failed ${fault} 2000`);
    await vi.waitFor(() => expect(clock.waits).toContain(2_000));
    expect(asked).toHaveLength(2);
    clock.advance(2_000);
    await vi.waitFor(() => expect(asked[2]?.split(" ")[0]).toBe(next));
    await end();
  });

  test("backs off up to 30 seconds, and resets the backoff after an event", async () => {
    const down: WatchScript = { ends: failed("forbidden") };
    const { seen, clock, sees, end } = given({
      watches: [...Array.from({ length: 9 }, () => down), { events: [added("b", "2")] }, down],
    });
    const pausesMs = () =>
      seen.filter((event) => event.startsWith("failed")).map((event) => Number(event.split(" ")[2]));
    for (let pause = 1; pause <= 9; pause++) {
      await vi.waitFor(() => expect([pausesMs().length, clock.waits.length]).toEqual([pause, 1]));
      clock.advance(30_000);
    }
    await sees("changed b", "failed forbidden 2000");
    expect(pausesMs().slice(0, 9)).toEqual([2000, 3500, 5750, 9125, 14188, 21782, 30000, 30000, 30000]);
    await end();
  });

  test("resets the backoff when a watch fails after it has reported an event", async () => {
    const { clock, sees, end } = given({
      watches: [{ ends: failed("forbidden") }, { events: [added("b", "2")], ends: failed("forbidden") }],
    });
    await sees("failed forbidden 2000");
    await vi.waitFor(() => expect(clock.waits).toEqual([2_000]));
    clock.advance(2_000);
    await sees("changed b", "failed forbidden 2000");
    await end();
  });

  test("retries a list that fails", async () => {
    const { sees, clock, asked, end } = given({ lists: [failed("not-found"), "4"], watches: [] });
    await sees("failed not-found 2000");
    await vi.waitFor(() => expect(clock.waits).toEqual([2_000]));
    clock.advance(2_000);
    await sees("listed a @4");
    expect(asked.slice(0, 2)).toEqual(["list", "list"]);
    await end();
  });

  test("backs off when the server ends each watch at once", async () => {
    const { sees, clock, asked, end } = given({ watches: [{}, {}, { ends: "never" }] });
    await sees("failed unreachable 2000");
    expect(asked).toHaveLength(3);
    await vi.waitFor(() => expect(clock.waits).toContain(2_000));
    clock.advance(2_000);
    await vi.waitFor(() => expect(asked).toHaveLength(4));
    await end();
  });

  test("lists again every relistSeconds", async () => {
    const { sees, clock, end } = given({ lists: ["1", "2"], watches: [] }, { relistSeconds: 600 });
    await sees("listed a @1");
    await vi.waitFor(() => expect(clock.waits).toEqual([600_000]));
    clock.advance(600_000);
    await sees("listed a @1", "listed a @2");
    await end();
    expect(clock.waits).toEqual([]);
  });

  test("lists again on demand, during a watch and during a pause", async () => {
    const { sees, asked, watch, clock, end } = given({
      lists: ["1", failed("not-found"), "3"],
      watches: [{ ends: "never" }],
    });
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    watch.relist();
    await sees("listed a @1", "failed not-found 2000");
    await vi.waitFor(() => expect(clock.waits).toEqual([2_000]));
    watch.relist();
    await sees("listed a @3");
    await end();
  });

  test("ends with its signal during a pause, and leaves no timer", async () => {
    const { sees, clock, end } = given({ watches: [{ ends: failed("forbidden") }] });
    await sees("failed forbidden 2000");
    await vi.waitFor(() => expect(clock.waits).toEqual([2_000]));
    await end();
    expect(clock.waits).toEqual([]);
  });

  test("throws an error that is not an ApiError instead of retrying", async () => {
    const client = { listAll: () => Promise.reject(new TypeError("bug")) } as unknown as KubeClient;
    const watch = watchForever(client, pods, { signal: new AbortController().signal });
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toThrow("bug");
  });
});

const authority = createCertificateAuthority();
const pair = authority.issueServing(["127.0.0.1"]);
const transports: [string, (endpoint: Endpoint) => Transport][] = [
  ["undici", createUndiciTransport],
  ["node:https", createHttpsTransport],
];

describe.each(transports)("an endless watch over %s", (_, createTransport) => {
  let server: TestServer;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startServer({ cert: pair.certificate, key: pair.key });
    const endpoint = { server: server.url, ca: authority.certificate };
    client = createKubeClient({ endpoint, transport: createTransport(endpoint) });
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  const line = (event: object): string => `${JSON.stringify(event)}\n`;
  /** Serves a list, and the given watches one after the other; after the last, a silent one. */
  const serve = (...watches: Handler[]): void => {
    server.requests.length = 0;
    let next = 0;
    server.handle((request, response, socket) => {
      if (!request.url.includes("watch=")) {
        answerJson(response, { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] });
        return;
      }
      const watch = watches[next++];
      if (watch === undefined) response.writeHead(200).flushHeaders();
      else void watch(request, response, socket);
    });
  };
  const versions = (): (string | undefined)[] =>
    server.requests
      .filter(({ url }) => url.includes("watch="))
      .map(({ url }) => new URL(url, server.url).searchParams.get("resourceVersion") ?? undefined);

  test("resumes after a cut, an end and an error, and reports each new list", async () => {
    serve(
      (_request, response, socket) => {
        response.write(line({ type: "ADDED", object: aPod("a", "2") }), () => socket.destroy());
      },
      (_request, response) => void response.end(line({ type: "BOOKMARK", object: aPod("", "5") })),
      (_request, response) =>
        void response.end(
          line({ type: "MODIFIED", object: aPod("a", "6") }) +
            line({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } }),
        ),
      (_request, response) => answerJson(response, { kind: "Status", reason: "Expired" }, { status: 410 }),
    );
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const event of watchForever(client, pods, { signal: stop.signal, random: () => 0 })) {
      seen.push(brief(event));
      if (seen.length === 7) break;
    }
    expect(seen).toEqual([
      "listed  @1",
      "changed a",
      "bookmark @5",
      "changed a",
      "failed expired 0",
      "listed  @1",
      // The second time in a row without an event: it would go on without an end.
      "failed expired 1000",
    ]);
    expect(versions()).toEqual(["1", "2", "5", "1"]);
  });

  test("does not read ahead of a slow consumer", async () => {
    let sent = 0;
    const stuck = Promise.withResolvers<void>();
    serve((_request, response) => {
      const event = line({ type: "ADDED", object: { ...aPod("a", "2"), filler: "x".repeat(32_000) } });
      const pump = (): void => {
        let goesOn = true;
        while (goesOn) {
          goesOn = response.write(event);
          sent++;
        }
        const waiting = setTimeout(() => stuck.resolve(), 300);
        response.once("drain", () => {
          clearTimeout(waiting);
          pump();
        });
      };
      pump();
    });
    const stop = new AbortController();
    let taken = 0;
    for await (const event of watchForever(client, pods, { signal: stop.signal })) {
      if (event.type !== "changed") continue;
      taken++;
      await stuck.promise; // working on the first one
      break;
    }
    expect(taken).toBe(1);
    expect(sent).toBeLessThan(1_000);
  });

  test("ends with its signal while it waits for an event, and closes the connection", async () => {
    const open = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    serve((_request, response, socket) => {
      socket.once("close", () => gone.resolve());
      response.writeHead(200).flushHeaders();
      open.resolve();
    });
    const stop = new AbortController();
    const running = (async () => {
      for await (const _event of watchForever(client, pods, { signal: stop.signal }));
    })();
    await open.promise;
    stop.abort(new Error("done"));
    await running;
    await gone.promise;
  });
});
