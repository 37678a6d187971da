import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatOrigin, type Reading, readClusterRegistration } from "../../../lib/sources/cluster.ts";

import { readControlPlaneEndpoint } from "../../../lib/sources/control-plane.ts";
import { settleNames } from "../../../lib/sources/resolve-names.ts";
import { type SourceKind, sourceKinds } from "../../../lib/sources/source-kinds.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aClusterRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

const context = { cluster: "abc", template: undefined, nowMs: 0 };
const registration = (name: string): Reading => readClusterRegistration(aClusterRegistration(name), context);
const target = (name: string): Reading => readSyncTarget(aSyncTarget(name), context);
const endpoint = (name: string, namespace: string, day: number): Reading =>
  readControlPlaneEndpoint(
    anEndpoint(name, { metadata: { namespace, uid: namespace, creationTimestamp: `2026-01-0${day}T00:00:00Z` } }),
    context,
  );

function settled(readings: readonly Reading[], sources: readonly SourceKind[] = sourceKinds) {
  const { winners, turnedAway } = settleNames(readings, sources);
  return {
    winners: winners.map(({ origin }) => formatOrigin(origin)),
    turnedAway: turnedAway.map(({ origin, message }) => `${formatOrigin(origin)}: ${message}`),
  };
}

describe("a name", () => {
  it("goes to the source that was named first", () => {
    expect(settled([target("east"), registration("east")])).toEqual({
      winners: ["abc|clusterregistration/east"],
      turnedAway: ["abc|synctarget/east: the name is taken by abc|clusterregistration/east"],
    });
    expect(settled([target("east"), registration("east")], ["synctarget", "clusterregistration"]).winners).toEqual([
      "abc|synctarget/east",
    ]);
  });

  it("goes to the oldest object of a source", () => {
    expect(settled([endpoint("east", "a", 2), endpoint("east", "b", 1)])).toEqual({
      winners: ["abc|controlplaneendpoint/b/east"],
      turnedAway: ["abc|controlplaneendpoint/a/east: the name is taken by abc|controlplaneendpoint/b/east"],
    });
  });

  it("goes to one of two of the same age, always the same", () => {
    const readings = [endpoint("east", "b", 1), endpoint("east", "a", 1)];
    expect(settled(readings).winners).toEqual(["abc|controlplaneendpoint/a/east"]);
    expect(settled(readings.toReversed())).toEqual(settled(readings));
  });
});

it("every object wins its name or is turned away, in whatever order they come", () => {
  const readings = ["a", "b", "c"].flatMap((name) => [
    registration(name),
    target(name),
    endpoint(name, "x", 1),
    endpoint(name, "y", 2),
  ]);
  fc.assert(
    fc.property(fc.shuffledSubarray(readings), (some) => {
      const { winners, turnedAway } = settled(some);
      expect(winners.length + turnedAway.length).toBe(some.length);
      expect(winners).toHaveLength(new Set(some.map(({ origin }) => origin.name)).size);
      expect(settled(some.toReversed())).toEqual({ winners, turnedAway });
    }),
  );
});
