import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { bootstrapRoles } from "../../src/auth/bootstrap-roles.ts";
import { combinedRbac, forbiddenRequest, isAllowed, type RbacSource, rulesOf } from "../../src/auth/rbac.ts";
import type { Attributes } from "../../src/server/frontend.ts";
import type { User } from "../../src/server/http.ts";

const bob: User = { name: "bob", groups: ["devs", "system:authenticated"] };

function wants(attributes: Partial<Attributes>): Attributes {
  const none = {
    verb: "get",
    group: "",
    version: "v1",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
    path: "",
  };
  return { ...none, ...attributes };
}

const role = (name: string, rules: object[], more: object = {}): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
  ...more,
});
const binding = (name: string, kind: string, roleName: string, subject: object): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { kind, name: roleName },
  subjects: [subject],
});

type Given = {
  clusterRoles?: KubeObject[];
  clusterRoleBindings?: KubeObject[];
  roles?: KubeObject[];
  roleBindings?: KubeObject[];
};

/** Roles and role bindings are those of the namespace "default". */
function aSource({ clusterRoles = [], clusterRoleBindings = [], roles = [], roleBindings = [] }: Given): RbacSource {
  return {
    clusterRoles: () => clusterRoles,
    clusterRoleBindings: () => clusterRoleBindings,
    roles: (namespace) => (namespace === "default" ? roles : []),
    roleBindings: (namespace) => (namespace === "default" ? roleBindings : []),
  };
}

const toBob = { kind: "User", name: "bob" };
const everywhere = (rules: object[]) =>
  aSource({ clusterRoles: [role("r", rules)], clusterRoleBindings: [binding("b", "ClusterRole", "r", toBob)] });

const rules: Record<string, { rule: object; asked: Partial<Attributes>; allowed: boolean }> = {
  "allows what a rule names": {
    rule: { verbs: ["get"], apiGroups: ["apps"], resources: ["deployments"] },
    asked: { group: "apps", resource: "deployments" },
    allowed: true,
  },
  "refuses another verb": {
    rule: { verbs: ["get"], apiGroups: ["apps"], resources: ["deployments"] },
    asked: { verb: "list", group: "apps", resource: "deployments" },
    allowed: false,
  },
  "refuses another group": {
    rule: { verbs: ["get"], apiGroups: [""], resources: ["deployments"] },
    asked: { group: "apps", resource: "deployments" },
    allowed: false,
  },
  "takes stars for everything, subresources too": {
    rule: { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    asked: { verb: "patch", group: "apps", resource: "deployments", subresource: "status" },
    allowed: true,
  },
  "does not give a subresource with its resource": {
    rule: { verbs: ["get"], apiGroups: ["apps"], resources: ["deployments"] },
    asked: { group: "apps", resource: "deployments", subresource: "status" },
    allowed: false,
  },
  "does not give a resource with its subresource": {
    rule: { verbs: ["get"], apiGroups: ["apps"], resources: ["deployments/status"] },
    asked: { group: "apps", resource: "deployments" },
    allowed: false,
  },
  "gives one subresource of everything": {
    rule: { verbs: ["get"], apiGroups: ["apps"], resources: ["*/scale"] },
    asked: { group: "apps", resource: "deployments", subresource: "scale" },
    allowed: true,
  },
  "holds a rule to its names": {
    rule: { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["a"] },
    asked: { resource: "secrets", name: "b" },
    allowed: false,
  },
  "does not list by name": {
    rule: { verbs: ["list"], apiGroups: [""], resources: ["secrets"], resourceNames: ["a"] },
    asked: { verb: "list", resource: "secrets" },
    allowed: false,
  },
  "allows paths below a star": {
    rule: { verbs: ["get"], nonResourceURLs: ["/healthz/*"] },
    asked: { path: "/healthz/etcd" },
    allowed: true,
  },
  "does not take a path for one below it": {
    rule: { verbs: ["get"], nonResourceURLs: ["/healthz"] },
    asked: { path: "/healthz/etcd" },
    allowed: false,
  },
};

describe("isAllowed", () => {
  it.each(Object.entries(rules))("%s", (_name, { rule, asked, allowed }) => {
    expect(isAllowed(everywhere([rule]), bob, wants(asked)).allowed).toBe(allowed);
  });

  const readPods = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };

  it("names the binding that allowed a request", () => {
    const asked = wants({ resource: "pods", namespace: "default" });
    expect(isAllowed(everywhere([readPods]), bob, asked).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "bob"',
    );
    const local = aSource({
      roles: [role("r", [readPods])],
      roleBindings: [binding("b", "Role", "r", { kind: "ServiceAccount", name: "x" })],
    });
    const account = { name: "system:serviceaccount:default:x", groups: [] };
    expect(isAllowed(local, account, asked)).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/default" of Role "r" to ServiceAccount "x/default"',
    });
  });

  it("limits the grants of a RoleBinding to its namespace", () => {
    const local = aSource({
      clusterRoles: [role("r", [readPods])],
      roleBindings: [binding("b", "ClusterRole", "r", toBob)],
    });
    expect(isAllowed(local, bob, wants({ resource: "pods", namespace: "default" })).allowed).toBe(true);
    expect(isAllowed(local, bob, wants({ resource: "pods", namespace: "other" })).allowed).toBe(false);
    expect(isAllowed(local, bob, wants({ resource: "pods" })).allowed).toBe(false);
  });

  it("grants permissions to groups", () => {
    const source = aSource({
      clusterRoles: [role("r", [readPods])],
      clusterRoleBindings: [binding("b", "ClusterRole", "r", { kind: "Group", name: "devs" })],
    });
    expect(isAllowed(source, bob, wants({ resource: "pods" })).allowed).toBe(true);
    expect(isAllowed(source, { name: "eve", groups: [] }, wants({ resource: "pods" })).allowed).toBe(false);
  });

  it("names a role that is missing", () => {
    const source = aSource({ clusterRoleBindings: [binding("b", "ClusterRole", "gone", toBob)] });
    expect(isAllowed(source, bob, wants({ resource: "pods" }))).toEqual({
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
  });

  it("gives an aggregated role the rules of the roles it selects, also if they select each other", () => {
    const selectors = { clusterRoleSelectors: [{ matchLabels: { into: "all" } }] };
    const part = { ...role("part", [readPods]), metadata: { name: "part", labels: { into: "all" } } };
    const whole = {
      ...role("whole", [], { aggregationRule: selectors }),
      metadata: { name: "whole", labels: { into: "all" } },
    };
    const source = aSource({
      clusterRoles: [whole, part],
      clusterRoleBindings: [binding("b", "ClusterRole", "whole", toBob)],
    });
    expect(isAllowed(source, bob, wants({ resource: "pods" })).allowed).toBe(true);
  });

  it("allows system:masters everything without a role", () => {
    const master = { name: "root", groups: ["system:masters"] };
    expect(isAllowed(aSource({}), master, wants({ verb: "delete", resource: "nodes" })).allowed).toBe(true);
    expect(rulesOf(aSource({}), master, "")).toHaveLength(2);
  });
});

describe("forbidden", () => {
  const cases: [Partial<Attributes>, string][] = [
    [
      { group: "apps", resource: "deployments", namespace: "default", name: "web" },
      'deployments.apps "web" is forbidden: User "bob" cannot get resource "deployments" in API group "apps" in the namespace "default"',
    ],
    [
      { verb: "list", resource: "nodes" },
      'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope',
    ],
    [
      { verb: "patch", group: "apps", resource: "deployments", subresource: "status", namespace: "a", name: "web" },
      'deployments.apps "web" is forbidden: User "bob" cannot patch resource "deployments/status" in API group "apps" in the namespace "a"',
    ],
    [{ path: "/metrics" }, 'forbidden: User "bob" cannot get path "/metrics"'],
  ];
  it.each(cases)("formats the message for %o", (asked, message) => {
    expect(forbiddenRequest(bob, wants(asked))).toMatchObject({ message, status: { code: 403, reason: "Forbidden" } });
  });
});

describe("the bootstrap roles of a cluster", () => {
  const { clusterRoles, clusterRoleBindings } = bootstrapRoles();
  const grantedTo = (name: string) =>
    combinedRbac(
      aSource({ clusterRoles: [...clusterRoles], clusterRoleBindings: [...clusterRoleBindings] }),
      aSource({ roleBindings: [binding("b", "ClusterRole", name, toBob)] }),
    );
  const cases: [string, Partial<Attributes>, boolean][] = [
    ["view", { resource: "pods", namespace: "default" }, true],
    ["view", { resource: "secrets", namespace: "default" }, false],
    ["edit", { verb: "create", group: "apps", resource: "deployments", namespace: "default" }, true],
    ["edit", { verb: "create", group: "rbac.authorization.k8s.io", resource: "roles", namespace: "default" }, false],
    ["admin", { verb: "create", group: "rbac.authorization.k8s.io", resource: "roles", namespace: "default" }, true],
    ["admin", { verb: "list", resource: "nodes" }, false],
    ["cluster-admin", { verb: "delete", resource: "pods", namespace: "default" }, true],
    ["view", { path: "/api" }, true],
    ["view", { path: "/metrics" }, false],
    ["view", { verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" }, true],
  ];
  it.each(cases)("a user with %s and the request %o: %s", (name, asked, allowed) => {
    expect(isAllowed(grantedTo(name), bob, wants(asked)).allowed).toBe(allowed);
  });
});
