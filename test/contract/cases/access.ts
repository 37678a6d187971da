import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import {
  aClusterRole,
  aClusterRoleBinding,
  aConfigMap,
  configMaps,
  eventuallyOk,
  failureOf,
  rbac,
  refusal,
  reviews,
  secrets,
  tokenOfNewAccount,
  unique,
} from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

export function accessCases(room: MakeRoom): void {
  /** A service account of the room, with a token of its own and the rules of a role in the namespace. */
  const withAccount = async (rules: object[]): Promise<Room & { account: KubeClient; user: string }> => {
    const here = await room();
    const { client, namespace } = here;
    const token = await tokenOfNewAccount(client, namespace, "robot");
    if (rules.length > 0) {
      await client.create(
        { type: rbac("roles"), namespace },
        { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "r" }, rules },
      );
      await client.create(
        { type: rbac("rolebindings"), namespace },
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "RoleBinding",
          metadata: { name: "r" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
          subjects: [{ kind: "ServiceAccount", name: "robot", namespace }],
        },
      );
    }
    return {
      ...here,
      user: `system:serviceaccount:${namespace}:robot`,
      account: here.clientAs({ token: async () => token, certificate: undefined, key: undefined }),
    };
  };

  it("refuses a token it does not know", async () => {
    const { clientAs } = await room();
    const stranger = clientAs({ token: async () => "nonsense", certificate: undefined, key: undefined });
    const error = await failureOf(stranger.list({ type: configMaps, namespace: "default" }));
    expect(error).toMatchObject({ status: 401, fault: "unauthorized" });
    expect(error.body?.message).toBe("Unauthorized");
    await stranger.close();
  });

  it("lets a service account do what its role says, and says why it may not do more", async () => {
    const { account, namespace, client, user } = await withAccount([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] },
    ]);
    await client.create({ type: configMaps, namespace }, aConfigMap("a"));
    await eventuallyOk(() => account.get({ type: configMaps, namespace, name: "a" }));
    const failure = await refusal(account.delete({ type: configMaps, namespace, name: "a" }));
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain(
      `configmaps "a" is forbidden: User "${user}" cannot delete resource "configmaps" in API group "" in the namespace "${namespace}"`,
    );
    await account.close();
  });

  it("refuses other namespaces and cluster-wide lists to a role of one namespace", async () => {
    const { account, namespace, user } = await withAccount([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
    ]);
    await eventuallyOk(() => account.list({ type: configMaps, namespace }));
    expect(await refusal(account.list({ type: configMaps, namespace: "default" }))).toMatchObject({ status: 403 });
    const { message } = await refusal(account.list({ type: configMaps }));
    expect(message).toContain(
      `configmaps is forbidden: User "${user}" cannot list resource "configmaps" in API group "" at the cluster scope`,
    );
    await account.close();
  });

  it("limits a rule to the names it lists", async () => {
    const { account, namespace, client } = await withAccount([
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"], verbs: ["get"] },
    ]);
    await client.create({ type: secrets, namespace }, { apiVersion: "v1", kind: "Secret", metadata: { name: "mine" } });
    await eventuallyOk(() => account.get({ type: secrets, namespace, name: "mine" }));
    expect(await refusal(account.get({ type: secrets, namespace, name: "other" }))).toMatchObject({ status: 403 });
    await account.close();
  });

  it("answers a SelfSubjectReview", async () => {
    const { account, user } = await withAccount([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
    const review = await eventuallyOk(() =>
      account.create<KubeObject & { status: { userInfo: { username: string; groups: string[] } } }>(
        { type: { group: "authentication.k8s.io", version: "v1", plural: "selfsubjectreviews" } },
        { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      ),
    );
    expect(review.status.userInfo.username).toBe(user);
    expect(review.status.userInfo.groups).toEqual(
      expect.arrayContaining(["system:serviceaccounts", "system:authenticated"]),
    );
    await account.close();
  });

  it("answers a SelfSubjectAccessReview", async () => {
    const { account, namespace } = await withAccount([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
    const may = async (verb: string): Promise<boolean> => {
      const review = await account.create<KubeObject & { status: { allowed: boolean } }>(
        { type: reviews("selfsubjectaccessreviews") },
        {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec: { resourceAttributes: { namespace, verb, resource: "configmaps" } },
        },
      );
      return review.status.allowed;
    };
    await eventuallyOk(async () => expect(await may("get")).toBe(true));
    expect(await may("delete")).toBe(false);
    await account.close();
  });

  it("answers a SubjectAccessReview", async () => {
    const { client, namespace, user, account } = await withAccount([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
    ]);
    const ask = (verb: string) =>
      client.create<KubeObject & { status: { allowed: boolean } }>(
        { type: reviews("subjectaccessreviews") },
        {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: {
            user,
            groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
            resourceAttributes: { namespace, verb, resource: "configmaps" },
          },
        },
      );
    await eventuallyOk(async () => expect((await ask("get")).status.allowed).toBe(true));
    expect((await ask("update")).status.allowed).toBe(false);
    await account.close();
  });

  it("lists the rules of a caller", async () => {
    const { account, namespace } = await withAccount([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
    await eventuallyOk(async () => {
      const review = await account.create<KubeObject & { status: { resourceRules: object[] } }>(
        { type: reviews("selfsubjectrulesreviews") },
        { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } },
      );
      expect(review.status.resourceRules).toContainEqual({
        verbs: ["get"],
        apiGroups: [""],
        resources: ["configmaps"],
      });
    });
    await account.close();
  });

  it("gives cluster-wide rights through a cluster role binding", async () => {
    const { account, client, namespace } = await withAccount([]);
    const name = unique("reader");
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    await client.create({ type: rbac("clusterroles") }, aClusterRole(name, rules));
    await client.create({ type: rbac("clusterrolebindings") }, aClusterRoleBinding(name, { name: "robot", namespace }));
    await eventuallyOk(() => account.list({ type: configMaps }, { limit: 1 }));
    await client.delete({ type: rbac("clusterrolebindings"), name });
    await client.delete({ type: rbac("clusterroles"), name });
    await account.close();
  });

  it("impersonates a user for a caller with that permission", async () => {
    const { clientAs, namespace } = await room();
    const other = clientAs({ impersonate: { user: "mallory", groups: ["system:authenticated"] } });
    const failure = await refusal(other.list({ type: configMaps, namespace }));
    expect(failure).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(failure.message).toContain('User "mallory" cannot list resource "configmaps"');
    await other.close();
  });

  it("refuses a change of a binding's role", async () => {
    const { client, namespace } = await withAccount([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
    const failure = await refusal(
      client.patch(
        { type: rbac("rolebindings"), namespace, name: "r" },
        { type: "merge", body: { roleRef: { name: "other" } } },
      ),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain("cannot change roleRef");
  });
}
