import { describe, expect, it } from "vitest";
import { aConfigMap, asAdmin, configMaps, createTestCore, type TestCore } from "../support/test-core.ts";

const home = { logicalCluster: "", namespace: "default" };

describe("a list", () => {
  const filled = (count: number): TestCore => {
    const core = createTestCore();
    for (let index = 0; index < count; index += 1) {
      const labels = { even: String(index % 2 === 0) };
      core.operations.create(
        { definition: configMaps, ...home },
        aConfigMap(`m${index}`, { metadata: { labels } }),
        asAdmin,
      );
    }
    return core;
  };
  const target = { definition: configMaps, ...home };

  it("continues from the same snapshot after changes between two pages", () => {
    const { operations } = filled(5);
    const first = operations.list(target, { limit: 2 });
    expect(first.metadata.remainingItemCount).toBe(3);
    operations.delete({ ...target, name: "m2" }, {}, asAdmin);
    operations.create(target, aConfigMap("m25"), asAdmin);
    operations.patch({ ...target, name: "m3" }, { kind: "merge", body: { data: { a: "late" } } }, asAdmin);
    const second = operations.list(target, { limit: 2, continue: first.metadata.continue });
    const third = operations.list(target, { limit: 2, continue: second.metadata.continue });
    const all = [first, second, third].flatMap(({ items }) => items);
    expect(all.map(({ metadata }) => metadata.name)).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    expect(all[3]?.data).toEqual({ a: "b" });
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(third.metadata.continue).toBeUndefined();
  });

  it("fills pages with matching objects, and does not count objects that it has not examined", () => {
    const { operations } = filled(6);
    const first = operations.list(target, { limit: 2, labelSelector: "even=true" });
    expect(first.items.map(({ metadata }) => metadata.name)).toEqual(["m0", "m2"]);
    expect(first.metadata.remainingItemCount).toBeUndefined();
    const second = operations.list(target, { limit: 2, labelSelector: "even=true", continue: first.metadata.continue });
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(["m4"]);
  });

  it("responds with 410 when the snapshot of a page is compacted, with a token to continue", () => {
    const { operations, store } = filled(3);
    const first = operations.list(target, { limit: 1 });
    operations.delete({ ...target, name: "m1" }, {}, asAdmin);
    store.compact();
    const error = caught(() => operations.list(target, { limit: 1, continue: first.metadata.continue }));
    expect(error).toMatchObject({ status: { code: 410, reason: "Expired" } });
    const token = (error as { status: { metadata: { continue: string } } }).status.metadata.continue;
    const rest = operations.list(target, { continue: token });
    expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(["m2"]);
  });

  it("returns the state at an exact resourceVersion, and the current state otherwise", () => {
    const { operations } = filled(2);
    const names = (selection: Parameters<typeof operations.list>[1]) =>
      operations.list(target, selection).items.map(({ metadata }) => metadata.name);
    expect(names({ resourceVersion: "2", resourceVersionMatch: "Exact" })).toEqual(["m0"]);
    expect(names({ resourceVersion: "2" })).toEqual(["m0", "m1"]);
    expect(names({ resourceVersion: "0" })).toEqual(["m0", "m1"]);
    expect(names({ resourceVersion: "2", limit: 5 })).toEqual(["m0"]);
  });

  it("contains all logical clusters for the wildcard", () => {
    const { operations } = createTestCore([configMaps]);
    for (const cluster of ["one", "two"]) {
      const annotations = { "kcp.io/cluster": cluster };
      operations.create(
        { definition: configMaps, logicalCluster: cluster, namespace: "n" },
        aConfigMap("x", { metadata: { annotations } }),
        asAdmin,
      );
    }
    expect(operations.list({ definition: configMaps, logicalCluster: "one" }).items).toHaveLength(1);
    const first = operations.list({ definition: configMaps, logicalCluster: "*" }, { limit: 1 });
    const rest = operations.list(
      { definition: configMaps, logicalCluster: "*" },
      { continue: first.metadata.continue },
    );
    expect([...first.items, ...rest.items].map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"])).toEqual([
      "one",
      "two",
    ]);
  });
});

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
