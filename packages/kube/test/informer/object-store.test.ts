import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createObjectStore, type ObjectStore, objectId, type StoreChange } from "../../src/informer/object-store.ts";
import type { KubeObject } from "../../src/kube-object.ts";

const anObject = (name: string, version: number, uid = "u1", label = "x"): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "shop", uid, resourceVersion: String(version), labels: { label } },
});
const id = (name: string): string => `shop/${name}`;

type Entry = Readonly<{ version: string; uid: string; label: string }>;

/** A store that does not keep objects with the label "foreign", and the changes that it reported. */
function aStore(isFreshAfterUpdate = false) {
  const changes: string[] = [];
  const store = createObjectStore<Entry, "label">({
    transform: ({ metadata }) =>
      metadata.labels?.label === "foreign"
        ? undefined
        : {
            version: metadata.resourceVersion ?? "",
            uid: metadata.uid ?? "",
            label: metadata.labels?.label ?? "",
          },
    versionOf: ({ version }) => version,
    uidOf: ({ uid }) => uid,
    indexers: { label: ({ label }) => [label] },
    isFreshAfterUpdate,
    onChange: ({ id: changed, before, after }: StoreChange<Entry>) =>
      void changes.push(`${changed} ${before?.version ?? "-"}→${after?.version ?? "-"}`),
  });
  return { store, changes };
}
const versions = (store: ObjectStore<Entry, "label">): readonly string[] => store.list().map(({ version }) => version);

describe("an object store", () => {
  test("keeps the newest state of an object, whether a list, a watch or a request brings it", () => {
    const { store, changes } = aStore();
    store.replace([anObject("web", 5)], "5");
    store.request(id("web"))(anObject("web", 7));
    store.upsert(anObject("web", 6));
    store.replace([anObject("web", 6)], "6");
    expect(versions(store)).toEqual(["7"]);
    expect(changes).toEqual(["shop/web -→5", "shop/web 5→7"]);
  });

  test("marks an object stale that a list lacks, and keeps it", () => {
    const { store } = aStore();
    store.replace([anObject("api", 1), anObject("web", 2)], "5");
    expect(store.replace([anObject("web", 2)], "9")).toEqual([id("api")]);
    expect(store.isStale(id("api"))).toBe(true);
    expect(store.get(id("api"))).toBeDefined();
    expect(store.isStale(id("web"))).toBe(false);
  });

  test("keeps an object that is newer than the list that lacks it, without a report, and asks the server next", () => {
    const { store } = aStore();
    store.replace([], "5");
    store.request(id("web"))(anObject("web", 9));
    expect(store.replace([], "8")).toEqual([]);
    expect([versions(store), store.isStale(id("web"))]).toEqual([["9"], true]);
  });

  test("removes an object when the server says that it does not exist", () => {
    const { store } = aStore();
    store.replace([anObject("web", 2)], "5");
    store.markStale(id("web"));
    expect(store.request(id("web"))(undefined)).toBeUndefined();
    expect([store.size, store.isStale(id("web"))]).toEqual([0, false]);
  });

  test("keeps an object that a watch brought while the server answered that there is none", () => {
    const { store } = aStore();
    store.replace([], "5");
    const answered = store.request(id("web"));
    store.upsert(anObject("web", 7));
    expect(answered(undefined)?.version).toBe("7");
  });

  test("does not bring back an object whose deletion a watch has reported before a late answer", () => {
    const { store } = aStore();
    store.replace([anObject("web", 5)], "5");
    const answered = store.request(id("web"));
    store.remove(id("web"), "7");
    expect(answered(anObject("web", 6))?.version).toBe("6");
    expect(store.size).toBe(0);
  });

  test("stores the answer about an unknown object only if it is newer than what the watch has reported", () => {
    const { store } = aStore();
    store.replace([], "5");
    store.bookmark("8");
    store.request(id("old"))(anObject("old", 7));
    store.request(id("new"))(anObject("new", 9));
    expect(versions(store)).toEqual(["9"]);
  });

  test("stores no answer about an unknown object while the version of the list is not known", () => {
    const { store } = aStore();
    store.replace([]);
    store.request(id("web"))(anObject("web", 9));
    expect(store.size).toBe(0);
  });

  test("keeps an answer from before the first list when the list is older", () => {
    const { store } = aStore();
    store.request(id("web"))(anObject("web", 9));
    store.replace([], "8");
    expect(versions(store)).toEqual(["9"]);
  });

  test("stores the objects of a list that is older than the watch, because the server was restored", () => {
    const { store } = aStore();
    store.replace([anObject("lost", 90), anObject("web", 91)], "100");
    store.bookmark("120");
    expect(store.replace([anObject("web", 40)], "50")).toEqual([id("lost")]);
    expect([store.get(id("web"))?.version, store.isStale(id("lost"))]).toEqual(["40", true]);
    store.upsert(anObject("web", 51));
    expect(store.get(id("web"))?.version).toBe("51");
  });

  test("stores the objects of a list that is not older than the watch, with any version: a restored server keeps old ones", () => {
    const { store, changes } = aStore();
    store.replace([anObject("kept", 30), anObject("lost", 90), anObject("web", 91)], "100");
    expect(store.replace([anObject("kept", 30), anObject("web", 40)], "1000000050")).toEqual([id("lost")]);
    expect([store.get(id("web"))?.version, store.isStale(id("lost"))]).toEqual(["40", true]);
    expect(changes.slice(3)).toEqual(["shop/web 91→40"]);
    store.upsert(anObject("web", 1000000051));
    expect(store.get(id("web"))?.version).toBe("1000000051");
  });

  test("does not go back to a list that began before our own write, and asks the server next", () => {
    const { store } = aStore();
    store.replace([anObject("web", 5)], "5");
    store.request(id("web"))(anObject("web", 9));
    store.replace([anObject("web", 5)], "8");
    expect([store.get(id("web"))?.version, store.isStale(id("web"))]).toEqual(["9", true]);
  });

  test("believes an answer with a smaller version if nothing has changed the entry since the request", () => {
    const { store } = aStore();
    store.replace([anObject("web", 91)], "100");
    store.markStale(id("web"));
    expect(store.request(id("web"))(anObject("web", 40))?.version).toBe("40");
    expect([versions(store), store.isStale(id("web"))]).toEqual([["40"], false]);
  });

  test("keeps an event that arrived after the request, if it is newer than the answer", () => {
    const { store } = aStore();
    store.replace([anObject("web", 5)], "5");
    const answered = store.request(id("web"));
    store.upsert(anObject("web", 7));
    expect(answered(anObject("web", 6))?.version).toBe("7");
  });

  test("keeps a listed object that went back after a request, when its answer says that there is none", () => {
    const { store } = aStore();
    store.replace([anObject("web", 91)], "100");
    const answered = store.request(id("web"));
    store.replace([anObject("web", 40)], "50");
    expect(answered(undefined)?.version).toBe("40");
  });

  test("compares objects of a list without a version by their own", () => {
    const { store } = aStore();
    store.replace([anObject("web", 5)]);
    store.upsert(anObject("web", 7));
    store.replace([anObject("web", 6)]);
    expect([versions(store), store.isStale(id("web"))]).toEqual([["7"], false]);
  });

  test("replaces an entry with a listed object of the same name and another uid, with any version", () => {
    const { store } = aStore();
    store.replace([anObject("web", 90)], "100");
    store.replace([anObject("web", 40, "u2")], "500");
    expect(store.get(id("web"))).toMatchObject({ version: "40", uid: "u2" });
  });

  test("keeps the newer of two objects of a name when the list is older than it", () => {
    const { store } = aStore();
    store.replace([anObject("web", 5)], "5");
    store.request(id("web"))(anObject("web", 9, "u2"));
    store.replace([anObject("web", 5)], "8");
    expect(store.get(id("web"))?.uid).toBe("u2");
  });

  test("does not remove a newer object of the same name for an older deletion", () => {
    const { store } = aStore();
    store.replace([anObject("web", 12)], "12");
    store.remove(id("web"), "11");
    expect(store.size).toBe(1);
  });

  test("drops an object that no longer belongs in the store, and marks it stale if only a list says so", () => {
    const { store } = aStore();
    store.replace([anObject("a", 1), anObject("b", 2)], "5");
    store.upsert(anObject("a", 6, "u1", "foreign"));
    store.replace([anObject("b", 7, "u1", "foreign")], "8");
    expect([store.get(id("a")), store.isStale(id("b"))]).toEqual([undefined, true]);
  });

  test("ends staleness by a newer state only with isFreshAfterUpdate", () => {
    for (const isFresh of [false, true]) {
      const { store } = aStore(isFresh);
      store.replace([anObject("web", 1)], "5");
      store.markStale(id("web"));
      store.upsert(anObject("web", 6));
      expect(store.isStale(id("web"))).toBe(!isFresh);
      store.request(id("web"))(anObject("web", 6));
      expect(store.isStale(id("web"))).toBe(false);
    }
  });

  test("returns the same sorted array until an entry changes", () => {
    const { store } = aStore();
    store.replace([anObject("web", 2), anObject("api", 1)], "5");
    const before = store.list();
    expect(before.map(({ version }) => version)).toEqual(["1", "2"]);
    store.upsert(anObject("web", 2));
    expect(store.list()).toBe(before);
    store.upsert(anObject("web", 6));
    expect(store.list()).not.toBe(before);
  });

  test("uses the name alone as the id of an object without a namespace", () => {
    expect([objectId(anObject("web", 1)), objectId({ metadata: { name: "shop" } })]).toEqual(["shop/web", "shop"]);
  });

  test("ends with the state that was read last and a correct index for any order of lists, events and answers", () => {
    const step = fc.record({
      name: fc.constantFrom("a", "b", "c"),
      version: fc.integer({ min: 1, max: 40 }),
      label: fc.constantFrom("x", "y"),
      way: fc.constantFrom("event", "answer", "list"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { store } = aStore();
        store.replace([], "0");
        const expectedVersions = new Map<string, number>();
        for (const { name, version, label, way } of steps) {
          const object = anObject(name, version, "u1", label);
          if (way === "event") store.upsert(object);
          else if (way === "answer") store.request(id(name))(object);
          // A list is the truth for everything that is not newer than it.
          else store.replace([object], "41");
          const before = expectedVersions.get(name);
          // Events come in order, so an older one was overtaken. An answer about an unknown object may have been, too.
          const isTaken = way === "list" || (way === "event" ? version > (before ?? 0) : before !== undefined);
          if (isTaken) expectedVersions.set(name, version);
          else if (store.get(id(name)) !== undefined) expectedVersions.set(name, before ?? version);
          expect(Number(store.get(id(name))?.version ?? 0)).toBe(expectedVersions.get(name) ?? 0);
        }
        for (const label of ["x", "y"]) {
          const expected = [...store.entries()].filter(([, entry]) => entry.label === label).map(([each]) => each);
          expect(store.byIndex("label", label)).toEqual(expected.toSorted());
        }
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
