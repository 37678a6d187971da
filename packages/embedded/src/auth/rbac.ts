import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { type MutableFields, recordsAt, textsAt } from "../machinery/fields.ts";
import type { Attributes } from "../server/frontend.ts";
import type { User } from "../server/http.ts";
import type { Store } from "../storage/store.ts";

export type RbacRule = Readonly<{
  verbs: readonly string[];
  apiGroups: readonly string[];
  resources: readonly string[];
  resourceNames: readonly string[];
  nonResourceURLs: readonly string[];
}>;

/** The roles and bindings of one logical cluster, or of a Kubernetes cluster. */
export interface RbacSource {
  clusterRoles(): readonly KubeObject[];
  clusterRoleBindings(): readonly KubeObject[];
  roles(namespace: string): readonly KubeObject[];
  roleBindings(namespace: string): readonly KubeObject[];
}

export type AccessDecision = Readonly<{ allowed: boolean; reason: string }>;

/** Members of this group are allowed everything; RBAC is not consulted. */
export const privilegedGroup = "system:masters";

/** Decides by the roles that are bound to a user. The reason is the one that a real server gives. */
export function isAllowed(source: RbacSource, user: User, attributes: Attributes): AccessDecision {
  if (user.groups.includes(privilegedGroup)) return { allowed: true, reason: "" };
  const errors: string[] = [];
  for (const grant of grantsOf(source, user, attributes.namespace, errors)) {
    const rule = grant.rules.find((candidate) => ruleAllows(candidate, attributes));
    if (rule !== undefined) return { allowed: true, reason: `RBAC: allowed by ${grant.origin}` };
  }
  return { allowed: false, reason: errors.length === 0 ? "" : `RBAC: ${joinErrors(errors)}` };
}

/** Lists every rule that applies to a user in a namespace; with an empty namespace, only cluster-wide rules. */
export function rulesOf(source: RbacSource, user: User, namespace: string): RbacRule[] {
  const all: RbacRule = {
    verbs: ["*"],
    apiGroups: ["*"],
    resources: ["*"],
    resourceNames: [],
    nonResourceURLs: [],
  };
  const everything = user.groups.includes(privilegedGroup)
    ? [all, { ...all, apiGroups: [], resources: [], nonResourceURLs: ["*"] }]
    : [];
  return [...everything, ...grantsOf(source, user, namespace, []).flatMap(({ rules }) => rules)];
}

/** The 403 for a denied request, with the message of a real server. */
export function forbiddenRequest(user: User, attributes: Attributes, reason = ""): ApiFailure {
  const why = `${describeDenial(user, attributes)}${reason === "" ? "" : `: ${reason}`}`;
  if (attributes.resource === "") return new ApiFailure(403, "Forbidden", `forbidden: ${why}`, {});
  const { group, resource, name } = attributes;
  const qualified = group === "" ? resource : `${resource}.${group}`;
  return new ApiFailure(
    403,
    "Forbidden",
    name === "" ? `${qualified} is forbidden: ${why}` : `${qualified} ${JSON.stringify(name)} is forbidden: ${why}`,
    { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: resource },
  );
}

function describeDenial(user: User, { verb, group, resource, subresource, namespace, path }: Attributes): string {
  const subject = `User ${JSON.stringify(user.name)} cannot ${verb}`;
  if (resource === "") return `${subject} path ${JSON.stringify(path)}`;
  const what = JSON.stringify(subresource === "" ? resource : `${resource}/${subresource}`);
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return `${subject} resource ${what} in API group ${JSON.stringify(group)} ${where}`;
}

/** Reads the roles of one logical cluster from the store. */
export function storedRbac(store: Pick<Store, "list">, logicalCluster: string): RbacSource {
  const group = "rbac.authorization.k8s.io";
  return {
    clusterRoles: () => store.list(`clusterroles.${group}`, { logicalCluster }),
    clusterRoleBindings: () => store.list(`clusterrolebindings.${group}`, { logicalCluster }),
    roles: (namespace) => store.list(`roles.${group}`, { logicalCluster, namespace }),
    roleBindings: (namespace) => store.list(`rolebindings.${group}`, { logicalCluster, namespace }),
  };
}

/** Combines several sources: kcp adds common roles to those of each workspace. */
export function combinedRbac(...sources: readonly RbacSource[]): RbacSource {
  return {
    clusterRoles: () => sources.flatMap((source) => source.clusterRoles()),
    clusterRoleBindings: () => sources.flatMap((source) => source.clusterRoleBindings()),
    roles: (namespace) => sources.flatMap((source) => source.roles(namespace)),
    roleBindings: (namespace) => sources.flatMap((source) => source.roleBindings(namespace)),
  };
}

type Grant = Readonly<{ origin: string; rules: readonly RbacRule[] }>;

function grantsOf(source: RbacSource, user: User, namespace: string, errors: string[]): Grant[] {
  const scopes = [
    { bindings: source.clusterRoleBindings(), scope: "" },
    ...(namespace === "" ? [] : [{ bindings: source.roleBindings(namespace), scope: namespace }]),
  ];
  return scopes.flatMap(({ bindings, scope }) =>
    bindings.flatMap((binding) => {
      const subject = recordsAt(binding, "subjects").find((candidate) => isSubject(candidate, user, scope));
      if (subject === undefined) return [];
      const kind = textAt(binding, "roleRef", "kind");
      const name = textAt(binding, "roleRef", "name");
      const role = (kind === "Role" ? source.roles(scope) : source.clusterRoles()).find(
        (candidate) => candidate.metadata.name === name,
      );
      if (role === undefined) {
        errors.push(`${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`);
        return [];
      }
      const bindingName = scope === "" ? binding.metadata.name : `${binding.metadata.name}/${scope}`;
      const origin = `${scope === "" ? "ClusterRoleBinding" : "RoleBinding"} ${JSON.stringify(bindingName)} of ${kind} ${JSON.stringify(name)} to ${describeSubject(subject, scope)}`;
      return [{ origin, rules: kind === "Role" ? ownRules(role) : rulesOfClusterRole(source, role) }];
    }),
  );
}

function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? distinct.join("") : `[${distinct.join(", ")}]`;
}

function describeSubject(subject: MutableFields, scope: string): string {
  const name = textAt(subject, "name");
  const full = subject.kind === "ServiceAccount" ? `${name}/${textAt(subject, "namespace") || scope}` : name;
  return `${textAt(subject, "kind")} ${JSON.stringify(full)}`;
}

function isSubject(subject: MutableFields, user: User, scope: string): boolean {
  const name = textAt(subject, "name");
  switch (subject.kind) {
    case "User":
      return user.name === name;
    case "Group":
      return user.groups.includes(name);
    case "ServiceAccount": {
      const namespace = textAt(subject, "namespace") || scope;
      return namespace !== "" && user.name === `system:serviceaccount:${namespace}:${name}`;
    }
    default:
      return false;
  }
}

function ownRules(role: KubeObject): RbacRule[] {
  return recordsAt(role, "rules").map((rule) => ({
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  }));
}

/**
 * Resolves an aggregated role at the time of the check. A real cluster has a controller that copies the rules into it.
 */
function rulesOfClusterRole(source: RbacSource, role: KubeObject, seen: ReadonlySet<unknown> = new Set()): RbacRule[] {
  const selectors = recordsAt(role, "aggregationRule", "clusterRoleSelectors");
  if (selectors.length === 0) return ownRules(role);
  const within = new Set([...seen, role.metadata.name]);
  return source
    .clusterRoles()
    .filter((candidate) => !within.has(candidate.metadata.name))
    .filter((candidate) => selectors.some((selector) => selects(selector, candidate)))
    .flatMap((candidate) => rulesOfClusterRole(source, candidate, within));
}

function selects(selector: MutableFields, role: KubeObject): boolean {
  const labels = valueAt(selector, "matchLabels");
  return matchesLabels(
    selectorFromObject({
      matchLabels: isRecord(labels) ? Object.fromEntries(Object.entries(labels).map(([k, v]) => [k, String(v)])) : {},
      matchExpressions: recordsAt(selector, "matchExpressions").map((expression) => ({
        key: textAt(expression, "key"),
        operator: textAt(expression, "operator"),
        values: textsAt(expression, "values"),
      })),
    }),
    role.metadata.labels,
  );
}

function ruleAllows(rule: RbacRule, { verb, group, resource, subresource, name, path }: Attributes): boolean {
  if (!includes(rule.verbs, verb)) return false;
  if (resource === "") return rule.nonResourceURLs.some((pattern) => matchesPath(pattern, path));
  return (
    includes(rule.apiGroups, group) &&
    rule.resources.some((pattern) => matchesResource(pattern, resource, subresource)) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

function includes(allowed: readonly string[], value: string): boolean {
  return allowed.includes("*") || allowed.includes(value);
}

function matchesResource(pattern: string, resource: string, subresource: string): boolean {
  if (pattern === "*") return true;
  if (subresource === "") return pattern === resource;
  return pattern === `${resource}/${subresource}` || pattern === `*/${subresource}`;
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === "*" || pattern === path) return true;
  return pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, ""));
}
