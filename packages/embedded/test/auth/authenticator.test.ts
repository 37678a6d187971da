import { describe, expect, it } from "vitest";
import { anonymous, createAuthenticator } from "../../src/auth/authenticator.ts";
import { createServiceAccountTokens } from "../../src/auth/service-account-tokens.ts";
import type { Attributes } from "../../src/server/frontend.ts";
import type { ApiRequest, User } from "../../src/server/http.ts";

const start = Date.parse("2026-11-16T12:00:00Z");
const builder = { logicalCluster: "c1", namespace: "default", name: "builder", uid: "u1" };

function aRequest(headers: Record<string, string> = {}, certificate?: ApiRequest["certificate"]): ApiRequest {
  const { signal } = new AbortController();
  return { method: "GET", path: "/api", query: new URLSearchParams(), headers, body: "", signal, certificate };
}

function aWorld() {
  const serviceAccountTokens = createServiceAccountTokens();
  const world = {
    now: start,
    uids: new Map([["default/builder", "u1"]]),
    asked: [] as Attributes[],
    impersonators: new Set(["root"]),
    serviceAccountTokens,
  };
  const authenticator = createAuthenticator({
    now: () => world.now,
    tokens: new Map<string, User>([
      ["root-token", { name: "root", groups: ["system:masters"] }],
      ["bob-token", { name: "bob", groups: ["devs"] }],
    ]),
    serviceAccountTokens,
    findServiceAccount: ({ namespace, name }) => world.uids.get(`${namespace}/${name}`),
    mayImpersonate: (user, attributes) => {
      world.asked.push(attributes);
      return { allowed: world.impersonators.has(user.name), reason: "" };
    },
  });
  return { world, authenticate: (request: ApiRequest) => authenticator.authenticate(request) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("an authenticator", () => {
  it("authenticates users by their tokens", () => {
    const { authenticate } = aWorld();
    expect(authenticate(aRequest(bearer("bob-token")))).toEqual({
      name: "bob",
      groups: ["devs", "system:authenticated"],
    });
  });

  it("authenticates users by their certificates", () => {
    const { authenticate } = aWorld();
    const request = aRequest({}, { user: "carol", groups: ["ops"] });
    expect(authenticate(request)).toEqual({ name: "carol", groups: ["ops", "system:authenticated"] });
  });

  it("treats a request without credentials as anonymous", () => {
    expect(aWorld().authenticate(aRequest())).toEqual(anonymous);
  });

  it("rejects an unknown token instead of treating the request as anonymous", () => {
    const { authenticate } = aWorld();
    expect(() => authenticate(aRequest(bearer("guess")))).toThrow(
      expect.objectContaining({ message: "Unauthorized", status: expect.objectContaining({ code: 401 }) }),
    );
  });

  it("authenticates a service account by a token that was issued for it", () => {
    const { world, authenticate } = aWorld();
    const token = world.serviceAccountTokens.issue(builder, { now: start, expirationSeconds: 600 });
    expect(authenticate(aRequest(bearer(token)))).toMatchObject({
      name: "system:serviceaccount:default:builder",
      uid: "u1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
  });

  it.each([
    ["has expired", (world: ReturnType<typeof aWorld>["world"]) => (world.now = start + 600_000)],
    ["is of an account that is gone", (world: ReturnType<typeof aWorld>["world"]) => world.uids.clear()],
    [
      "is of an earlier account of that name",
      (world: ReturnType<typeof aWorld>["world"]) => world.uids.set("default/builder", "u2"),
    ],
  ])("rejects a service account token that %s", (_name, change) => {
    const { world, authenticate } = aWorld();
    const token = world.serviceAccountTokens.issue(builder, { now: start, expirationSeconds: 600 });
    change(world);
    expect(() => authenticate(aRequest(bearer(token)))).toThrow("Unauthorized");
  });

  it("rejects a token that was modified or issued by another server", () => {
    const { world, authenticate } = aWorld();
    const [head, , signature] = world.serviceAccountTokens.issue(builder, { now: start }).split(".");
    const claims = Buffer.from(JSON.stringify({ "kubernetes.io": { namespace: "default" } })).toString("base64url");
    expect(() => authenticate(aRequest(bearer(`${head}.${claims}.${signature}`)))).toThrow("Unauthorized");
    const foreign = createServiceAccountTokens().issue(builder, { now: start });
    expect(() => authenticate(aRequest(bearer(foreign)))).toThrow("Unauthorized");
  });

  it("authorizes the impersonated user and each impersonated group separately", () => {
    const { world, authenticate } = aWorld();
    const request = aRequest({
      ...bearer("root-token"),
      "impersonate-user": "bob",
      "impersonate-group": "devs, ops",
      "impersonate-extra-scopes": "view",
    });
    expect(authenticate(request)).toEqual({
      name: "bob",
      groups: ["devs", "ops", "system:authenticated"],
      extra: { scopes: ["view"] },
    });
    expect(world.asked.map(({ resource, subresource, name }) => [resource, subresource, name])).toEqual([
      ["users", "", "bob"],
      ["groups", "", "devs"],
      ["groups", "", "ops"],
      ["userextras", "scopes", "view"],
    ]);
  });

  it("adds the groups of an impersonated service account", () => {
    const { world, authenticate } = aWorld();
    const request = aRequest({ ...bearer("root-token"), "impersonate-user": "system:serviceaccount:default:builder" });
    expect(authenticate(request).groups).toContain("system:serviceaccounts:default");
    expect(world.asked).toMatchObject([{ resource: "serviceaccounts", namespace: "default", name: "builder" }]);
  });

  it("rejects impersonation by users without the permission", () => {
    const { authenticate } = aWorld();
    expect(() => authenticate(aRequest({ ...bearer("bob-token"), "impersonate-user": "root" }))).toThrow(
      'users "root" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });

  it("rejects impersonated groups without a user", () => {
    const { authenticate } = aWorld();
    expect(() => authenticate(aRequest({ ...bearer("root-token"), "impersonate-group": "devs" }))).toThrow(
      "without impersonating a user",
    );
  });
});
