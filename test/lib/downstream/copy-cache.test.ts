import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { type CopyCache, createCopyCache } from "../../../lib/downstream/copy-cache.ts";

type Given = Readonly<{ version?: number; uid?: string; generation?: number; status?: object; deleted?: boolean }>;

/** A copy that says itself whose it is, unless it is a stranger's. */
const object = (name: string, { version = 10, uid = "u1", generation, status, deleted }: Given = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name,
    namespace: "tmc-shop",
    uid,
    resourceVersion: String(version),
    ...(generation === undefined ? {} : { generation }),
    ...(deleted === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  },
  ...(status === undefined ? {} : { status }),
});
const place = (name: string) => ({ namespace: "tmc-shop", name });
const aCache = (): CopyCache =>
  createCopyCache(({ metadata }) =>
    metadata.uid === "stranger" ? undefined : `deployments.v1.apps/shop/${metadata.name}`,
  );
const listed = (...objects: readonly KubeObject[]): CopyCache => {
  const cache = aCache();
  cache.takeList(objects, "100");
  return cache;
};
const told = ["deployments.v1.apps/shop/web"];
const versionIn = (cache: CopyCache): string | undefined => {
  const peek = cache.peek(place("web"));
  return peek?.kind === "there" ? peek.copy.resourceVersion : peek?.kind;
};

describe("what a watch says of a copy", () => {
  const before = { version: 10, generation: 1, status: { ready: 1 } };
  const rows: Readonly<Record<string, Readonly<{ given?: Given; after: Given; isTold: boolean }>>> = {
    "is told when its generation is another": { after: { ...before, version: 101, generation: 2 }, isTold: true },
    "is told when its status is another": { after: { ...before, version: 101, status: { ready: 2 } }, isTold: true },
    "is told when it is being deleted": { after: { ...before, version: 101, deleted: true }, isTold: true },
    "is told when it is another object": { after: { ...before, version: 101, uid: "u2" }, isTold: true },
    "is told when a stranger has taken its place": {
      after: { ...before, version: 101, uid: "stranger" },
      isTold: true,
    },
    "is not told when only its version is another": { after: { ...before, version: 101 }, isTold: false },
    "is not told when it is what is known": { after: before, isTold: false },
    "is not told when it is older": { after: { ...before, version: 9, generation: 0 }, isTold: false },
    "is told by its version where there is no generation": {
      given: { version: 10 },
      after: { version: 101 },
      isTold: true,
    },
  };
  it.each(Object.entries(rows))("%s", (_, { given = before, after, isTold }) => {
    const cache = listed(object("web", given));
    expect(cache.takeSeen(object("web", after))).toEqual(isTold ? told : []);
    expect(cache.takeSeen(object("web", after))).toEqual([]);
  });

  it("is told when it is new, and not when it is a stranger's", () => {
    const cache = listed();
    expect(cache.takeSeen(object("web", { version: 101 }))).toEqual(told);
    expect(cache.takeSeen(object("other", { version: 102, uid: "stranger" }))).toEqual([]);
    expect(cache.size).toBe(1);
  });

  it("is told when its print is another, where there is one, and not by its version", () => {
    const cache = createCopyCache(
      () => told[0],
      ({ metadata }) => metadata.labels?.app ?? "",
    );
    const labelled = (version: number, app: string): KubeObject => {
      const { metadata, ...rest } = object("web", { version });
      return { ...rest, metadata: { ...metadata, labels: { app } } };
    };
    cache.takeList([labelled(10, "one")], "100");
    expect(cache.takeSeen(labelled(101, "one"))).toEqual([]);
    expect(cache.takeSeen(labelled(102, "two"))).toEqual(told);
    expect(cache.peek(place("web"))).toMatchObject({ print: "two" });
  });

  it("is told when it ends, even where a request has found out before", () => {
    const cache = listed(object("web"));
    cache.ask(place("web"))(undefined);
    expect(cache.peek(place("web"))).toEqual({ kind: "absent" });
    expect(cache.takeDeleted(object("web", { version: 101 }))).toEqual(told);
  });

  it("is no end of the one that came after", () => {
    const cache = listed(object("web"));
    cache.ask(place("web"))(object("web", { version: 105, uid: "u2" }));
    expect(cache.takeDeleted(object("web", { version: 104 }))).toEqual([]);
    expect(versionIn(cache)).toBe("105");
  });
});

describe("what a request answers", () => {
  it("is known at once, and quiet when the watch tells the same", () => {
    const cache = listed();
    const written = object("web", { version: 101, generation: 1 });
    cache.ask(place("web"))(written);
    expect(versionIn(cache)).toBe("101");
    expect(cache.takeSeen(written)).toEqual([]);
  });

  it("does not take the place of something newer", () => {
    const cache = listed(object("web"));
    const take = cache.ask(place("web"));
    cache.takeSeen(object("web", { version: 105 }));
    take(object("web", { version: 104 }));
    expect(versionIn(cache)).toBe("105");
  });

  it("does not bring back what the watch has told the end of", () => {
    const cache = listed(object("web"));
    const take = cache.ask(place("web"));
    cache.takeDeleted(object("web", { version: 105 }));
    take(object("web", { version: 104 }));
    expect(versionIn(cache)).toBe("absent");
  });

  it("that comes late is no end of one that came meanwhile", () => {
    const cache = listed(object("web"));
    const take = cache.ask(place("web"));
    cache.takeSeen(object("web", { version: 105, uid: "u2" }));
    take(undefined);
    expect(versionIn(cache)).toBe("105");
  });

  it("takes out a copy that is not ours any more", () => {
    const cache = listed(object("web"));
    cache.ask(place("web"))(object("web", { version: 101, uid: "stranger" }));
    expect(versionIn(cache)).toBe("absent");
  });

  it("takes away a doubt", () => {
    const cache = listed(object("web"));
    cache.doubt(place("web"));
    expect(cache.peek(place("web"))).toBeUndefined();
    cache.ask(place("web"))(object("web"));
    expect(versionIn(cache)).toBe("10");
    cache.doubt(place("web"));
    cache.ask(place("web"))(undefined);
    expect(versionIn(cache)).toBe("absent");
  });
});

describe("a list", () => {
  it("is what nothing is known before", () => {
    const cache = aCache();
    expect(cache.peek(place("web"))).toBeUndefined();
    cache.ask(place("web"))(object("web"));
    expect(cache.peek(place("web"))).toBeUndefined();
    expect(cache.takeList([object("web")], "100")).toEqual([]);
    expect(versionIn(cache)).toBe("10");
  });

  it("tells of what is new or different in it", () => {
    const cache = listed(object("a"), object("b"));
    const names = cache.takeList([object("a"), object("b", { version: 150 }), object("c", { version: 160 })], "200");
    expect(names).toEqual(["deployments.v1.apps/shop/b", "deployments.v1.apps/shop/c"]);
  });

  it("leaves among all that is known what is missing in it", () => {
    const cache = listed(object("web"));
    cache.takeList([], "200");
    expect(cache.peek(place("web"))).toBeUndefined();
    expect([...cache.uids()]).toEqual([[told[0], "u1"]]);
  });
  it("puts in doubt what is missing: not seen is not gone", () => {
    const cache = listed(object("web"));
    expect(cache.takeList([], "200")).toEqual(told);
    expect(cache.peek(place("web"))).toBeUndefined();
    expect(cache.size).toBe(1);
  });

  it("does not doubt what is newer than itself", () => {
    const cache = listed();
    cache.ask(place("web"))(object("web", { version: 250 }));
    expect(cache.takeList([], "200")).toEqual([]);
    expect(versionIn(cache)).toBe("250");
    cache.ask(place("web"))(object("web", { version: 260 }));
    expect(cache.takeList([object("web", { version: 255 })], "255")).toEqual([]);
    expect(versionIn(cache)).toBe("260");
  });

  it("of a cluster that has gone back in time starts everything anew", () => {
    const cache = listed(object("web", { version: 90 }), object("gone", { version: 91 }));
    cache.passed("120");
    expect(cache.takeList([object("web", { version: 40 })], "50").toSorted()).toEqual(
      ["gone", "web"].map((name) => `deployments.v1.apps/shop/${name}`),
    );
    expect(versionIn(cache)).toBe("40");
    expect(cache.peek(place("gone"))).toEqual({ kind: "absent" });
  });

  it("of another cluster with the same names has other objects, whatever their versions", () => {
    const cache = listed(object("web", { version: 90 }));
    expect(cache.takeList([object("web", { version: 40, uid: "u2" })], "500")).toEqual(told);
    expect(versionIn(cache)).toBe("40");
  });
});
