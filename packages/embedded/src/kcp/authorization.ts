import { textAt, valueAt } from "@tmc/kube/json.ts";
import {
  combinedRbac,
  isAllowed,
  privilegedGroup,
  type RbacRule,
  type RbacSource,
  rulesOf,
  storedRbac,
} from "../auth/rbac.ts";
import type { Attributes } from "../server/frontend.ts";
import type { User } from "../server/http.ts";
import type { Store } from "../storage/store.ts";
import type { Directory } from "./directory.ts";

/** The logical cluster whose roles apply in every workspace. */
export const adminCluster = "system:admin";
/** Key in a user's `extra` for the logical cluster of a service account. */
export const originClusterKey = "authentication.kcp.io/cluster-name";

/** Authorizes requests in workspaces as kcp's chain of authorizers does. */
export interface KcpAuthorizer {
  decide(logicalCluster: string, user: User, attributes: Attributes, options?: DecideOptions): boolean;
  /** Lists every rule that applies to a user in a namespace of a logical cluster. */
  rules(logicalCluster: string, user: User, namespace: string): readonly RbacRule[];
  stop(): void;
}

export type DecideOptions = Readonly<{
  /** Skips the check for access to the workspace. kcp checks permissions in other workspaces this way. */
  deep?: boolean;
}>;

/** Finds the export that a type of a workspace is bound from, if any. */
export type ExportOfType = (
  logicalCluster: string,
  group: string,
  plural: string,
) => Readonly<{ logicalCluster: string; name: string }> | undefined;

const rbacGroup = ".rbac.authorization.k8s.io";
/** Cached decisions per logical cluster; far more than users times types. */
const maxCachedDecisions = 5000;

const openPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/livez"]);

export function createAuthorizer({
  store,
  directory,
  exportOfType,
}: Readonly<{ store: Store; directory: Directory; exportOfType: ExportOfType }>): KcpAuthorizer {
  const common = storedRbac(store, adminCluster);
  const sourceOf = (logicalCluster: string): RbacSource => combinedRbac(common, storedRbac(store, logicalCluster));
  const decisionCache = new Map<string, Map<string, boolean>>();
  const unsubscribe = store.subscribe(({ key: { storage, logicalCluster } }) => {
    if (!storage.endsWith(rbacGroup)) return;
    if (logicalCluster === adminCluster) decisionCache.clear();
    else decisionCache.delete(logicalCluster);
  });
  const cachedDecision = (logicalCluster: string, user: User, attributes: Attributes): boolean => {
    const known = decisionCache.get(logicalCluster) ?? new Map<string, boolean>();
    decisionCache.set(logicalCluster, known);
    const key = JSON.stringify([user.name, user.groups, attributes]);
    const isAllowedByRoles = known.get(key) ?? isAllowed(sourceOf(logicalCluster), user, attributes).allowed;
    if (known.size >= maxCachedDecisions) known.clear();
    known.set(key, isAllowedByRoles);
    return isAllowedByRoles;
  };
  /**
   * Asks for all objects first: a user with access to all has access to one, and that decision is nearly always cached.
   */
  const isGrantedByRoles = (logicalCluster: string, user: User, attributes: Attributes): boolean =>
    cachedDecision(logicalCluster, user, { ...attributes, name: "" }) ||
    (attributes.name !== "" && cachedDecision(logicalCluster, user, attributes));

  /** Access to a workspace is a separate permission. A service account has it in its own workspace. */
  const hasWorkspaceAccess = (logicalCluster: string, user: User): boolean => {
    const phase = textAt(directory.logicalCluster(logicalCluster), "status", "phase");
    if (phase !== "Initializing" && phase !== "Ready") return false;
    // A review may name a service account without its logical cluster; then it belongs to this workspace.
    const hasNoOrigin = originOf(user) === undefined && user.name.startsWith("system:serviceaccount:");
    return (
      hasNoOrigin ||
      originOf(user) === logicalCluster ||
      isGrantedByRoles(logicalCluster, userIn(logicalCluster, user), accessAttributes)
    );
  };

  const isWithinMaximalPermissionPolicy = (logicalCluster: string, user: User, attributes: Attributes): boolean => {
    const origin = exportOfType(logicalCluster, attributes.group, attributes.resource);
    if (origin === undefined) return true;
    const apiExport = directory.apiExport(origin.logicalCluster, origin.name);
    if (valueAt(apiExport, "spec", "maximalPermissionPolicy", "local") === undefined) return true;
    return isGrantedByRoles(origin.logicalCluster, asConsumer(user), attributes);
  };

  return {
    decide: (logicalCluster, user, attributes, { deep = false } = {}) => {
      if (user.groups.includes(privilegedGroup)) return true;
      if (attributes.resource === "" && attributes.verb === "get" && openPaths.has(attributes.path)) return true;
      if (!deep && !hasWorkspaceAccess(logicalCluster, user)) return false;
      if (isSystemStatus(attributes)) return false;
      if (attributes.resource !== "" && !isWithinMaximalPermissionPolicy(logicalCluster, user, attributes))
        return false;
      return isGrantedByRoles(logicalCluster, userIn(logicalCluster, user), attributes);
    },
    rules: (logicalCluster, user, namespace) =>
      rulesOf(sourceOf(logicalCluster), userIn(logicalCluster, user), namespace),
    stop: unsubscribe,
  };
}

const accessAttributes: Attributes = {
  verb: "access",
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  path: "/",
};

/** Only kcp writes the status of bindings and exports. */
function isSystemStatus({ group, resource, subresource }: Attributes): boolean {
  return (
    group === "apis.kcp.io" && subresource === "status" && (resource === "apibindings" || resource === "apiexports")
  );
}

const originOf = (user: User): string | undefined => user.extra?.[originClusterKey]?.[0];

/** In other workspaces a service account has another user name, which includes its logical cluster. */
function userIn(logicalCluster: string, user: User): User {
  const origin = originOf(user);
  if (origin === undefined || origin === logicalCluster) return user;
  return {
    ...user,
    name: user.name.replace(/^system:serviceaccount:/, `system:kcp:serviceaccount:${origin}:`),
    groups: user.groups.filter((group) => group === "system:authenticated"),
  };
}

/** A user as the roles of a maximal permission policy name it. */
function asConsumer(user: User): User {
  const prefix = "apis.kcp.io:binding:";
  return { ...user, name: prefix + user.name, groups: user.groups.map((group) => prefix + group) };
}
