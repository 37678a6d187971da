import { describe, expect, it } from "vitest";
import type { Condition } from "../../../lib/model/condition.ts";
import { defaultDeletionGuardSettings } from "../../../lib/sync/eviction/deletion-guard.ts";
import { decideUpsyncConditions } from "../../../lib/upsync/conditions.ts";
import {
  decideInventory,
  type Inventory,
  type InventoryFacts,
  type UpstreamEntry,
} from "../../../lib/upsync/inventory.ts";

const nameOf = (name: string): string => `deployments.v1.apps/shop/${name}`;
const many = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => nameOf(`w${index + from}`));
/** A log of recent deletions, each with this many copies on other clusters. */
const aLog = (names: readonly string[], copies = 0): ReadonlyMap<string, number> =>
  new Map(names.map((name) => [name, copies]));
const entry = (rest: Partial<UpstreamEntry> = {}): UpstreamEntry => ({
  uid: "u",
  hasThisOrigin: true,
  isDeleting: false,
  isOptedIn: true,
  isDeletionObserved: false,
  ...rest,
});

function inventoryOf({
  present = [],
  upstream = [],
  ...rest
}: Readonly<{ present?: readonly string[]; upstream?: readonly (readonly [string, UpstreamEntry])[] }> &
  Partial<Omit<InventoryFacts, "downstreamUids" | "upstream">>) {
  return decideInventory({
    downstreamUids: new Map(present.map((name) => [name, `uid-${name}`])),
    upstream: new Map(upstream),
    withoutNamespace: new Set(),
    recentDeletions: new Map(),
    copies: { total: 0, byName: new Map() },
    isLogFull: false,
    confirmedCount: 0,
    registration: "east",
    deletionGuard: defaultDeletionGuardSettings,
    ...rest,
  });
}

describe("the inventory of a cluster", () => {
  const web = nameOf("web");

  it("the inventory has no findings when cluster and upstream agree", () => {
    expect(inventoryOf({ present: [web], upstream: [[web, entry()]] })).toEqual({
      present: [web],
      nameTaken: [],
      namespaceMissing: [],
      missingUpstream: [],
      missingDownstream: [],
      copyCounts: new Map(),
      heldMessage: undefined,
      isConfirmed: false,
    });
  });
  it("the inventory lists objects that are missing upstream, and objects whose namespace is", () => {
    const bank = "deployments.v1.apps/bank/web";
    expect(inventoryOf({ present: [web, bank], withoutNamespace: new Set([bank]) })).toMatchObject({
      missingUpstream: [web],
      namespaceMissing: [bank],
    });
  });
  it("the inventory lists names that another upstream object has, but not the same object", () => {
    expect(inventoryOf({ present: [web], upstream: [[web, entry({ hasThisOrigin: false })]] }).nameTaken).toEqual([
      web,
    ]);
    const same = entry({ hasThisOrigin: false, uid: `uid-${web}` });
    expect(inventoryOf({ present: [web], upstream: [[web, same]] }).nameTaken).toEqual([]);
  });
  it.each([
    ["it is being deleted upstream", entry({ isDeleting: true })],
    ["it is no longer opted in", entry({ isOptedIn: false })],
    ["its origin is another cluster", entry({ hasThisOrigin: false })],
  ])("the inventory does not count an object as missing downstream when %s", (_, upstreamEntry) => {
    expect(inventoryOf({ upstream: [[web, upstreamEntry]] }).missingDownstream).toEqual([]);
  });

  it.each([
    ["the deletion guard allows a few deletions", 3, 4, {}, false],
    ["the deletion guard allows ten deletions, whatever share of the objects they are", 10, 11, {}, false],
    ["the deletion guard holds the deletion of all objects, however few they are", 3, 3, {}, true],
    ["the deletion guard holds the deletion of the only object", 1, 1, {}, true],
    [
      "the deletion guard allows the deletion of all objects that a user has confirmed",
      3,
      3,
      { confirmedCount: 3 },
      false,
    ],
    ["the deletion guard holds more than ten deletions that are more than a third of all objects", 11, 20, {}, true],
    ["the deletion guard allows more than ten deletions that are a small share of all objects", 11, 100, {}, false],
    [
      "the deletion guard holds more than a hundred deletions, whatever share of all objects they are",
      101,
      5_000,
      {},
      true,
    ],
    ["the deletion guard counts recent deletions", 1, 5, { recentDeletions: aLog(many(10, 100)) }, true],
    [
      "the deletion guard counts a logged deletion that is not complete once",
      10,
      11,
      { recentDeletions: aLog(many(9)) },
      false,
    ],
    ["the deletion guard holds a single deletion while the deletion log is full", 1, 5_000, { isLogFull: true }, true],
    ["the deletion guard allows as many deletions as a user has confirmed", 11, 20, { confirmedCount: 11 }, false],
    ["the deletion guard holds more deletions than a user has confirmed", 12, 20, { confirmedCount: 11 }, true],
  ])("%s", (_, missing, all, rest, isHeld) => {
    const upstream = many(all).map((name) => [name, entry()] as const);
    const inventory = inventoryOf({ present: many(all - missing, missing), upstream, ...rest });
    expect(inventory.missingDownstream).toHaveLength(missing);
    expect(inventory.heldMessage !== undefined).toBe(isHeld);
  });
  it("the deletion guard allows the deletion of all objects only if a watch has reported each of them", () => {
    const heldOf = (observed: number) =>
      inventoryOf({
        upstream: many(3).map((name, index) => [name, entry({ isDeletionObserved: index < observed })] as const),
      }).heldMessage;
    expect(heldOf(3)).toBeUndefined();
    expect(heldOf(2)).toBe(
      "3 of 3 upsynced objects no longer exist on the cluster; to delete them in the workspace too, run: tmc confirm cluster/east",
    );
  });
  it.each([
    ["holds objects with more copies on other clusters than may be deleted at once", 2, 51, 5_000, {}, true],
    ["allows objects with as many copies as may be deleted at once", 2, 50, 5_000, {}, false],
    ["holds objects with a large share of all copies on other clusters", 2, 6, 20, {}, true],
    ["allows objects with a few copies on other clusters", 2, 5, 10, {}, false],
    ["allows a single object with all its copies on other clusters", 1, 200, 200, {}, false],
    ["counts the copies of recent deletions", 1, 30, 5_000, { recentDeletions: aLog(many(3, 100), 30) }, true],
    [
      "counts the copies of a logged deletion that is not complete once",
      2,
      50,
      5_000,
      { recentDeletions: aLog(many(2), 50) },
      false,
    ],
    ["allows what a user has confirmed, with all copies", 2, 51, 5_000, { confirmedCount: 2 }, false],
  ])("the deletion guard %s", (_, missing, copiesEach, total, rest, isHeld) => {
    const inventory = inventoryOf({
      present: many(100 - missing, missing),
      upstream: many(100).map((name) => [name, entry()] as const),
      copies: { total, byName: new Map(many(100).map((name) => [name, copiesEach])) },
      ...rest,
    });
    expect(inventory.copyCounts).toEqual(new Map(many(missing).map((name) => [name, copiesEach])));
    expect(inventory.heldMessage !== undefined).toBe(isHeld);
  });
  it("isConfirmed is true only for deletions that the confirmation of a user covers", () => {
    const upstream = many(20).map((name) => [name, entry()] as const);
    expect(inventoryOf({ present: many(9, 11), upstream, confirmedCount: 11 }).isConfirmed).toBe(true);
    expect(inventoryOf({ present: many(8, 12), upstream, confirmedCount: 11 }).isConfirmed).toBe(false);
    expect(inventoryOf({ present: many(19, 1), upstream }).isConfirmed).toBe(false);
  });
});

describe("the upsync conditions of a registration", () => {
  const web = nameOf("web");
  const ready: Condition = {
    type: "Ready",
    status: "True",
    reason: "ClusterReady",
    message: "",
    lastTransitionTime: "t",
  };
  const empty: Inventory = {
    present: [],
    nameTaken: [],
    namespaceMissing: [],
    missingUpstream: [],
    missingDownstream: [],
    copyCounts: new Map(),
    heldMessage: undefined,
    isConfirmed: false,
  };
  const decided = (rest: Partial<Parameters<typeof decideUpsyncConditions>[0]>) =>
    decideUpsyncConditions({
      before: [ready],
      isRequested: true,
      blockers: [],
      inventory: empty,
      rejected: new Map(),
      now: "now",
      ...rest,
    });
  const summaryOf = (conditions: readonly Condition[]) =>
    conditions.slice(1).map(({ type, status, reason }) => `${type} ${status} ${reason}`);

  it("UpsyncReady is True when there is nothing to report", () => {
    expect(summaryOf(decided({}))).toEqual(["UpsyncReady True Upsynced"]);
  });
  it("UpsyncReady is False with the first reason and all messages", () => {
    const blockers = [
      { reason: "TypeNotOffered" as const, message: "v1 ConfigMap: TMC can only read this type in a workspace" },
    ];
    const conditions = decided({
      blockers,
      inventory: { ...empty, namespaceMissing: [web] },
      rejected: new Map([[web, "spec.replicas: must be a number"]]),
    });
    expect(summaryOf(conditions)).toEqual(["UpsyncReady False TypeNotOffered"]);
    expect(conditions[1]?.message).toBe(
      "v1 ConfigMap: TMC can only read this type in a workspace; the workspace has no namespace shop; deployments shop/web: spec.replicas: must be a number",
    );
  });
  it("UpsyncConflict lists up to five names that are taken, and counts the rest", () => {
    const nameTaken = many(7);
    const [, , conflict] = decided({ inventory: { ...empty, nameTaken } });
    expect(conflict?.message).toMatch(/: deployments shop\/w0, .*w4 and 2 more$/);
    expect(summaryOf(decided({ inventory: { ...empty, nameTaken } }))).toContain("UpsyncConflict True NameTaken");
  });
  it("UpsyncHeld is True while deletions are held, and False afterwards", () => {
    const held = decided({ inventory: { ...empty, heldMessage: "11 of 20" } });
    expect(summaryOf(held)).toContain("UpsyncHeld True DeletionsHeld");
    expect(summaryOf(decided({ before: held }))).toContain("UpsyncHeld False NoDeletionsHeld");
  });
  it("UpsyncHeld has the reason DeletionsConfirmed until all confirmed deletions are complete, and not for deletions that were never held", () => {
    const held = decided({ inventory: { ...empty, missingDownstream: [web], heldMessage: "11 of 20" } });
    const deleting = decided({ before: held, inventory: { ...empty, missingDownstream: [web] } });
    expect(summaryOf(deleting)).toContain("UpsyncHeld False DeletionsConfirmed");
    expect(decided({ before: deleting, inventory: { ...empty, missingDownstream: [web] } })).toBe(deleting);
    const complete = decided({ before: deleting });
    expect(summaryOf(complete)).toContain("UpsyncHeld False NoDeletionsHeld");
    expect(decided({ before: complete, inventory: { ...empty, missingDownstream: [web] } })).toBe(complete);
  });
  it("upsync conditions stay unchanged while there is no inventory", () => {
    const before = decided({ inventory: { ...empty, nameTaken: [web], heldMessage: "11 of 20" } });
    expect(decided({ before, inventory: undefined })).toBe(before);
  });
  it("decideUpsyncConditions returns the same list when nothing has changed", () => {
    const before = decided({ inventory: { ...empty, nameTaken: [web] } });
    expect(decided({ before, inventory: { ...empty, nameTaken: [web] } })).toBe(before);
  });
  it("upsync conditions are removed when the registration no longer opts in to anything", () => {
    const before = decided({ inventory: { ...empty, nameTaken: [web] } });
    expect(decided({ before, isRequested: false })).toEqual([ready]);
    expect(decided({ isRequested: false })).toEqual([ready]);
  });
});
