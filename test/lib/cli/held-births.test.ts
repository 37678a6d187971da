import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { areGone, clusterIn, heldBirthsIn } from "../../../lib/cli/held-births.ts";
import { defaultDeletionGuardSettings } from "../../../lib/sync/eviction/deletion-guard.ts";
import { decideConditions } from "../../../lib/upsync/conditions.ts";
import { decideInventory } from "../../../lib/upsync/inventory.ts";

const now = "2026-01-01T00:00:00Z";

type Given = Readonly<{ confirmed?: number; before?: ClusterRegistration }>;

/** A registration as upsync leaves it when so many of twenty objects are gone from its cluster. */
function aRegistration(name: string, gone: number, { confirmed = 0, before }: Given = {}): ClusterRegistration {
  const all = Array.from({ length: 20 }, (_, index) => `deployments.v1.apps/shop/w${index}`);
  const known = { uid: "u", isFromHere: true, isDeleting: false, isOptedIn: true };
  const seen = decideInventory({
    births: new Map(all.slice(gone).map((each) => [each, "u"])),
    upstream: new Map(all.map((each) => [each, known])),
    homeless: new Set(),
    endedLately: new Set(),
    isFull: false,
    confirmed,
    brake: defaultDeletionGuardSettings,
  });
  const conditions = decideConditions({
    before: before?.status?.conditions ?? [],
    isAsked: true,
    problems: [],
    survey: seen,
    refused: new Map(),
    now,
  });
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: { name },
    spec: { location: "here" },
    status: { conditions },
  };
}

describe("what was born on clusters and is held", () => {
  it("is listed by the clusters' names, with how many and why", () => {
    const all = [aRegistration("west", 15), aRegistration("north", 0), aRegistration("east", 20)];
    expect(heldBirthsIn(all)).toEqual([
      {
        title: "cluster/east",
        cluster: "east",
        count: 20,
        why: "20 of 20 objects that were born on the cluster are not there any more",
      },
      {
        title: "cluster/west",
        cluster: "west",
        count: 15,
        why: "15 of 20 objects that were born on the cluster are not there any more",
      },
    ]);
    expect(heldBirthsIn(all, ["west"]).map(({ cluster }) => cluster)).toEqual(["west"]);
  });
  it("has gone when upsync says so, and not when it was only confirmed", () => {
    const held = aRegistration("south", 15);
    expect(areGone(held)).toBe(false);
    const going = aRegistration("south", 15, { confirmed: 15, before: held });
    expect(heldBirthsIn([going])).toEqual([]);
    expect(areGone(going)).toBe(false);
    expect(areGone(aRegistration("south", 0, { before: going }))).toBe(true);
  });
});

it.each([
  ["cluster/east", "east"],
  ["cr/east", "east"],
  ["ClusterRegistration.tmc.kcp.io/east", "east"],
  ["deploy/east", undefined],
  ["cluster", undefined],
  ["cluster/", undefined],
  ["cluster/a/b", undefined],
])("%s names the cluster %s", (words, cluster) => {
  expect(clusterIn(words)).toBe(cluster);
});
