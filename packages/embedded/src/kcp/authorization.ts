import {
  combinedRbac,
  isAllowed,
  type PolicyRule,
  privilegedGroup,
  type RbacSource,
  rulesOf,
  storedRbac,
} from "../auth/rbac.ts";
import { textAt, valueAt } from "../fields.ts";
import type { Attributes } from "../frontend.ts";
import type { User } from "../http.ts";
import type { Store } from "../store.ts";
import type { Directory } from "./directory.ts";

/** The logical cluster whose roles hold in every workspace. */
export const adminCluster = "system:admin";
/** Where a service account's user says from which logical cluster it is. */
export const homeClusterKey = "authentication.kcp.io/cluster-name";

/** Decides who may do what in which workspace, as kcp's chain of authorizers does. */
export interface KcpAuthorizer {
  decide(cluster: string, user: User, attributes: Attributes, options?: DecideOptions): boolean;
  /** Every rule that applies to a user in a namespace of a logical cluster. */
  rules(cluster: string, user: User, namespace: string): readonly PolicyRule[];
  stop(): void;
}

export type DecideOptions = Readonly<{
  /** Whether the user may enter the workspace at all is not asked: kcp looks up rights in other workspaces this way. */
  deep?: boolean;
}>;

/** The export that a type of a workspace comes from, where it comes from one. */
export type ExportOfType = (
  cluster: string,
  group: string,
  plural: string,
) => Readonly<{ cluster: string; name: string }> | undefined;

const rbacGroup = ".rbac.authorization.k8s.io";
/** Decisions kept for one logical cluster; far more than one has of users times types. */
const mostRemembered = 5000;

const openPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/livez"]);

export function createAuthorizer({
  store,
  directory,
  exportOfType,
}: Readonly<{ store: Store; directory: Directory; exportOfType: ExportOfType }>): KcpAuthorizer {
  const common = storedRbac(store, adminCluster);
  const sourceOf = (cluster: string): RbacSource => combinedRbac(common, storedRbac(store, cluster));
  const remembered = new Map<string, Map<string, boolean>>();
  const unsubscribe = store.subscribe(({ key: { storage, cluster } }) => {
    if (!storage.endsWith(rbacGroup)) return;
    if (cluster === adminCluster) remembered.clear();
    else remembered.delete(cluster);
  });
  const decided = (cluster: string, user: User, attributes: Attributes): boolean => {
    const known = remembered.get(cluster) ?? new Map<string, boolean>();
    remembered.set(cluster, known);
    const key = JSON.stringify([user.name, user.groups, attributes]);
    const answer = known.get(key) ?? isAllowed(sourceOf(cluster), user, attributes).allowed;
    if (known.size >= mostRemembered) known.clear();
    known.set(key, answer);
    return answer;
  };
  /** Who may do something to all objects may do it to one: asked that way first, the answer is nearly always known. */
  const grants = (cluster: string, user: User, attributes: Attributes): boolean =>
    decided(cluster, user, { ...attributes, name: "" }) ||
    (attributes.name !== "" && decided(cluster, user, attributes));

  /** Entering a workspace is a right of its own; a service account has it at home. */
  const mayEnter = (cluster: string, user: User): boolean => {
    const phase = textAt(directory.logicalCluster(cluster), "status", "phase");
    if (phase !== "Initializing" && phase !== "Ready") return false;
    // A review may name a service account without saying where it is from: then it is meant to be one of this workspace.
    const isUnplaced = homeOf(user) === undefined && user.name.startsWith("system:serviceaccount:");
    return isUnplaced || homeOf(user) === cluster || grants(cluster, userIn(cluster, user), access);
  };

  const withinPolicy = (cluster: string, user: User, attributes: Attributes): boolean => {
    const origin = exportOfType(cluster, attributes.group, attributes.resource);
    if (origin === undefined) return true;
    const apiExport = directory.apiExport(origin.cluster, origin.name);
    if (valueAt(apiExport, "spec", "maximalPermissionPolicy", "local") === undefined) return true;
    return grants(origin.cluster, consumer(user), attributes);
  };

  return {
    decide: (cluster, user, attributes, { deep = false } = {}) => {
      if (user.groups.includes(privilegedGroup)) return true;
      if (attributes.resource === "" && attributes.verb === "get" && openPaths.has(attributes.path)) return true;
      if (!deep && !mayEnter(cluster, user)) return false;
      if (isSystemStatus(attributes)) return false;
      if (attributes.resource !== "" && !withinPolicy(cluster, user, attributes)) return false;
      return grants(cluster, userIn(cluster, user), attributes);
    },
    rules: (cluster, user, namespace) => rulesOf(sourceOf(cluster), userIn(cluster, user), namespace),
    stop: unsubscribe,
  };
}

const access: Attributes = {
  verb: "access",
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  path: "/",
};

/** The status of bindings and exports is kcp's alone. */
function isSystemStatus({ group, resource, subresource }: Attributes): boolean {
  return (
    group === "apis.kcp.io" && subresource === "status" && (resource === "apibindings" || resource === "apiexports")
  );
}

const homeOf = (user: User): string | undefined => user.extra?.[homeClusterKey]?.[0];

/** Away from home a service account is another user, named for where it comes from. */
function userIn(cluster: string, user: User): User {
  const home = homeOf(user);
  if (home === undefined || home === cluster) return user;
  return {
    ...user,
    name: user.name.replace(/^system:serviceaccount:/, `system:kcp:serviceaccount:${home}:`),
    groups: user.groups.filter((group) => group === "system:authenticated"),
  };
}

/** How the roles of a maximal permission policy name a consumer's users. */
function consumer(user: User): User {
  const prefix = "apis.kcp.io:binding:";
  return { ...user, name: prefix + user.name, groups: user.groups.map((group) => prefix + group) };
}
