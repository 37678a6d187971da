import { describe, expect, it } from "vitest";
import { decideRenewal, parseToken, type RenewalFacts } from "../../../lib/install/account-token.ts";

const hour = 3_600_000;
const token = { uid: "u1", issuedMs: 0, expiresMs: 100 * hour };
const facts: RenewalFacts = {
  written: { server: "https://kcp/clusters/root:tmc", ca: "pem", token },
  server: "https://kcp/clusters/root:tmc",
  ca: "pem",
  uid: "u1",
  nowMs: 49 * hour,
};
const written = (change: object): RenewalFacts["written"] => ({ server: facts.server, ca: "pem", token, ...change });

const cases: Readonly<Record<string, Readonly<{ given: Partial<RenewalFacts>; why: string | undefined }>>> = {
  "leaves one that is good for long": { given: {}, why: undefined },
  "renews one whose token is half through its life": {
    given: { nowMs: 50 * hour },
    why: "its token is half through its life",
  },
  "renews one whose token has ended": { given: { nowMs: 200 * hour }, why: "its token is half through its life" },
  "writes one where there is none": { given: { written: undefined }, why: "there is none" },
  "renews one that leads elsewhere": {
    given: { written: written({ server: "https://old/clusters/root:tmc" }) },
    why: "it is for another server",
  },
  "renews one that trusts another authority": {
    given: { written: written({ ca: "old" }) },
    why: "it is for another server",
  },
  "renews one of an account that was made anew": { given: { uid: "u2" }, why: "it is for another account" },
  "renews one without a token that it understands": {
    given: { written: written({ token: undefined }) },
    why: "it is for another account",
  },
};

describe("a service's kubeconfig", () => {
  it.each(Object.entries(cases))("%s", (_, { given, why }) => {
    expect(decideRenewal({ ...facts, ...given })).toBe(why);
  });
});

const encode = (claims: unknown): string => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.y`;
const account = { "kubernetes.io": { serviceaccount: { uid: "u1" } } };

describe("a token", () => {
  it.each<[string, string, object | undefined]>([
    ["of a service account", encode({ iat: 1, exp: 2, ...account }), { uid: "u1", issuedMs: 1000, expiresMs: 2000 }],
    ["that never ends", encode({ iat: 1, ...account }), undefined],
    ["of somebody else", encode({ iat: 1, exp: 2, sub: "alice" }), undefined],
    ["that is nonsense", "nonsense", undefined],
    ["that is empty", "", undefined],
    ["with claims that are no object", encode("text"), undefined],
  ])("%s", (_, text, expected) => {
    expect(parseToken(text)).toEqual(expected);
  });
});
