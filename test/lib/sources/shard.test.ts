import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readClusterRegistration, toSourceCluster } from "../../../lib/sources/cluster.ts";

import { createClusterShardFilter, shardLabel, shardOf } from "../../../lib/sources/shard.ts";
import { aClusterRegistration } from "./objects.ts";

const shardsArbitrary = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,8}$/), { minLength: 1, maxLength: 12 });
const names = Array.from({ length: 4096 }, (_, index) => `lc${index % 7}|ClusterRegistration/cluster-${index}`);
const aCluster = (name: string, labels: Record<string, string> = {}) =>
  toSourceCluster(
    readClusterRegistration(aClusterRegistration(name, {}, { labels }), { logicalCluster: "abc", template: undefined }),
  );

describe("shardOf", () => {
  it("every cluster has exactly one shard", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), fc.option(fc.string(), { nil: undefined }), (shards, name, label) => {
        const cluster = aCluster(name, label === undefined ? {} : { [shardLabel]: label });
        const serving = shards.filter((id) => createClusterShardFilter({ id, shards })(cluster));
        expect(serving).toHaveLength(1);
      }),
    );
  });

  it("the shard does not depend on the order of the shards", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), (shards, name) => {
        expect(shardOf(name, shards.toReversed())).toBe(shardOf(name, shards));
      }),
    );
  });

  it("a cluster moves only to a shard that was added", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), fc.stringMatching(/^[A-Z]{1,8}$/), (shards, name, joining) => {
        expect([shardOf(name, shards), joining]).toContain(shardOf(name, [...shards, joining]));
      }),
    );
  });

  it("only clusters of a removed shard move", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), (shards, name) => {
        const before = shardOf(name, shards);
        for (const leaving of shards.filter((shard) => shard !== before)) {
          expect(
            shardOf(
              name,
              shards.filter((shard) => shard !== leaving),
            ),
          ).toBe(before);
        }
      }),
    );
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])("at most one in %i clusters moves when a shard is added to that many", (count) => {
    const before = Array.from({ length: count }, (_, index) => String(index));
    const after = [...before, String(count)];
    const moved = names.filter((name) => shardOf(name, before) !== shardOf(name, after)).length;
    expect(moved).toBeGreaterThan(0);
    expect(moved).toBeLessThanOrEqual(names.length / count);
  });

  it("the label selects the shard if that shard exists", () => {
    expect(shardOf("east", ["a", "b", "c"], "b")).toBe("b");
    expect(shardOf("east", ["a", "c"], "b")).toBe(shardOf("east", ["a", "c"]));
  });

  it("shardOf returns undefined without shards", () => {
    expect(shardOf("east", [])).toBeUndefined();
  });
});

it("the shard filter accepts every cluster without sharding", () => {
  expect(createClusterShardFilter(undefined)(aCluster("east"))).toBe(true);
});
