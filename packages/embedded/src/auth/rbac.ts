import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { ApiFailure } from "../api-failure.ts";
import { type Fields, isFields, objectsAt, textAt, textsAt, valueAt } from "../fields.ts";
import type { Attributes } from "../frontend.ts";
import type { User } from "../http.ts";
import type { Store } from "../store.ts";

export type PolicyRule = Readonly<{
  verbs: readonly string[];
  apiGroups: readonly string[];
  resources: readonly string[];
  resourceNames: readonly string[];
  nonResourceURLs: readonly string[];
}>;

/** Where the roles of one logical cluster (or of a plain cluster) are looked up. */
export interface RbacSource {
  clusterRoles(): readonly KubeObject[];
  clusterRoleBindings(): readonly KubeObject[];
  roles(namespace: string): readonly KubeObject[];
  roleBindings(namespace: string): readonly KubeObject[];
}

export type Decision = Readonly<{ allowed: boolean; reason: string }>;

/** Whoever is in this group may do everything, whatever the roles say. */
export const privilegedGroup = "system:masters";

/** Decides by the roles that are bound to a user, with the reason a real server gives. */
export function isAllowed(source: RbacSource, user: User, attributes: Attributes): Decision {
  if (user.groups.includes(privilegedGroup)) return { allowed: true, reason: "" };
  const problems: string[] = [];
  for (const grant of grantsOf(source, user, attributes.namespace, problems)) {
    const rule = grant.rules.find((candidate) => ruleAllows(candidate, attributes));
    if (rule !== undefined) return { allowed: true, reason: `RBAC: allowed by ${grant.origin}` };
  }
  return { allowed: false, reason: problems.length === 0 ? "" : `RBAC: ${joinProblems(problems)}` };
}

/** Every rule that applies to a user in a namespace (empty: only what holds everywhere). */
export function rulesOf(source: RbacSource, user: User, namespace: string): PolicyRule[] {
  const all: PolicyRule = {
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

/** The answer to a request that was refused, in the words of a real server. */
export function forbidden(user: User, attributes: Attributes, reason = ""): ApiFailure {
  const why = `${describeRefusal(user, attributes)}${reason === "" ? "" : `: ${reason}`}`;
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

function describeRefusal(user: User, { verb, group, resource, subresource, namespace, path }: Attributes): string {
  const who = `User ${JSON.stringify(user.name)} cannot ${verb}`;
  if (resource === "") return `${who} path ${JSON.stringify(path)}`;
  const what = JSON.stringify(subresource === "" ? resource : `${resource}/${subresource}`);
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return `${who} resource ${what} in API group ${JSON.stringify(group)} ${where}`;
}

/** Reads the roles of one logical cluster from an embedded server's store. */
export function storedRbac(store: Pick<Store, "list">, cluster: string): RbacSource {
  const group = "rbac.authorization.k8s.io";
  return {
    clusterRoles: () => store.list(`clusterroles.${group}`, { cluster }),
    clusterRoleBindings: () => store.list(`clusterrolebindings.${group}`, { cluster }),
    roles: (namespace) => store.list(`roles.${group}`, { cluster, namespace }),
    roleBindings: (namespace) => store.list(`rolebindings.${group}`, { cluster, namespace }),
  };
}

/** Several sources as one: roles that every workspace has beside its own. */
export function combinedRbac(...sources: readonly RbacSource[]): RbacSource {
  return {
    clusterRoles: () => sources.flatMap((source) => source.clusterRoles()),
    clusterRoleBindings: () => sources.flatMap((source) => source.clusterRoleBindings()),
    roles: (namespace) => sources.flatMap((source) => source.roles(namespace)),
    roleBindings: (namespace) => sources.flatMap((source) => source.roleBindings(namespace)),
  };
}

type Grant = Readonly<{ origin: string; rules: readonly PolicyRule[] }>;

function grantsOf(source: RbacSource, user: User, namespace: string, problems: string[]): Grant[] {
  const scopes = [
    { bindings: source.clusterRoleBindings(), scope: "" },
    ...(namespace === "" ? [] : [{ bindings: source.roleBindings(namespace), scope: namespace }]),
  ];
  return scopes.flatMap(({ bindings, scope }) =>
    bindings.flatMap((binding) => {
      const subject = objectsAt(binding, "subjects").find((candidate) => isSubject(candidate, user, scope));
      if (subject === undefined) return [];
      const kind = textAt(binding, "roleRef", "kind");
      const name = textAt(binding, "roleRef", "name");
      const role = (kind === "Role" ? source.roles(scope) : source.clusterRoles()).find(
        (candidate) => candidate.metadata.name === name,
      );
      if (role === undefined) {
        problems.push(`${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`);
        return [];
      }
      const bindingName = scope === "" ? binding.metadata.name : `${binding.metadata.name}/${scope}`;
      const origin = `${scope === "" ? "ClusterRoleBinding" : "RoleBinding"} ${JSON.stringify(bindingName)} of ${kind} ${JSON.stringify(name)} to ${describeSubject(subject, scope)}`;
      return [{ origin, rules: kind === "Role" ? ownRules(role) : rulesOfClusterRole(source, role) }];
    }),
  );
}

function joinProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? distinct.join("") : `[${distinct.join(", ")}]`;
}

function describeSubject(subject: Fields, scope: string): string {
  const name = textAt(subject, "name");
  const full = subject.kind === "ServiceAccount" ? `${name}/${textAt(subject, "namespace") || scope}` : name;
  return `${textAt(subject, "kind")} ${JSON.stringify(full)}`;
}

function isSubject(subject: Fields, user: User, scope: string): boolean {
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

function ownRules(role: KubeObject): PolicyRule[] {
  return objectsAt(role, "rules").map((rule) => ({
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  }));
}

/** An aggregated role has the rules of all that its selectors find; no controller is needed to copy them into it. */
function rulesOfClusterRole(
  source: RbacSource,
  role: KubeObject,
  seen: ReadonlySet<unknown> = new Set(),
): PolicyRule[] {
  const selectors = objectsAt(role, "aggregationRule", "clusterRoleSelectors");
  if (selectors.length === 0) return ownRules(role);
  const within = new Set([...seen, role.metadata.name]);
  return source
    .clusterRoles()
    .filter((candidate) => !within.has(candidate.metadata.name))
    .filter((candidate) => selectors.some((selector) => selects(selector, candidate)))
    .flatMap((candidate) => rulesOfClusterRole(source, candidate, within));
}

function selects(selector: Fields, role: KubeObject): boolean {
  const labels = valueAt(selector, "matchLabels");
  return matchesLabels(
    selectorFromObject({
      matchLabels: isFields(labels) ? Object.fromEntries(Object.entries(labels).map(([k, v]) => [k, String(v)])) : {},
      matchExpressions: objectsAt(selector, "matchExpressions").map((expression) => ({
        key: textAt(expression, "key"),
        operator: textAt(expression, "operator"),
        values: textsAt(expression, "values"),
      })),
    }),
    role.metadata.labels,
  );
}

function ruleAllows(rule: PolicyRule, { verb, group, resource, subresource, name, path }: Attributes): boolean {
  if (!includes(rule.verbs, verb)) return false;
  if (resource === "") return rule.nonResourceURLs.some((pattern) => matchesPath(pattern, path));
  return (
    includes(rule.apiGroups, group) &&
    rule.resources.some((pattern) => matchesResource(pattern, resource, subresource)) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

function includes(allowed: readonly string[], wanted: string): boolean {
  return allowed.includes("*") || allowed.includes(wanted);
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
