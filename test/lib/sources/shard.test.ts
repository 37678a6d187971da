import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asCluster, readClusterRegistration } from "../../../lib/sources/cluster.ts";

import { createShardFilter, shardLabel, shardOf } from "../../../lib/sources/shard.ts";
import { aClusterRegistration } from "./objects.ts";

const shardsArbitrary = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,8}$/), { minLength: 1, maxLength: 12 });
const names = Array.from({ length: 4096 }, (_, index) => `lc${index % 7}|ClusterRegistration/cluster-${index}`);
const aCluster = (name: string, labels: Record<string, string> = {}) =>
  asCluster(
    readClusterRegistration(aClusterRegistration(name, {}, { labels }), { cluster: "abc", template: undefined }),
  );

describe("the shard of a cluster", () => {
  it("is exactly one of those that there are", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), fc.option(fc.string(), { nil: undefined }), (shards, name, label) => {
        const cluster = aCluster(name, label === undefined ? {} : { [shardLabel]: label });
        const serving = shards.filter((id) => createShardFilter({ id, shards })(cluster));
        expect(serving).toHaveLength(1);
      }),
    );
  });

  it("is the same in whatever order the shards are known", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), (shards, name) => {
        expect(shardOf(name, shards.toReversed())).toBe(shardOf(name, shards));
      }),
    );
  });

  it("changes to the one that joins or not at all", () => {
    fc.assert(
      fc.property(shardsArbitrary, fc.string(), fc.stringMatching(/^[A-Z]{1,8}$/), (shards, name, joining) => {
        expect([shardOf(name, shards), joining]).toContain(shardOf(name, [...shards, joining]));
      }),
    );
  });

  it("changes only for the clusters of the one that leaves", () => {
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

  it.each([1, 2, 3, 4, 5, 6, 7, 8])("changes for at most one in %i clusters when a shard joins as many", (count) => {
    const before = Array.from({ length: count }, (_, index) => String(index));
    const after = [...before, String(count)];
    const moved = names.filter((name) => shardOf(name, before) !== shardOf(name, after)).length;
    expect(moved).toBeGreaterThan(0);
    expect(moved).toBeLessThanOrEqual(names.length / count);
  });

  it("is the one that its label names, while there is such a shard", () => {
    expect(shardOf("east", ["a", "b", "c"], "b")).toBe("b");
    expect(shardOf("east", ["a", "c"], "b")).toBe(shardOf("east", ["a", "c"]));
  });

  it("is none where there is none", () => {
    expect(shardOf("east", [])).toBeUndefined();
  });
});

it("without shards every cluster is served", () => {
  expect(createShardFilter(undefined)(aCluster("east"))).toBe(true);
});
