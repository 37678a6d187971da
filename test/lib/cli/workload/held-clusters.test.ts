import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import { findHeldUpsync, isUpsyncReleased, parseClusterArgument } from "../../../../lib/cli/workload/held-clusters.ts";
import { defaultDeletionGuardSettings } from "../../../../lib/sync/eviction/deletion-guard.ts";
import { countHeldDeletions, decideUpsyncConditions } from "../../../../lib/upsync/conditions.ts";
import { withHeldDeletions } from "../../../../lib/upsync/deletion-log.ts";
import { decideInventory } from "../../../../lib/upsync/inventory.ts";

const now = "2026-01-01T00:00:00Z";

type Given = Readonly<{ confirmed?: number; before?: ClusterRegistration }>;

/** Returns a registration with the status that upsync writes when this many of twenty objects are missing on the cluster. */
function aRegistration(name: string, missing: number, { confirmed = 0, before }: Given = {}): ClusterRegistration {
  const all = Array.from({ length: 20 }, (_, index) => `deployments.v1.apps/shop/w${index}`);
  const known = { uid: "u", hasThisOrigin: true, isDeleting: false, isOptedIn: true, isDeletionObserved: false };
  const inventory = decideInventory({
    downstreamUids: new Map(all.slice(missing).map((each) => [each, "u"])),
    upstream: new Map(all.map((each) => [each, known])),
    withoutNamespace: new Set(),
    recentDeletions: new Map(),
    copies: { total: 0, byName: new Map() },
    isLogFull: false,
    confirmedCount: confirmed,
    registration: name,
    deletionGuard: defaultDeletionGuardSettings,
  });
  const conditions = decideUpsyncConditions({
    before: before?.status?.conditions ?? [],
    isRequested: true,
    blockers: [],
    inventory,
    rejected: new Map(),
    now,
  });
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: { name },
    spec: { location: "here" },
    status: withHeldDeletions({ conditions }, countHeldDeletions(inventory)),
  };
}

describe("held deletions of upsynced objects", () => {
  it("findHeldUpsync lists held deletions by cluster, with their number from the status", () => {
    const all = [aRegistration("west", 15), aRegistration("north", 0), aRegistration("east", 20)];
    expect(findHeldUpsync(all)).toEqual([
      {
        title: "cluster/east",
        registration: "east",
        count: 20,
        message: "20 upsynced objects no longer exist on the cluster",
      },
      {
        title: "cluster/west",
        registration: "west",
        count: 15,
        message: "15 upsynced objects no longer exist on the cluster",
      },
    ]);
    expect(findHeldUpsync(all, ["west"]).map(({ registration }) => registration)).toEqual(["west"]);
  });
  it("isUpsyncReleased is false until the confirmed deletions are finished", () => {
    const held = aRegistration("south", 15);
    expect(isUpsyncReleased(held)).toBe(false);
    const going = aRegistration("south", 15, { confirmed: 15, before: held });
    expect(findHeldUpsync([going])).toEqual([]);
    expect(isUpsyncReleased(going)).toBe(false);
    expect(isUpsyncReleased(aRegistration("south", 0, { before: going }))).toBe(true);
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
])("parseClusterArgument of %s is %s", (argument, cluster) => {
  expect(parseClusterArgument(argument)).toBe(cluster);
});
