import { isFields } from "@tmc/kube/json.ts";
import { describe, expect, it } from "vitest";
import {
  aConfigMap,
  type CallOptions,
  configMaps,
  createTestCore,
  namespaces,
  type TestCore,
} from "../support/test-core.ts";

const maps = "/api/v1/namespaces/default/configmaps";

type Seen = Readonly<{ type: string; object: Record<string, unknown> }>;

/** Opens a watch and collects its events. */
async function watch(core: TestCore, query: string, options: CallOptions = {}) {
  const { status, body } = await core.send("GET", `${maps}?watch=true&${query}`, options);
  expect(status).toBe(200);
  if (typeof body === "string") throw new Error("not a stream");
  const told: Seen[] = [];
  let error: unknown;
  const ended = (async () => {
    try {
      for await (const chunk of body) {
        for (const line of chunk.split("\n")) if (line !== "") told.push(JSON.parse(line));
      }
    } catch (caught) {
      error = caught;
    }
  })();
  return {
    told,
    ended,
    error: () => error,
    lines: () => told.map(({ type, object }) => `${type} ${nameOf(object)}`),
  };
}

const nameOf = ({ metadata, message }: Record<string, unknown>): string =>
  isFields(metadata) && typeof metadata.name === "string" ? metadata.name : String(message ?? "");

/** Waits until streams have processed what was pushed. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const create = (core: TestCore, name: string, labels: Record<string, string> = {}) =>
  core.call("POST", maps, { body: aConfigMap(name, { metadata: { labels } }) });

describe("a watch", () => {
  it("starts with the existing objects and continues with changes", async () => {
    const core = createTestCore();
    await create(core, "a");
    const { told, lines } = await watch(core, "");
    await create(core, "b");
    await core.call("PATCH", `${maps}/a`, { body: { data: { a: "z" } } });
    await core.call("DELETE", `${maps}/b`);
    await settle();
    expect(lines()).toEqual(["ADDED a", "ADDED b", "MODIFIED a", "DELETED b"]);
    expect(told[3]?.object).toMatchObject({ kind: "ConfigMap", metadata: { resourceVersion: "5" } });
  });

  it("resumes after a resourceVersion without missing a change", async () => {
    const core = createTestCore();
    await create(core, "a");
    await create(core, "b");
    await core.call("DELETE", `${maps}/a`);
    const { lines } = await watch(core, "resourceVersion=2");
    await create(core, "c");
    await settle();
    expect(lines()).toEqual(["ADDED b", "DELETED a", "ADDED c"]);
  });

  it("sends no past changes if it starts from a future resourceVersion", async () => {
    const core = createTestCore();
    await create(core, "a");
    const { lines } = await watch(core, "resourceVersion=3");
    await create(core, "b");
    await create(core, "c");
    await settle();
    expect(lines()).toEqual(["ADDED c"]);
  });

  it("sends an ERROR event for a resourceVersion that is too old, and ends", async () => {
    const core = createTestCore();
    await create(core, "a");
    await create(core, "b");
    core.store.compact();
    const { told, ended } = await watch(core, "resourceVersion=1");
    core.clock.advance(0);
    await ended;
    expect(told).toEqual([
      {
        type: "ERROR",
        object: {
          kind: "Status",
          apiVersion: "v1",
          metadata: {},
          status: "Failure",
          message: "too old resource version: 1 (3)",
          reason: "Expired",
          code: 410,
        },
      },
    ]);
  });

  it("ends after its timeoutSeconds", async () => {
    const core = createTestCore();
    const { ended, lines } = await watch(core, "timeoutSeconds=10");
    core.clock.advance(9_999);
    await create(core, "a");
    core.clock.advance(1);
    await ended;
    expect(lines()).toEqual(["ADDED a"]);
    expect(core.clock.pending).toBe(0);
  });

  it("marks the end of the initial events with a bookmark if bookmarks are allowed", async () => {
    const core = createTestCore();
    await create(core, "a");
    for (const query of [
      "allowWatchBookmarks=true&resourceVersion=0",
      "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    ]) {
      const { told } = await watch(core, query);
      await settle();
      expect(told.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
      expect(told[1]?.object).toEqual({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { resourceVersion: "2", annotations: { "k8s.io/initial-events-end": "true" } },
      });
    }
  });

  it("sends a bookmark every minute and one before its time-out", async () => {
    const core = createTestCore();
    const { told } = await watch(core, "resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=90");
    core.clock.advance(59_999);
    await settle();
    expect(told).toEqual([]);
    core.clock.advance(1);
    await create(core, "a");
    core.clock.advance(28_000);
    await settle();
    expect(told.map(({ type }) => type)).toEqual(["BOOKMARK", "ADDED", "BOOKMARK"]);
    expect(told[2]?.object).toMatchObject({ metadata: { resourceVersion: "2" } });
  });

  it("reports objects that start or stop to match the selector as added or deleted", async () => {
    const core = createTestCore();
    await create(core, "a", { app: "x" });
    const { lines } = await watch(core, "labelSelector=app%3Dx");
    await core.call("PATCH", `${maps}/a`, { body: { metadata: { labels: { app: "y" } } } });
    await core.call("PATCH", `${maps}/a`, { body: { data: { a: "unseen" } } });
    await core.call("PATCH", `${maps}/a`, { body: { metadata: { labels: { app: "x" } } } });
    await settle();
    expect(lines()).toEqual(["ADDED a", "DELETED a", "ADDED a"]);
  });

  it("sends metadata only, and tables with columns in the first event only", async () => {
    const core = createTestCore();
    await create(core, "a");
    await create(core, "b");
    const partial = await watch(core, "", { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" });
    const table = await watch(core, "", { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
    await settle();
    expect(partial.told[0]?.object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
    expect(partial.told[0]?.object).not.toHaveProperty("data");
    expect(table.told.map(({ object }) => (object.columnDefinitions as unknown[]).length > 0)).toEqual([true, false]);
  });

  it("ends when the client disconnects, and leaves no subscription or timer", async () => {
    const core = createTestCore();
    const gone = new AbortController();
    const { ended } = await watch(core, "", { signal: gone.signal });
    gone.abort();
    await ended;
    expect(core.clock.pending).toBe(0);
  });

  it("ends when its API root is removed", async () => {
    const closing = new AbortController();
    const core = createTestCore([namespaces, configMaps], { closed: () => closing.signal });
    const { ended, error } = await watch(core, "");
    closing.abort();
    await ended;
    expect(error()).toBeUndefined();
  });

  it("cuts a reader that falls too far behind", async () => {
    const core = createTestCore();
    const { body } = await core.send("GET", `${maps}?watch=true&resourceVersion=1`);
    if (typeof body === "string") throw new Error("not a stream");
    const target = { definition: configMaps, logicalCluster: "", namespace: "default" };
    const user = { user: { name: "x", groups: [] } };
    core.operations.create(target, aConfigMap("a"), user);
    for (let index = 0; index < 20_001; index += 1) {
      core.store.put(
        { storage: "configmaps", logicalCluster: "", namespace: "default", name: "a" },
        aConfigMap("a", { data: { index: String(index) }, metadata: { namespace: "default" } }),
      );
    }
    let count = 0;
    for await (const chunk of body) count += chunk.split("\n").length - 1;
    expect(count).toBe(20_001);
    expect(core.clock.pending).toBe(0);
  });
});
