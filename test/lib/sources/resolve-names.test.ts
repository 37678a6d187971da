import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClusterView, formatSourceOrigin, readClusterRegistration } from "../../../lib/sources/cluster.ts";

import { readControlPlaneEndpoint } from "../../../lib/sources/control-plane.ts";
import { resolveNames } from "../../../lib/sources/resolve-names.ts";
import { type SourceKind, sourceKinds } from "../../../lib/sources/source-kinds.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aClusterRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

const context = { logicalCluster: "abc", template: undefined, nowMs: 0 };
const registration = (name: string): ClusterView => readClusterRegistration(aClusterRegistration(name), context);
const target = (name: string): ClusterView => readSyncTarget(aSyncTarget(name), context);
const endpoint = (name: string, namespace: string, day: number): ClusterView =>
  readControlPlaneEndpoint(
    anEndpoint(name, { metadata: { namespace, uid: namespace, creationTimestamp: `2026-01-0${day}T00:00:00Z` } }),
    context,
  );

function resolve(readings: readonly ClusterView[], sources: readonly SourceKind[] = sourceKinds) {
  const { winners, rejected } = resolveNames(readings, sources);
  return {
    winners: winners.map(({ origin }) => formatSourceOrigin(origin)),
    rejected: rejected.map(({ origin, message }) => `${formatSourceOrigin(origin)}: ${message}`),
  };
}

describe("resolveNames", () => {
  it("the first source gets a name", () => {
    expect(resolve([target("east"), registration("east")])).toEqual({
      winners: ["abc|clusterregistration/east"],
      rejected: ["abc|synctarget/east: the name is taken by abc|clusterregistration/east"],
    });
    expect(resolve([target("east"), registration("east")], ["synctarget", "clusterregistration"]).winners).toEqual([
      "abc|synctarget/east",
    ]);
  });

  it("the oldest object of a source gets a name", () => {
    expect(resolve([endpoint("east", "a", 2), endpoint("east", "b", 1)])).toEqual({
      winners: ["abc|controlplaneendpoint/b/east"],
      rejected: ["abc|controlplaneendpoint/a/east: the name is taken by abc|controlplaneendpoint/b/east"],
    });
  });

  it("the choice between objects of the same age is deterministic", () => {
    const readings = [endpoint("east", "b", 1), endpoint("east", "a", 1)];
    expect(resolve(readings).winners).toEqual(["abc|controlplaneendpoint/a/east"]);
    expect(resolve(readings.toReversed())).toEqual(resolve(readings));
  });
});

it("every object gets its name or is rejected, regardless of the order", () => {
  const readings = ["a", "b", "c"].flatMap((name) => [
    registration(name),
    target(name),
    endpoint(name, "x", 1),
    endpoint(name, "y", 2),
  ]);
  fc.assert(
    fc.property(fc.shuffledSubarray(readings), (some) => {
      const { winners, rejected } = resolve(some);
      expect(winners.length + rejected.length).toBe(some.length);
      expect(winners).toHaveLength(new Set(some.map(({ origin }) => origin.name)).size);
      expect(resolve(some.toReversed())).toEqual({ winners, rejected });
    }),
  );
});
