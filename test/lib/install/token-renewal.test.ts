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
  "keeps a kubeconfig whose token is in the first half of its lifetime": { given: {}, why: undefined },
  "renews a kubeconfig whose token has passed half of its lifetime": {
    given: { nowMs: 50 * hour },
    why: "its token has passed half of its lifetime",
  },
  "renews a kubeconfig whose token has expired": {
    given: { nowMs: 200 * hour },
    why: "its token has passed half of its lifetime",
  },
  "writes a missing kubeconfig": { given: { written: undefined }, why: "it does not exist" },
  "renews a kubeconfig for another server": {
    given: { written: written({ server: "https://old/clusters/root:tmc" }) },
    why: "it is for another server",
  },
  "renews a kubeconfig with another CA": {
    given: { written: written({ ca: "old" }) },
    why: "it is for another server",
  },
  "renews a kubeconfig of a service account that was recreated": {
    given: { uid: "u2" },
    why: "it is for another account",
  },
  "renews a kubeconfig whose token cannot be parsed": {
    given: { written: written({ token: undefined }) },
    why: "it is for another account",
  },
};

describe("kubeconfig renewal", () => {
  it.each(Object.entries(cases))("%s", (_, { given, why }) => {
    expect(decideRenewal({ ...facts, ...given })).toBe(why);
  });
});

const encode = (claims: unknown): string => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.y`;
const account = { "kubernetes.io": { serviceaccount: { uid: "u1" } } };

describe("parseToken", () => {
  it.each<[string, string, object | undefined]>([
    [
      "parses a service account token",
      encode({ iat: 1, exp: 2, ...account }),
      { uid: "u1", issuedMs: 1000, expiresMs: 2000 },
    ],
    ["rejects a token without expiry", encode({ iat: 1, ...account }), undefined],
    ["rejects a token that is not of a service account", encode({ iat: 1, exp: 2, sub: "alice" }), undefined],
    ["rejects a string that is not a JWT", "nonsense", undefined],
    ["rejects an empty token", "", undefined],
    ["rejects claims that are not an object", encode("text"), undefined],
  ])("%s", (_, text, expected) => {
    expect(parseToken(text)).toEqual(expected);
  });
});
