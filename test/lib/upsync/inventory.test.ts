import { describe, expect, it } from "vitest";
import type { Condition } from "../../../lib/model/condition.ts";
import { defaultDeletionGuardSettings } from "../../../lib/sync/eviction/deletion-guard.ts";
import { decideConditions } from "../../../lib/upsync/conditions.ts";
import { decideInventory, type Inventory, type InventoryFacts, type Known } from "../../../lib/upsync/inventory.ts";

const nameOf = (name: string): string => `deployments.v1.apps/shop/${name}`;
const many = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => nameOf(`w${index + from}`));
const known = (rest: Partial<Known> = {}): Known => ({
  uid: "u",
  isFromHere: true,
  isDeleting: false,
  isOptedIn: true,
  ...rest,
});

function ask({
  born = [],
  upstream = [],
  ...rest
}: Readonly<{ born?: readonly string[]; upstream?: readonly (readonly [string, Known])[] }> &
  Partial<Omit<InventoryFacts, "births" | "upstream">>) {
  return decideInventory({
    births: new Map(born.map((name) => [name, `born-${name}`])),
    upstream: new Map(upstream),
    homeless: new Set(),
    endedLately: new Set(),
    isFull: false,
    confirmed: 0,
    brake: defaultDeletionGuardSettings,
    ...rest,
  });
}

describe("a survey of a cluster", () => {
  const web = nameOf("web");

  it("finds nothing to say where everything is as it should be", () => {
    expect(ask({ born: [web], upstream: [[web, known()]] })).toEqual({
      born: [web],
      taken: [],
      homeless: [],
      lacking: [],
      vanished: [],
      held: undefined,
      isConfirmed: false,
    });
  });
  it("finds what is not in the workspace yet, and what has no namespace there", () => {
    const bank = "deployments.v1.apps/bank/web";
    expect(ask({ born: [web, bank], homeless: new Set([bank]) })).toMatchObject({ lacking: [web], homeless: [bank] });
  });
  it("finds names that are taken, but not by the very same object", () => {
    expect(ask({ born: [web], upstream: [[web, known({ isFromHere: false })]] }).taken).toEqual([web]);
    const same = known({ isFromHere: false, uid: `born-${web}` });
    expect(ask({ born: [web], upstream: [[web, same]] }).taken).toEqual([]);
  });
  it.each([
    ["somebody deletes it", known({ isDeleting: true })],
    ["it is opted in no more", known({ isOptedIn: false })],
    ["it was born elsewhere", known({ isFromHere: false })],
  ])("takes nothing for vanished when %s", (_, each) => {
    expect(ask({ upstream: [[web, each]] }).vanished).toEqual([]);
  });

  it.each([
    ["a few may go", 3, 3, {}, false],
    ["ten may go, however many that is of all", 10, 10, {}, false],
    ["more than ten that are more than a third are held", 11, 20, {}, true],
    ["more than ten of very many may go", 11, 100, {}, false],
    ["more than a hundred are held, however many there are", 101, 5_000, {}, true],
    ["those that went a moment ago count", 1, 5, { endedLately: new Set(many(10, 100)) }, true],
    ["those that are on their way count once", 10, 10, { endedLately: new Set(many(9)) }, false],
    ["a few are held where it is not known any more how many went", 1, 5_000, { isFull: true }, true],
    ["as many as somebody has confirmed may go", 11, 20, { confirmed: 11 }, false],
    ["more than somebody has confirmed are held", 12, 20, { confirmed: 11 }, true],
  ])("%s", (_, gone, all, rest, isHeld) => {
    const upstream = many(all).map((name) => [name, known()] as const);
    const answer = ask({ born: many(all - gone, gone), upstream, ...rest });
    expect(answer.vanished).toHaveLength(gone);
    expect(answer.held !== undefined).toBe(isHeld);
  });
  it("tells what somebody has confirmed from what may go by itself", () => {
    const upstream = many(20).map((name) => [name, known()] as const);
    expect(ask({ born: many(9, 11), upstream, confirmed: 11 }).isConfirmed).toBe(true);
    expect(ask({ born: many(8, 12), upstream, confirmed: 11 }).isConfirmed).toBe(false);
    expect(ask({ born: many(19, 1), upstream }).isConfirmed).toBe(false);
  });
});

describe("the conditions of a registration", () => {
  const web = nameOf("web");
  const ready: Condition = {
    type: "Ready",
    status: "True",
    reason: "ClusterReady",
    message: "",
    lastTransitionTime: "t",
  };
  const quiet: Inventory = {
    born: [],
    taken: [],
    homeless: [],
    lacking: [],
    vanished: [],
    held: undefined,
    isConfirmed: false,
  };
  const decided = (rest: Partial<Parameters<typeof decideConditions>[0]>) =>
    decideConditions({
      before: [ready],
      isAsked: true,
      problems: [],
      survey: quiet,
      refused: new Map(),
      now: "now",
      ...rest,
    });
  const words = (conditions: readonly Condition[]) =>
    conditions.slice(1).map(({ type, status, reason }) => `${type} ${status} ${reason}`);

  it("say that all is well", () => {
    expect(words(decided({}))).toEqual(["UpsyncReady True Upsynced"]);
  });
  it("say what is asked for and cannot be, and with what else", () => {
    const problems = [{ reason: "TypeNotOffered" as const, message: "v1 ConfigMap: TMC may only read it" }];
    const conditions = decided({
      problems,
      survey: { ...quiet, homeless: [web] },
      refused: new Map([[web, "spec.replicas: must be a number"]]),
    });
    expect(words(conditions)).toEqual(["UpsyncReady False TypeNotOffered"]);
    expect(conditions[1]?.message).toBe(
      "v1 ConfigMap: TMC may only read it; the workspace has no namespace shop; deployments shop/web: spec.replicas: must be a number",
    );
  });
  it("name what is taken, as many as a message bears", () => {
    const taken = many(7);
    const [, , conflict] = decided({ survey: { ...quiet, taken } });
    expect(conflict?.message).toMatch(/: deployments shop\/w0, .*w4 and 2 more$/);
    expect(words(decided({ survey: { ...quiet, taken } }))).toContain("UpsyncConflict True NameTaken");
  });
  it("say what is held, and when it is held no more", () => {
    const held = decided({ survey: { ...quiet, held: "11 of 20" } });
    expect(words(held)).toContain("UpsyncHeld True DeletionsHeld");
    expect(words(decided({ before: held }))).toContain("UpsyncHeld False NoDeletionsHeld");
  });
  it("say that what was held is going until all of it has gone, and nothing of what nobody held", () => {
    const held = decided({ survey: { ...quiet, vanished: [web], held: "11 of 20" } });
    const going = decided({ before: held, survey: { ...quiet, vanished: [web] } });
    expect(words(going)).toContain("UpsyncHeld False DeletionsConfirmed");
    expect(decided({ before: going, survey: { ...quiet, vanished: [web] } })).toBe(going);
    const over = decided({ before: going });
    expect(words(over)).toContain("UpsyncHeld False NoDeletionsHeld");
    expect(decided({ before: over, survey: { ...quiet, vanished: [web] } })).toBe(over);
  });
  it("stay as they are while the cluster is not heard from", () => {
    const before = decided({ survey: { ...quiet, taken: [web], held: "11 of 20" } });
    expect(decided({ before, survey: undefined })).toBe(before);
  });
  it("stay the very same while nothing is new", () => {
    const before = decided({ survey: { ...quiet, taken: [web] } });
    expect(decided({ before, survey: { ...quiet, taken: [web] } })).toBe(before);
  });
  it("go when nothing is asked for any more", () => {
    const before = decided({ survey: { ...quiet, taken: [web] } });
    expect(decided({ before, isAsked: false })).toEqual([ready]);
    expect(decided({ isAsked: false })).toEqual([ready]);
  });
});
