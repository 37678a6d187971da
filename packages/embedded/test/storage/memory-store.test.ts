import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/storage/memory-store.ts";
import type { StorageChange, StoreKey } from "../../src/storage/store.ts";
import { aConfigMap } from "../support/test-core.ts";

const key = (name: string, namespace = "default", cluster = ""): StoreKey => ({
  storage: "configmaps",
  logicalCluster: cluster,
  namespace,
  name,
});
const anObject = (name: string, namespace = "default", value = "1") =>
  aConfigMap(name, { metadata: { namespace }, data: { value } });
const names = (objects: readonly { metadata: { name?: string; namespace?: string } }[] | undefined) =>
  objects?.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

describe("a memory store", () => {
  it("increments the revision for each change and sets it as resourceVersion", () => {
    const store = createMemoryStore();
    expect(store.put(key("a"), anObject("a")).metadata.resourceVersion).toBe("1");
    expect(store.put(key("b"), anObject("b")).metadata.resourceVersion).toBe("2");
    expect(store.delete(key("a"))?.metadata.resourceVersion).toBe("3");
    expect(store.revision).toBe(3);
    expect(store.delete(key("a"))).toBeUndefined();
    expect(store.revision).toBe(3);
  });

  it("does not allow in-place changes of a stored object", () => {
    const store = createMemoryStore();
    const object = store.put(key("a"), anObject("a"));
    expect(() => Object.assign(object.metadata, { name: "b" })).toThrow(TypeError);
    expect(() => Object.assign(object.data ?? {}, { value: "2" })).toThrow(TypeError);
  });

  it("lists in the order of a real server's keys, within a logical cluster and a namespace", () => {
    const store = createMemoryStore();
    for (const [name, namespace] of [
      ["b", "a"],
      ["a", "a"],
      ["c", "a-b"],
      ["d", "b"],
    ] as const) {
      store.put(key(name, namespace), anObject(name, namespace));
    }
    store.put(key("x", "a", "other"), anObject("x", "a"));
    expect(names(store.list("configmaps", { logicalCluster: "" }))).toEqual(["a-b/c", "a/a", "a/b", "b/d"]);
    expect(names(store.list("configmaps", { logicalCluster: "", namespace: "a" }))).toEqual(["a/a", "a/b"]);
    expect(names(store.list("configmaps"))).toEqual(["a-b/c", "a/a", "a/b", "b/d", "a/x"]);
    expect(names(store.list("configmaps", { namespace: "a" }))).toEqual(["a/a", "a/b", "a/x"]);
    expect(store.list("secrets")).toEqual([]);
  });

  it("returns the list at an earlier revision", () => {
    const store = createMemoryStore();
    store.put(key("a"), anObject("a", "default", "1"));
    store.put(key("b"), anObject("b"));
    store.put(key("a"), anObject("a", "default", "2"));
    store.delete(key("b"));
    store.put(key("c"), anObject("c"));
    expect(names(store.listAt(2, "configmaps"))).toEqual(["default/a", "default/b"]);
    expect(store.listAt(2, "configmaps")?.[0]?.data).toEqual({ value: "1" });
    expect(store.listAt(3, "configmaps")?.[0]?.data).toEqual({ value: "2" });
    expect(names(store.listAt(4, "configmaps"))).toEqual(["default/a"]);
    expect(names(store.listAt(5, "configmaps"))).toEqual(["default/a", "default/c"]);
    expect(names(store.listAt(5, "configmaps", { logicalCluster: "", namespace: "x" }))).toEqual([]);
  });

  it("returns the changes after a revision in order, each with the previous object", () => {
    const store = createMemoryStore();
    store.put(key("a"), anObject("a", "default", "1"));
    store.put(key("a"), anObject("a", "default", "2"));
    store.delete(key("a"));
    const changes = store.changesSince(1, "configmaps");
    expect(changes?.map(({ type, revision }) => `${type} ${revision}`)).toEqual(["MODIFIED 2", "DELETED 3"]);
    expect(changes?.[0]?.previous?.data).toEqual({ value: "1" });
    expect(changes?.[1]?.object.data).toEqual({ value: "2" });
    expect(changes?.[1]?.object.metadata.resourceVersion).toBe("3");
    expect(store.changesSince(3, "configmaps")).toEqual([]);
    expect(store.changesSince(0, "secrets")).toEqual([]);
  });

  it("drops the history before a compaction", () => {
    const store = createMemoryStore();
    store.put(key("a"), anObject("a"));
    store.compact();
    store.put(key("b"), anObject("b"));
    expect(store.changesSince(0, "configmaps")).toBeUndefined();
    expect(store.listAt(0, "configmaps")).toBeUndefined();
    expect(store.changesSince(0, "never-used")).toBeUndefined();
    expect(store.changesSince(1, "configmaps")).toHaveLength(1);
    expect(names(store.listAt(1, "configmaps"))).toEqual(["default/a"]);
  });

  it("keeps a history of limited length for each storage", () => {
    const store = createMemoryStore({ history: 4 });
    for (let index = 0; index < 20; index += 1) store.put(key("a"), anObject("a", "default", String(index)));
    expect(store.changesSince(1, "configmaps")).toBeUndefined();
    expect(store.changesSince(16, "configmaps")).toHaveLength(4);
    store.put({ ...key("s"), storage: "secrets" }, anObject("s"));
    expect(store.changesSince(20, "secrets")).toHaveLength(1);
  });

  it("notifies subscribers before a write returns, all in the same order even if one of them writes", () => {
    const store = createMemoryStore();
    const first: string[] = [];
    const second: string[] = [];
    const note = (into: string[]) => (change: StorageChange) => into.push(`${change.type} ${change.key.name}`);
    store.subscribe(note(first));
    const stop = store.subscribe((change) => {
      if (change.key.name === "a" && change.type === "ADDED") store.put(key("b"), anObject("b"));
    });
    store.subscribe(note(second));
    store.put(key("a"), anObject("a"));
    expect(first).toEqual(["ADDED a", "ADDED b"]);
    expect(second).toEqual(first);
    stop();
    store.delete(key("a"));
    store.put(key("a"), anObject("a"));
    expect(second).toEqual(["ADDED a", "ADDED b", "DELETED a", "ADDED a"]);
  });

  it("goes back to a snapshot, with its revision, and tells subscribers the differences", () => {
    const store = createMemoryStore();
    store.put(key("changed"), anObject("changed"));
    store.put(key("deleted", "", "root"), anObject("deleted", ""));
    store.put(key("kept"), anObject("kept"));
    const snapshot = store.snapshot();
    store.put(key("changed"), anObject("changed", "default", "2"));
    store.delete(key("deleted", "", "root"));
    store.put(key("new"), anObject("new"));
    const changes: string[] = [];
    store.subscribe(
      ({ type, key: { name, namespace }, revision, object }) =>
        void changes.push(`${type} ${namespace}/${name} ${object.metadata.resourceVersion} at ${revision}`),
    );
    store.restore(snapshot);
    expect(store.revision).toBe(3);
    expect(names(store.list("configmaps"))).toEqual(["default/changed", "default/kept", "/deleted"]);
    expect(store.get(key("changed"))?.metadata.resourceVersion).toBe("1");
    expect(changes).toEqual(["MODIFIED default/changed 1 at 3", "ADDED /deleted 2 at 3", "DELETED default/new 6 at 3"]);
    // As in a server that has just started: nothing before, and nothing yet after a revision in the future.
    expect([store.changesSince(2, "configmaps"), store.changesSince(6, "configmaps")]).toEqual([undefined, []]);
    expect(store.put(key("next"), anObject("next")).metadata.resourceVersion).toBe("4");
  });

  it("goes back to a snapshot with a bumped revision: objects keep theirs, and earlier ones are compacted", () => {
    const store = createMemoryStore();
    store.put(key("a"), anObject("a"));
    const snapshot = store.snapshot();
    store.put(key("a"), anObject("a", "default", "2"));
    store.restore(snapshot, { bumpRevision: 1000 });
    expect([store.revision, store.get(key("a"))?.metadata.resourceVersion]).toEqual([1001, "1"]);
    expect(store.changesSince(2, "configmaps")).toBeUndefined();
  });
});
