import type { KubeClient, WatchEvent, WatchOptions } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { aConfigMap, type ConfigMap, configMaps, failureOf, secrets } from "../resources.ts";
import type { MakeRoom, Room, ServerUnderTest } from "../server-under-test.ts";

/** What happened, as short words: `ADDED a`. */
const formatEvent = (event: WatchEvent): string =>
  event.type === "BOOKMARK" ? "BOOKMARK" : `${event.type} ${event.object.metadata.name}`;

/** The first `count` events of a watch on secrets, without bookmarks, then leaves it. */
async function collect(
  client: KubeClient,
  namespace: string,
  options: WatchOptions,
  count: number,
): Promise<WatchEvent[]> {
  const seen: WatchEvent[] = [];
  for await (const event of client.watch({ type: secrets, namespace }, { timeoutSeconds: 20, ...options })) {
    if (event.type === "BOOKMARK") continue;
    seen.push(event);
    if (seen.length === count) break;
  }
  return seen;
}

const aSecret = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, labels },
});

export function watchCases(room: MakeRoom, kind: "kcp" | "cluster"): void {
  const version = async ({ client, namespace }: Room): Promise<string> => {
    const { metadata } = await client.list({ type: secrets, namespace });
    return metadata.resourceVersion ?? "";
  };

  it("sends every change after the start resourceVersion, in order", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    const secret = await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.update(
      { type: secrets, namespace, name: "a" },
      { ...secret, metadata: { ...secret.metadata, labels: { x: "1" } } },
    );
    await client.create({ type: secrets, namespace }, aSecret("b"));
    await client.delete({ type: secrets, namespace, name: "a" });
    const seen = await collect(client, namespace, { resourceVersion: from }, 4);
    expect(seen.map(formatEvent)).toEqual(["ADDED a", "MODIFIED a", "ADDED b", "DELETED a"]);
  });

  it("sends changes as they happen", async () => {
    const made = await room();
    const { client, namespace } = made;
    const watching = collect(client, namespace, { resourceVersion: await version(made) }, 2);
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.create({ type: secrets, namespace }, aSecret("b"));
    expect((await watching).map(formatEvent)).toEqual(["ADDED a", "ADDED b"]);
  });

  it("first sends what there is when it starts from nowhere", async () => {
    const { client, namespace } = await room();
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.create({ type: secrets, namespace }, aSecret("b"));
    const seen = await collect(client, namespace, {}, 2);
    expect(seen.map(formatEvent).sort()).toEqual(["ADDED a", "ADDED b"]);
  });

  it("first sends what there is when it starts from 0", async () => {
    const { client, namespace } = await room();
    await client.create({ type: secrets, namespace }, aSecret("a"));
    expect((await collect(client, namespace, { resourceVersion: "0" }, 1)).map(formatEvent)).toEqual(["ADDED a"]);
  });

  it("gives each event's object the resourceVersion to go on from", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.create({ type: secrets, namespace }, aSecret("b"));
    const [first] = await collect(client, namespace, { resourceVersion: from }, 1);
    if (first === undefined || first.type === "BOOKMARK") throw new Error("no event");
    const rest = await collect(client, namespace, { resourceVersion: first.object.metadata.resourceVersion }, 1);
    expect(rest.map(formatEvent)).toEqual(["ADDED b"]);
  });

  it("gives a deletion a newer resourceVersion than the object had", async () => {
    const made = await room();
    const { client, namespace } = made;
    const secret = await client.create({ type: secrets, namespace }, aSecret("a"));
    const from = await version(made);
    await client.delete({ type: secrets, namespace, name: "a" });
    const [event] = await collect(client, namespace, { resourceVersion: from }, 1);
    if (event === undefined || event.type === "BOOKMARK") throw new Error("no event");
    expect(event.type).toBe("DELETED");
    expect(event.object.metadata.uid).toBe(secret.metadata.uid);
    expect(Number(event.object.metadata.resourceVersion)).toBeGreaterThan(Number(secret.metadata.resourceVersion));
  });

  it("says nothing of a write that changed nothing", async () => {
    const made = await room();
    const { client, namespace } = made;
    const address = { type: secrets, namespace, name: "a" };
    const settled = await client.update(address, await client.create({ type: secrets, namespace }, aSecret("a")));
    const from = await version(made);
    await client.update(address, settled);
    await client.create({ type: secrets, namespace }, aSecret("b"));
    expect((await collect(client, namespace, { resourceVersion: from }, 1)).map(formatEvent)).toEqual(["ADDED b"]);
  });

  it("sends only objects that match the label selector", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.create({ type: secrets, namespace }, aSecret("b", { seen: "yes" }));
    expect(
      (await collect(client, namespace, { resourceVersion: from, labelSelector: "seen=yes" }, 1)).map(formatEvent),
    ).toEqual(["ADDED b"]);
  });

  it("shows an object that comes into the selection as ADDED and one that leaves it as DELETED", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.patch(
      { type: secrets, namespace, name: "a" },
      { type: "merge", body: { metadata: { labels: { seen: "yes" } } } },
    );
    await client.patch(
      { type: secrets, namespace, name: "a" },
      { type: "merge", body: { metadata: { labels: { other: "x" } } } },
    );
    await client.patch(
      { type: secrets, namespace, name: "a" },
      { type: "merge", body: { metadata: { labels: { seen: null } } } },
    );
    const seen = await collect(client, namespace, { resourceVersion: from, labelSelector: "seen=yes" }, 3);
    expect(seen.map(formatEvent)).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
  });

  it("sends only the object that a field selector names", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.create({ type: secrets, namespace }, aSecret("b"));
    expect(
      (await collect(client, namespace, { resourceVersion: from, fieldSelector: "metadata.name=b" }, 1)).map(
        formatEvent,
      ),
    ).toEqual(["ADDED b"]);
  });

  it("keeps namespaces apart", async () => {
    const one = await room();
    const two = await room();
    const from = await version(one);
    await two.client.create({ type: secrets, namespace: two.namespace }, aSecret("other"));
    await one.client.create({ type: secrets, namespace: one.namespace }, aSecret("mine"));
    expect((await collect(one.client, one.namespace, { resourceVersion: from }, 1)).map(formatEvent)).toEqual([
      "ADDED mine",
    ]);
  });

  it("ends by itself after timeoutSeconds", async () => {
    const made = await room();
    const { client, namespace } = made;
    const seen: WatchEvent[] = [];
    for await (const event of client.watch(
      { type: secrets, namespace },
      { resourceVersion: await version(made), timeoutSeconds: 1 },
    ))
      seen.push(event);
    expect(seen).toEqual([]);
  });

  it("marks the end of the initial events when asked for them", async () => {
    const { client, namespace } = await room();
    await client.create({ type: secrets, namespace }, aSecret("a"));
    const { text } = await client.raw(
      "GET",
      `/api/v1/namespaces/${namespace}/secrets?watch=true&timeoutSeconds=3&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.slice(0, 2).map((line) => line.type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(lines[1].object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
  });

  it("refuses initial events without resourceVersionMatch", async () => {
    const { client, namespace } = await room();
    const { status, text } = await client.raw(
      "GET",
      `/api/v1/namespaces/${namespace}/secrets?watch=true&sendInitialEvents=true&allowWatchBookmarks=true`,
    );
    expect(status).toBe(422);
    expect(JSON.parse(text).message).toContain(
      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  });

  // A young cluster still has all of its history; kcp never had the first revision.
  if (kind === "kcp")
    it("answers 410 for a resourceVersion that is too old", async () => {
      const { client, namespace } = await room();
      const watching = async (): Promise<void> => {
        for await (const _ of client.watch({ type: secrets, namespace }, { resourceVersion: "1", timeoutSeconds: 5 }))
          break;
      };
      const error = await failureOf(watching());
      expect(error).toMatchObject({ status: 410, fault: "expired" });
      expect(error.body?.reason).toBe("Expired");
      expect(error.body?.message).toContain("too old resource version: 1 (");
    });

  it("watches metadata alone", async () => {
    const made = await room();
    const { client, namespace } = made;
    const { metadata } = await client.list({ type: configMaps, namespace });
    await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    for await (const event of client.metadata.watch<ConfigMap>(
      { type: configMaps, namespace },
      { resourceVersion: metadata.resourceVersion, timeoutSeconds: 10 },
    )) {
      if (event.type === "BOOKMARK" || event.object.metadata.name !== "a") continue;
      expect(event.object).toMatchObject({ kind: "PartialObjectMetadata" });
      expect(event.object).not.toHaveProperty("data");
      break;
    }
  });

  it("sends tables to a watch that asks for them, with columns in the first only", async () => {
    const made = await room();
    const { client, namespace } = made;
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.create({ type: secrets, namespace }, aSecret("b"));
    const { text } = await client.raw("GET", `/api/v1/namespaces/${namespace}/secrets?watch=true&timeoutSeconds=2`, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
    });
    const [first, second] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first.object).toMatchObject({ kind: "Table" });
    expect(first.object.columnDefinitions.map((column: { name: string }) => column.name)).toEqual([
      "Name",
      "Type",
      "Data",
      "Age",
    ]);
    expect(second.object.columnDefinitions ?? []).toEqual([]);
  });

  it("delivers a burst whole and in order", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    const expected = Array.from({ length: 100 }, (_, index) => `s${String(index).padStart(3, "0")}`);
    for (const name of expected) await client.create({ type: secrets, namespace }, aSecret(name));
    const seen = await collect(client, namespace, { resourceVersion: from }, expected.length);
    expect(seen.map((event) => (event.type === "BOOKMARK" ? "" : event.object.metadata.name))).toEqual(expected);
  });

  it("lets two watchers see the same", async () => {
    const made = await room();
    const { client, namespace } = made;
    const from = await version(made);
    const watching = [
      collect(client, namespace, { resourceVersion: from }, 2),
      collect(client, namespace, { resourceVersion: from }, 2),
    ];
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await client.delete({ type: secrets, namespace, name: "a" });
    const [one, two] = await Promise.all(watching);
    expect(one).toEqual(two);
  });

  it("ends promptly when the caller's signal says so", async () => {
    const made = await room();
    const { client, namespace } = made;
    const controller = new AbortController();
    const options = { resourceVersion: await version(made), timeoutSeconds: 60, signal: controller.signal };
    const watch = async (): Promise<void> => {
      for await (const _ of client.watch({ type: secrets, namespace }, options)) controller.abort(new Error("enough"));
    };
    const ended = expect(watch()).rejects.toThrow("enough");
    await client.create({ type: secrets, namespace }, aSecret("a"));
    await ended;
  });
}

const longSeconds = 66;

/**
 * A watch that is open for more than a minute, begun before the other cases and looked at after them: servers send
 * bookmarks once a minute.
 */
export function longWatchCases(room: MakeRoom): { begin: () => Promise<void>; cases: () => void } {
  let from = "";
  let ended: Promise<WatchEvent[]> | undefined;
  let skip: ServerUnderTest["skip"];
  return {
    begin: async () => {
      const { client, namespace, server } = await room();
      skip = server.skip;
      const list = await client.list({ type: secrets, namespace });
      from = list.metadata.resourceVersion ?? "";
      const watch = async (): Promise<WatchEvent[]> => {
        const options = { resourceVersion: from, timeoutSeconds: longSeconds, allowWatchBookmarks: true };
        return Array.fromAsync(client.watch({ type: secrets, namespace }, options));
      };
      ended = watch();
      ended.catch(() => {}); // reported by the case below
      await client.create({ type: secrets, namespace }, aSecret("a"));
    },
    cases: () => {
      it("bookmarks how far it has come", async () => {
        skip?.(longSeconds * 1000);
        const seen = (await ended) ?? [];
        expect(seen.map(formatEvent)).toEqual(expect.arrayContaining(["ADDED a", "BOOKMARK"]));
        const bookmark = seen.findLast((event) => event.type === "BOOKMARK");
        expect(Number(bookmark?.type === "BOOKMARK" ? bookmark.resourceVersion : 0)).toBeGreaterThan(Number(from));
      }, 90_000);
    },
  };
}
