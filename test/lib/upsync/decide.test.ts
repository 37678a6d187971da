import { describe, expect, it } from "vitest";
import { type Action, type Blocker, decide, type Facts } from "../../../lib/upsync/decide.ts";
import { aBirth, aBirthplace, aClaim, anUpstream } from "./builders.ts";

type Row = Readonly<{
  given: Partial<Facts>;
  act: Action;
  hindrances?: readonly Pick<Blocker, "registration" | "reason">[];
}>;

const nothing: Action = { do: "nothing" };

const rows: Readonly<Record<string, Row>> = {
  "what is born on a cluster is made known": {
    given: { claims: [aClaim("east")] },
    act: { do: "create", registration: "east" },
  },
  "what is on its way out is not made known": {
    given: { claims: [aClaim("east", aBirth({ isDeleting: true }))] },
    act: nothing,
  },
  "without its namespace in the workspace it waits": {
    given: { claims: [aClaim("east")], hasNamespace: false },
    act: nothing,
    hindrances: [{ registration: "east", reason: "NamespaceMissing" }],
  },
  "of two that are born under one name the first by name is made known, and the other is a clash": {
    given: { claims: [aClaim("west"), aClaim("east")] },
    act: { do: "create", registration: "east" },
    hindrances: [{ registration: "west", reason: "NameTaken" }],
  },
  "the first origin keeps the name, whatever the other is called": {
    given: {
      upstream: anUpstream({ birthplace: aBirthplace({ registration: "west", uid: "west-web" }) }),
      claims: [aClaim("east"), aClaim("west")],
    },
    act: nothing,
    hindrances: [{ registration: "east", reason: "NameTaken" }],
  },
  "what is in the workspace by itself is never overwritten": {
    given: { upstream: anUpstream({ birthplace: undefined, print: "own" }), claims: [aClaim("east")] },
    act: nothing,
    hindrances: [{ registration: "east", reason: "NameTaken" }],
  },
  "a hub that is registered as a cluster has no clash with itself": {
    given: {
      upstream: anUpstream({ birthplace: undefined, uid: "same" }),
      claims: [aClaim("self", aBirth({ uid: "same" }))],
    },
    act: nothing,
  },
  "as long as both say the same nothing is written": {
    given: { upstream: anUpstream(), claims: [aClaim("east")] },
    act: nothing,
  },
  "a change on the origin, or in the workspace, is written": {
    given: { upstream: anUpstream({ print: "p2" }), claims: [aClaim("east")] },
    act: { do: "write", registration: "east" },
  },
  "what the workspace made of it before is no change": {
    given: {
      upstream: anUpstream({ print: "pruned" }),
      claims: [aClaim("east")],
      agreed: { born: "p1", upstream: "pruned" },
    },
    act: nothing,
  },
  "another change than the one that was agreed on is written": {
    given: {
      upstream: anUpstream({ print: "edited" }),
      claims: [aClaim("east")],
      agreed: { born: "p1", upstream: "pruned" },
    },
    act: { do: "write", registration: "east" },
  },
  "an origin that was made anew under its name is taken up": {
    given: { upstream: anUpstream(), claims: [aClaim("east", aBirth({ uid: "second" }))] },
    act: { do: "write", registration: "east" },
  },
  "nothing is written while the origin goes": {
    given: { upstream: anUpstream({ print: "p2" }), claims: [aClaim("east", aBirth({ isDeleting: true }))] },
    act: nothing,
  },
  "what is being deleted in the workspace is let go, and comes back afterwards": {
    given: { upstream: anUpstream({ isDeleting: true, print: "p2" }), claims: [aClaim("east")] },
    act: nothing,
  },
  "it goes when the cluster itself has said that the origin has gone": {
    given: { upstream: anUpstream(), claims: [aClaim("east", { kind: "absent" })] },
    act: { do: "remove", registration: "east" },
  },
  "it goes when another object has the place of the origin, and is not one to be made known": {
    given: { upstream: anUpstream(), claims: [aClaim("east", { kind: "other", uid: "controlled" })] },
    act: { do: "remove", registration: "east" },
  },
  "it stays when the origin is there, and only not opted in any more": {
    given: { upstream: anUpstream(), claims: [aClaim("east", { kind: "other", uid: "east-web" })] },
    act: nothing,
  },
  "an unreachable origin removes nothing": {
    given: { upstream: anUpstream(), claims: [aClaim("east", { kind: "unknown", mayPass: true, why: "timed out" })] },
    act: nothing,
  },
  "a cluster that opts in no more removes nothing": { given: { upstream: anUpstream(), claims: [] }, act: nothing },
  "another cluster that does not have it removes nothing": {
    given: { upstream: anUpstream(), claims: [aClaim("east"), aClaim("west", { kind: "absent" })] },
    act: nothing,
  },
  "of what is in the workspace by itself nothing is removed": {
    given: { upstream: anUpstream({ birthplace: undefined }), claims: [aClaim("east", { kind: "absent" })] },
    act: nothing,
  },
  "when many go at once it is held": {
    given: { upstream: anUpstream(), claims: [aClaim("east", { kind: "absent" })], held: "40 of 50" },
    act: nothing,
    hindrances: [{ registration: "east", reason: "DeletionsHeld" }],
  },
};

describe("what becomes of a name", () => {
  it.each(Object.entries(rows))("%s", (_, { given, act, hindrances = [] }) => {
    const facts: Facts = { upstream: undefined, claims: [], hasNamespace: true, ...given };
    const before = structuredClone(facts);
    const plan = decide(facts);
    expect(plan.act).toEqual(act);
    expect(plan.hindrances.map(({ registration, reason }) => ({ registration, reason }))).toEqual(hindrances);
    expect(facts).toEqual(before);
    const reordered = decide({ ...facts, claims: facts.claims.toReversed() });
    expect(reordered).toEqual(plan);
  });
});
