import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import type { Access } from "../../src/auth/access.ts";
import { createReviews } from "../../src/auth/reviews.ts";
import { createServiceAccountTokens } from "../../src/auth/service-account-tokens.ts";
import { aContext } from "../builtin/fixed-access.ts";

/** Alice may read pods in all logical clusters except "closed". */
const access: Access = {
  decide: (cluster, user, { verb, resource, path }) => ({
    allowed:
      cluster !== "closed" && user.name === "alice" && (path === "/healthz" || (verb === "get" && resource === "pods")),
    reason: resource === "pods" ? "because" : "",
  }),
  rules: () => [
    { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"], nonResourceURLs: [] },
    { verbs: ["get"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["/healthz"] },
  ],
  authenticateToken: (token) => (token === "good" ? { name: "bob", groups: ["devs"] } : undefined),
  serviceAccountTokens: createServiceAccountTokens("https://issuer"),
};

const reviews = createReviews(access);

function ask(plural: string, kind: string, spec?: object, context = aContext(), namespace?: string): KubeObject {
  const group = kind.includes("Access") || kind.includes("Rules") ? "authorization.k8s.io" : "authentication.k8s.io";
  const metadata = namespace === undefined ? {} : { namespace };
  const object = { apiVersion: `${group}/v1`, kind, metadata, ...(spec === undefined ? {} : { spec }) };
  const answer = reviews[plural]?.(object, context);
  if (answer === undefined) throw new Error(`${plural} are not answered`);
  return answer;
}

const readPods = { resourceAttributes: { verb: "get", resource: "pods" } };

describe("reviews", () => {
  it("answer what the user may do", () => {
    const answer = ask("selfsubjectaccessreviews", "SelfSubjectAccessReview", readPods);
    expect(answer).toMatchObject({ spec: readPods, status: { allowed: true, reason: "because" } });
  });

  it("evaluate the permissions of the logical cluster they were sent to", () => {
    const context = aContext({ logicalCluster: "closed" });
    expect(ask("selfsubjectaccessreviews", "SelfSubjectAccessReview", readPods, context).status).toMatchObject({
      allowed: false,
    });
  });

  it("evaluate non-resource paths", () => {
    const spec = { nonResourceAttributes: { verb: "get", path: "/healthz" } };
    expect(ask("selfsubjectaccessreviews", "SelfSubjectAccessReview", spec).status).toEqual({ allowed: true });
  });

  it("answer for another user", () => {
    const spec = { ...readPods, user: "bob" };
    expect(ask("subjectaccessreviews", "SubjectAccessReview", spec).status).toMatchObject({ allowed: false });
  });

  it.each([
    [
      "selfsubjectaccessreviews",
      "SelfSubjectAccessReview",
      {},
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ],
    ["subjectaccessreviews", "SubjectAccessReview", readPods, "at least one of user or group must be specified"],
    [
      "localsubjectaccessreviews",
      "LocalSubjectAccessReview",
      { ...readPods, user: "bob" },
      "must match metadata.namespace",
    ],
  ])("are rejected if they are invalid: %s", (plural, kind, spec, why) => {
    expect(() => ask(plural, kind, spec, aContext(), "default")).toThrow(why);
  });

  it("list the rules of a user", () => {
    expect(ask("selfsubjectrulesreviews", "SelfSubjectRulesReview", { namespace: "default" }).status).toEqual({
      resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] }],
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
      incomplete: false,
    });
  });

  it("return the identity of the user", () => {
    const context = aContext({ user: { name: "alice", uid: "7", groups: ["devs"], extra: { scopes: ["a"] } } });
    expect(ask("selfsubjectreviews", "SelfSubjectReview", undefined, context).status).toEqual({
      userInfo: { username: "alice", uid: "7", groups: ["devs"], extra: { scopes: ["a"] } },
    });
  });

  it("return the user of a token", () => {
    expect(ask("tokenreviews", "TokenReview", { token: "good" }).status).toEqual({
      authenticated: true,
      user: { username: "bob", groups: ["devs"] },
      audiences: ["https://issuer"],
    });
    expect(ask("tokenreviews", "TokenReview", { token: "bad" }).status).toEqual({
      user: {},
      error: "invalid bearer token",
    });
  });
});
