import { describe, expect, it } from "vitest";
import { decide, type UpsyncAction, type UpsyncBlocker, type UpsyncFacts } from "../../../lib/upsync/decide.ts";
import { aCandidate, anOrigin, anUpstreamState, aPresentState } from "../../support/upsync-builders.ts";

type Row = Readonly<{
  given: Partial<UpsyncFacts>;
  action: UpsyncAction;
  blockers?: readonly Pick<UpsyncBlocker, "registration" | "reason">[];
}>;

const none: UpsyncAction = { kind: "none" };

const rows: Readonly<Record<string, Row>> = {
  "creates the object of a cluster upstream": {
    given: { candidates: [aCandidate("east")] },
    action: { kind: "create", registration: "east" },
  },
  "does not create an object that is being deleted on its cluster": {
    given: { candidates: [aCandidate("east", aPresentState({ isDeleting: true }))] },
    action: none,
  },
  "waits while the namespace does not exist upstream": {
    given: { candidates: [aCandidate("east")], hasNamespace: false },
    action: none,
    blockers: [{ registration: "east", reason: "NamespaceMissing" }],
  },
  "of two clusters that have the same name, upsyncs the one whose registration sorts first, and reports a conflict for the other":
    {
      given: { candidates: [aCandidate("west"), aCandidate("east")] },
      action: { kind: "create", registration: "east" },
      blockers: [{ registration: "west", reason: "NameTaken" }],
    },
  "keeps the first origin of a name, even if the registration of a later one sorts before it": {
    given: {
      upstream: anUpstreamState({ origin: anOrigin({ registration: "west", uid: "west-web" }) }),
      candidates: [aCandidate("east"), aCandidate("west")],
    },
    action: none,
    blockers: [{ registration: "east", reason: "NameTaken" }],
  },
  "never overwrites an object that was created upstream": {
    given: { upstream: anUpstreamState({ origin: undefined, hash: "own" }), candidates: [aCandidate("east")] },
    action: none,
    blockers: [{ registration: "east", reason: "NameTaken" }],
  },
  "reports no conflict for the same object when upstream is itself registered as a cluster": {
    given: {
      upstream: anUpstreamState({ origin: undefined, uid: "same" }),
      candidates: [aCandidate("self", aPresentState({ uid: "same" }))],
    },
    action: none,
  },
  "writes nothing while both sides are equal": {
    given: { upstream: anUpstreamState(), candidates: [aCandidate("east")] },
    action: none,
  },
  "updates upstream after a change on either side": {
    given: { upstream: anUpstreamState({ hash: "p2" }), candidates: [aCandidate("east")] },
    action: { kind: "update", registration: "east" },
  },
  "does not repeat an update that upstream stored differently": {
    given: {
      upstream: anUpstreamState({ hash: "pruned" }),
      candidates: [aCandidate("east")],
      acceptedDifference: { downstreamHash: "p1", upstreamHash: "pruned" },
    },
    action: none,
  },
  "updates upstream when it differs in another way than after the last update": {
    given: {
      upstream: anUpstreamState({ hash: "edited" }),
      candidates: [aCandidate("east")],
      acceptedDifference: { downstreamHash: "p1", upstreamHash: "pruned" },
    },
    action: { kind: "update", registration: "east" },
  },
  "updates upstream when the original was recreated under its name": {
    given: { upstream: anUpstreamState(), candidates: [aCandidate("east", aPresentState({ uid: "second" }))] },
    action: { kind: "update", registration: "east" },
  },
  "writes nothing while the original is being deleted": {
    given: {
      upstream: anUpstreamState({ hash: "p2" }),
      candidates: [aCandidate("east", aPresentState({ isDeleting: true }))],
    },
    action: none,
  },
  "waits for a deletion upstream to complete before it creates the object again": {
    given: { upstream: anUpstreamState({ isDeleting: true, hash: "p2" }), candidates: [aCandidate("east")] },
    action: none,
  },
  "deletes the upstream object when the cluster answers that the original is gone": {
    given: { upstream: anUpstreamState(), candidates: [aCandidate("east", { kind: "absent" })] },
    action: { kind: "delete", registration: "east" },
  },
  "deletes the upstream object when another object that is not upsynced has replaced the original": {
    given: { upstream: anUpstreamState(), candidates: [aCandidate("east", { kind: "other", uid: "controlled" })] },
    action: { kind: "delete", registration: "east" },
  },
  "keeps the upstream object when the original exists and is only no longer opted in": {
    given: { upstream: anUpstreamState(), candidates: [aCandidate("east", { kind: "other", uid: "east-web" })] },
    action: none,
  },
  "deletes nothing when the cluster of the original is unreachable": {
    given: {
      upstream: anUpstreamState(),
      candidates: [aCandidate("east", { kind: "unknown", isTransient: true, message: "timed out" })],
    },
    action: none,
  },
  "deletes nothing when the cluster no longer opts in": {
    given: { upstream: anUpstreamState(), candidates: [] },
    action: none,
  },
  "deletes nothing when another cluster does not have the object": {
    given: { upstream: anUpstreamState(), candidates: [aCandidate("east"), aCandidate("west", { kind: "absent" })] },
    action: none,
  },
  "never deletes an object that was created upstream": {
    given: { upstream: anUpstreamState({ origin: undefined }), candidates: [aCandidate("east", { kind: "absent" })] },
    action: none,
  },
  "holds the deletion when the deletion guard holds deletions": {
    given: {
      upstream: anUpstreamState(),
      candidates: [aCandidate("east", { kind: "absent" })],
      heldMessage: "40 of 50",
    },
    action: none,
    blockers: [{ registration: "east", reason: "DeletionsHeld" }],
  },
};

describe("the upsync decision for a name", () => {
  it.each(Object.entries(rows))("%s", (_, { given, action, blockers = [] }) => {
    const facts: UpsyncFacts = { upstream: undefined, candidates: [], hasNamespace: true, ...given };
    const before = structuredClone(facts);
    const plan = decide(facts);
    expect(plan.action).toEqual(action);
    expect(plan.blockers.map(({ registration, reason }) => ({ registration, reason }))).toEqual(blockers);
    expect(facts).toEqual(before);
    const reordered = decide({ ...facts, candidates: facts.candidates.toReversed() });
    expect(reordered).toEqual(plan);
  });
});
