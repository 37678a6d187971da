import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { type CopyCache, createCopyCache } from "../../../lib/downstream/copy-cache.ts";

type Given = Readonly<{
  version?: number;
  uid?: string;
  generation?: number;
  status?: object;
  deleted?: boolean;
  writtenHash?: string;
}>;

/** A copy of ours, unless its uid is "foreign". */
const object = (
  name: string,
  { version = 10, uid = "u1", generation, status, deleted, writtenHash }: Given = {},
): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name,
    namespace: "tmc-shop",
    uid,
    resourceVersion: String(version),
    ...(generation === undefined ? {} : { generation }),
    ...(deleted === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    ...(writtenHash === undefined ? {} : { annotations: { "tmc.kcp.io/last-written-hash": writtenHash } }),
  },
  ...(status === undefined ? {} : { status }),
});
const nameOf = (name: string) => ({ namespace: "tmc-shop", name });
const aCache = (): CopyCache =>
  createCopyCache({
    workloadOf: ({ metadata }) =>
      metadata.uid === "foreign" ? undefined : `deployments.v1.apps/shop/${metadata.name}`,
  });
const listed = (...objects: readonly KubeObject[]): CopyCache => {
  const cache = aCache();
  cache.replace(objects, "100");
  return cache;
};
const changedWorkloads = ["deployments.v1.apps/shop/web"];
const versionIn = (cache: CopyCache): string | undefined => {
  const cached = cache.get(nameOf("web"));
  return cached?.kind === "there" ? cached.copy.resourceVersion : cached?.kind;
};

describe("a list of a cluster that was restored from a backup", () => {
  it("a copy that went back is a change, whatever its generation, and its state is the listed one", () => {
    const cache = listed(object("web", { version: 90, generation: 2 }));
    expect(cache.replace([object("web", { version: 40, generation: 2 })], "1000")).toEqual(changedWorkloads);
    expect(versionIn(cache)).toBe("40");
  });
  it("a copy that the cluster no longer has is a change, and has to be read", () => {
    const cache = listed(object("web", { version: 90, generation: 2 }));
    expect(cache.replace([], "50")).toEqual(changedWorkloads);
    expect(cache.get(nameOf("web"))).toBeUndefined();
  });
});

describe("a watch event of a copy", () => {
  const before = { version: 10, generation: 1, status: { ready: 1 } };
  const rows: Readonly<Record<string, Readonly<{ given?: Given; after: Given; isChange: boolean }>>> = {
    "is a change when the generation differs": { after: { ...before, version: 101, generation: 2 }, isChange: true },
    "is a change when the status differs": { after: { ...before, version: 101, status: { ready: 2 } }, isChange: true },
    "is a change when the copy is being deleted": { after: { ...before, version: 101, deleted: true }, isChange: true },
    "is a change when the hash of its manifest differs": {
      after: { ...before, version: 101, writtenHash: "f2" },
      isChange: true,
    },
    "is a change when the uid differs": { after: { ...before, version: 101, uid: "u2" }, isChange: true },
    "is a change when a foreign object has replaced the copy": {
      after: { ...before, version: 101, uid: "foreign" },
      isChange: true,
    },
    "is no change when only the resourceVersion differs": { after: { ...before, version: 101 }, isChange: false },
    "is no change when the copy is cached already": { after: before, isChange: false },
    "is no change when it is older than the cached copy": {
      after: { ...before, version: 9, generation: 0 },
      isChange: false,
    },
    "is a change when the resourceVersion differs and there is no generation": {
      given: { version: 10 },
      after: { version: 101 },
      isChange: true,
    },
  };
  it.each(Object.entries(rows))("%s", (_, { given = before, after, isChange }) => {
    const cache = listed(object("web", given));
    expect(cache.upsert(object("web", after))).toEqual(isChange ? changedWorkloads : []);
    expect(cache.upsert(object("web", after))).toEqual([]);
  });

  it("is a change when the copy is new, and none when the object is foreign", () => {
    const cache = listed();
    expect(cache.upsert(object("web", { version: 101 }))).toEqual(changedWorkloads);
    expect(cache.upsert(object("other", { version: 102, uid: "foreign" }))).toEqual([]);
    expect(cache.size).toBe(1);
  });

  it("is a change when the hash differs, and none when only the resourceVersion differs and there is a hash", () => {
    const cache = createCopyCache({
      workloadOf: () => changedWorkloads[0],
      hashOf: ({ metadata }) => metadata.labels?.app ?? "",
    });
    const labelled = (version: number, app: string): KubeObject => {
      const { metadata, ...rest } = object("web", { version });
      return { ...rest, metadata: { ...metadata, labels: { app } } };
    };
    cache.replace([labelled(10, "one")], "100");
    expect(cache.upsert(labelled(101, "one"))).toEqual([]);
    expect(cache.upsert(labelled(102, "two"))).toEqual(changedWorkloads);
    expect(cache.get(nameOf("web"))).toMatchObject({ hash: "two" });
  });

  it("is a change when the copy was deleted, even if a request has found that before", () => {
    const cache = listed(object("web"));
    cache.request(nameOf("web"))(undefined);
    expect(cache.get(nameOf("web"))).toEqual({ kind: "absent" });
    expect(cache.remove(object("web", { version: 101 }))).toEqual(changedWorkloads);
  });

  it("of a deletion does not remove a newer copy of the same name", () => {
    const cache = listed(object("web"));
    cache.request(nameOf("web"))(object("web", { version: 105, uid: "u2" }));
    expect(cache.remove(object("web", { version: 104 }))).toEqual([]);
    expect(versionIn(cache)).toBe("105");
  });
});

describe("the answer of a request", () => {
  it("is cached at once, and the watch event with the same version is no change", () => {
    const cache = listed();
    const written = object("web", { version: 101, generation: 1 });
    cache.request(nameOf("web"))(written);
    expect(versionIn(cache)).toBe("101");
    expect(cache.upsert(written)).toEqual([]);
  });

  it("does not replace a newer copy", () => {
    const cache = listed(object("web"));
    const answered = cache.request(nameOf("web"));
    cache.upsert(object("web", { version: 105 }));
    answered(object("web", { version: 104 }));
    expect(versionIn(cache)).toBe("105");
  });

  it("does not restore a copy whose deletion the watch has reported", () => {
    const cache = listed(object("web"));
    const answered = cache.request(nameOf("web"));
    cache.remove(object("web", { version: 105 }));
    answered(object("web", { version: 104 }));
    expect(versionIn(cache)).toBe("absent");
  });

  it("that is a late 404 does not remove a copy that was created meanwhile", () => {
    const cache = listed(object("web"));
    const answered = cache.request(nameOf("web"));
    cache.upsert(object("web", { version: 105, uid: "u2" }));
    answered(undefined);
    expect(versionIn(cache)).toBe("105");
  });

  it("removes a copy that is no longer ours", () => {
    const cache = listed(object("web"));
    cache.request(nameOf("web"))(object("web", { version: 101, uid: "foreign" }));
    expect(versionIn(cache)).toBe("absent");
  });

  it("makes a stale copy fresh", () => {
    const cache = listed(object("web"));
    cache.markStale(nameOf("web"));
    expect(cache.get(nameOf("web"))).toBeUndefined();
    cache.request(nameOf("web"))(object("web"));
    expect(versionIn(cache)).toBe("10");
    cache.markStale(nameOf("web"));
    cache.request(nameOf("web"))(undefined);
    expect(versionIn(cache)).toBe("absent");
  });
});

describe("a list of copies", () => {
  it("is required before the cache answers", () => {
    const cache = aCache();
    expect(cache.get(nameOf("web"))).toBeUndefined();
    cache.request(nameOf("web"))(object("web"));
    expect(cache.get(nameOf("web"))).toBeUndefined();
    expect(cache.replace([object("web")], "100")).toEqual([]);
    expect(versionIn(cache)).toBe("10");
  });

  it("returns the workloads of new and changed copies", () => {
    const cache = listed(object("a"), object("b"));
    const names = cache.replace([object("a"), object("b", { version: 150 }), object("c", { version: 160 })], "200");
    expect(names).toEqual(["deployments.v1.apps/shop/b", "deployments.v1.apps/shop/c"]);
  });

  it("keeps the uid of a copy that it lacks", () => {
    const cache = listed(object("web"));
    cache.replace([], "200");
    expect(cache.get(nameOf("web"))).toBeUndefined();
    expect([...cache.uids()]).toEqual([[changedWorkloads[0], "u1"]]);
  });
  it("makes a copy stale that it lacks: not seen is not gone", () => {
    const cache = listed(object("web"));
    expect(cache.replace([], "200")).toEqual(changedWorkloads);
    expect(cache.get(nameOf("web"))).toBeUndefined();
    expect(cache.size).toBe(1);
  });

  it("keeps a copy that is newer than the list, and asks the cluster until the watch has reported it", () => {
    const cache = listed();
    cache.request(nameOf("web"))(object("web", { version: 250 }));
    expect(cache.replace([], "200")).toEqual([]);
    expect(versionIn(cache)).toBeUndefined();
    expect(cache.upsert(object("web", { version: 250 }))).toEqual([]);
    expect(versionIn(cache)).toBe("250");
    cache.request(nameOf("web"))(object("web", { version: 260 }));
    expect(cache.replace([object("web", { version: 255 })], "255")).toEqual([]);
    expect(versionIn(cache)).toBeUndefined();
    cache.upsert(object("web", { version: 260 }));
    expect(versionIn(cache)).toBe("260");
  });

  it("of a cluster that was restored from a backup replaces newer versions", () => {
    const cache = listed(object("web", { version: 90 }), object("gone", { version: 91 }));
    cache.bookmark("120");
    expect(cache.replace([object("web", { version: 40 })], "50").toSorted()).toEqual(
      ["gone", "web"].map((name) => `deployments.v1.apps/shop/${name}`),
    );
    expect(versionIn(cache)).toBe("40");
    // Not seen is not gone: the next read goes to the cluster.
    expect(cache.get(nameOf("gone"))).toBeUndefined();
  });

  it("of another cluster with the same names replaces objects with other uids, whatever their versions", () => {
    const cache = listed(object("web", { version: 90 }));
    expect(cache.replace([object("web", { version: 40, uid: "u2" })], "500")).toEqual(changedWorkloads);
    expect(versionIn(cache)).toBe("40");
  });
});

describe("what a cache keeps", () => {
  const counted = () => {
    const size = { objects: 0, bytes: 0 };
    const cache = createCopyCache({
      workloadOf: ({ metadata }) => `deployments.v1.apps/shop/${metadata.name}`,
      onSizeChange: (change) => {
        size.objects += change.objects;
        size.bytes += change.bytes;
      },
    });
    return { cache, size };
  };

  it("is counted with copies that a list lacks, which a server could add without end", () => {
    const { cache, size } = counted();
    for (let round = 1; round <= 5; round += 1) {
      cache.replace([object(`web${round}`, { version: round * 10 })], String(round * 100));
    }
    expect(size.objects).toBe(5);
  });
  it("is counted by the length of what the cluster chooses", () => {
    const { cache, size } = counted();
    cache.replace([object("web", { version: 10 })], "100");
    const before = size.bytes;
    cache.upsert(object("web", { version: 101, status: { text: "x".repeat(10_000) } }));
    expect(size.bytes - before).toBeGreaterThan(10_000);
    cache.upsert(object("web", { version: 102 }));
    expect(size.bytes - before).toBeLessThan(100);
    expect(size.objects).toBe(1);
  });
  it("is nothing after it was cleared, and no name is known until the next list", () => {
    const { cache, size } = counted();
    cache.replace([object("web"), object("api")], "100");
    cache.clear();
    expect({ ...size, get: cache.get(nameOf("web")), isListed: cache.isListed }).toEqual({
      objects: 0,
      bytes: 0,
      get: undefined,
      isListed: false,
    });
    cache.replace([object("web")], "90");
    expect(cache.get(nameOf("web"))).toMatchObject({ kind: "there" });
    expect(cache.get(nameOf("api"))).toEqual({ kind: "absent" });
  });
});
