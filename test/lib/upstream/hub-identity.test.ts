import { describe, expect, it, test } from "vitest";
import {
  acceptedRecord,
  decideHubIdentity,
  type HubFacts,
  type HubIdentityDecision,
  hubIdPattern,
  renewedRecord,
} from "../../../lib/upstream/hub-identity.ts";

const here = "https://prod.example.com:6443";
const elsewhere = "https://staging.example.com:6443";
const record = { id: "abc", uid: "u1", servers: [here] };
const fresh: HubFacts = { record: undefined, uid: "u1", rootUid: undefined, server: here, recordedIds: [] };
const known: HubFacts = { ...fresh, record };

const rows: Readonly<Record<string, [facts: HubFacts, expected: Partial<HubIdentityDecision> | RegExp]>> = {
  "the stored id at the known address": [known, { kind: "known", id: "abc" }],
  "the stored id at one of several addresses": [
    { ...known, record: { ...record, servers: [elsewhere, here] } },
    { kind: "known", id: "abc" },
  ],
  "the stored id, whatever sync records say": [
    { ...known, recordedIds: ["kcp"] },
    { kind: "known", id: "abc" },
  ],
  "the stored id if the uid cannot be read": [
    { ...known, uid: undefined },
    { kind: "known", id: "abc" },
  ],
  "the stored id if no uid was stored": [
    { ...known, record: { ...record, uid: undefined } },
    { kind: "known", id: "abc" },
  ],
  "a record without an address gets the first one that is used": [
    { ...known, record: { ...record, servers: [] } },
    { kind: "store", record },
  ],
  "a restored copy with another address": [
    { ...known, server: elsewhere },
    /^HubIdentityChanged: its known address is https:\/\/prod\.example\.com:6443, and it was reached at https:\/\/staging/,
  ],
  "a record that was copied to another hub": [{ ...known, uid: "u2" }, /^HubIdentityChanged: .*another uid/],
  "a record that cannot be parsed": [{ ...known, record: "invalid" }, /^HubIdentityUnknown: .*--hub-id/],
  "the id of existing sync records, so that their copies stay": [
    { ...fresh, recordedIds: ["kcp"] },
    { kind: "store", record: { id: "kcp", uid: "u1", servers: [here] } },
  ],
  "sync records with several ids": [{ ...fresh, recordedIds: ["kcp", "abc"] }, /^HubIdentityUnknown: .*kcp, abc/],
  "nothing to derive an id from": [
    { ...fresh, uid: undefined },
    /^HubIdentityUnknown: its uid cannot be read.*--hub-id/,
  ],
  "a new hub whose address its first process stores": [
    { ...fresh, server: undefined, recordedIds: ["kcp"] },
    { kind: "store", record: { id: "kcp", uid: "u1", servers: [] } },
  ],
};

describe("decideHubIdentity", () => {
  it.each(Object.entries(rows))("%s", (_, [facts, expected]) => {
    const decision = decideHubIdentity(facts);
    if (!(expected instanceof RegExp)) return expect(decision).toEqual(expected);
    expect(decision.kind === "refused" ? `${decision.reason}: ${decision.message}` : decision).toMatch(expected);
  });

  const newId = (facts: Partial<HubFacts>): string => {
    const decision = decideHubIdentity({ ...fresh, ...facts });
    return decision.kind === "store" ? decision.record.id : decision.kind;
  };

  it("a new id is derived from the uid of the root workspace, or else of the hub, and is a valid id", () => {
    expect(newId({ uid: "u2" })).not.toBe(newId({}));
    expect(newId({ uid: "u1", rootUid: "r" })).toBe(newId({ uid: "u2", rootUid: "r" }));
    expect(newId({})).toMatch(hubIdPattern);
    expect(newId({})).not.toBe("kcp");
  });

  it("a stored decision is known the next time", () => {
    for (const [facts] of Object.values(rows)) {
      const decision = decideHubIdentity(facts);
      if (decision.kind !== "store") continue;
      const again = decideHubIdentity({ ...facts, record: decision.record });
      expect(again).toEqual({ kind: "known", id: decision.record.id });
    }
  });

  test("an accepted address is known, and the earlier ones stay", () => {
    const accepted = acceptedRecord(record, { uid: "u2", server: elsewhere });
    expect(accepted).toEqual({ id: "abc", uid: "u2", servers: [here, elsewhere] });
    expect(acceptedRecord(accepted, { uid: "u2", server: here })).toEqual(accepted);
    expect(decideHubIdentity({ ...known, record: accepted, uid: "u2", server: elsewhere }).kind).toBe("known");
  });

  test("a renewed identity has another id and only the current address", () => {
    const renewed = renewedRecord({ uid: "u1", server: elsewhere, seed: "random" });
    expect(renewed).toMatchObject({ uid: "u1", servers: [elsewhere] });
    expect(renewed.id).toMatch(hubIdPattern);
    expect(renewed.id).not.toBe(renewedRecord({ uid: "u1", server: elsewhere, seed: "other" }).id);
  });
});
