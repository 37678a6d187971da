import { exportName, managedByTmc } from "./group.ts";
import { workloadSync } from "./workload-sync.ts";

/** A type as rules name it. */
export type NamedType = Readonly<{ group: string; plural: string }>;

/** The namespace of the provider workspace in which the service accounts are. */
export const accountNamespace = "tmc-system";

/** Who works with the export: what watches it, and what acts on it. */
export const serviceAccounts = { relay: "tmc-relay", worker: "tmc-controller-manager" } as const;
export type ServiceRole = keyof typeof serviceAccounts;

const rbac = "rbac.authorization.k8s.io";
const kcpApis = "apis.kcp.io";
/** How the roles of a maximal permission policy name the users of tenants. */
const ofTenants = "apis.kcp.io:binding:";
const read = ["get", "list", "watch"];

/**
 * The most that anybody may do with the exported types in a tenant's workspace, whatever roles there are in it.
 *
 * Tenants do not write status, and only look at what TMC alone writes. The operators of kcp may do everything; so may
 * TMC itself, for whom the virtual workspace vouches with their group. Without these roles an export that has a policy is
 * closed to all.
 */
export function permissionPolicy(types: readonly NamedType[]): readonly object[] {
  const written = types.filter((type) => !isOurs(type));
  return [
    clusterRole("tmc:policy:tenants", [
      ...rulesOf(written, ["*"]),
      ...rulesOf(written, ["*"], "/scale"),
      ...rulesOf(types.filter(isOurs), read),
      ...rulesOf(types, ["get"], "/status"),
    ]),
    clusterRoleBinding("tmc:policy:tenants", group(`${ofTenants}system:authenticated`)),
    clusterRole("tmc:policy:operators", [
      ...rulesOf(types, ["*"]),
      ...rulesOf(types, ["*"], "/scale"),
      ...rulesOf(types, ["*"], "/status"),
    ]),
    clusterRoleBinding("tmc:policy:operators", group(`${ofTenants}system:kcp:admin`)),
  ];
}

const isOurs = ({ group: of, plural }: NamedType): boolean =>
  of === workloadSync.group && plural === workloadSync.plural;

/** The role of those who may become tenants. */
export const tenantRole = "tmc:bind";

/** Lets a group of users bind the export and make workspaces of the type that binds it by itself. */
export function tenantAccess(groupName: string): readonly object[] {
  return [
    clusterRole(tenantRole, [
      { apiGroups: [kcpApis], resources: ["apiexports"], resourceNames: [exportName], verbs: ["bind"] },
      {
        apiGroups: ["tenancy.kcp.io"],
        resources: ["workspacetypes"],
        resourceNames: [tenantWorkspaceType],
        verbs: ["use"],
      },
    ]),
    clusterRoleBinding(tenantRole, group(groupName)),
  ];
}

/**
 * The service accounts, each with no more than it needs.
 *
 * The virtual workspace asks for `apiexports/content` with the verb of the request itself: so the relay can be held to
 * looking, and the workers to what they do. Neither has any right in a tenant's workspace but through the tenant's binding.
 */
export function serviceAccess(): readonly object[] {
  const slices = { apiGroups: [kcpApis], resources: ["apiexportendpointslices"] };
  const content = { apiGroups: [kcpApis], resources: ["apiexports/content"], resourceNames: [exportName] };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: named(accountNamespace) },
    ...Object.values(serviceAccounts).map((name) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { ...named(name), namespace: accountNamespace },
    })),
    clusterRole("tmc:relay", [
      { ...slices, verbs: ["list", "watch"] },
      // To learn which types of workloads an operator has added.
      { apiGroups: [kcpApis], resources: ["apiexports", "apiresourceschemas"], verbs: ["list"] },
      { ...content, verbs: ["list", "watch"] },
    ]),
    clusterRoleBinding("tmc:relay", account(serviceAccounts.relay)),
    clusterRole("tmc:worker", [
      { ...slices, verbs: read },
      { apiGroups: [kcpApis], resources: ["apiexports"], resourceNames: [exportName], verbs: ["get"] },
      // To see that the export still is what this version needs, and which types an operator has added.
      { apiGroups: [kcpApis], resources: ["apiresourceschemas"], verbs: ["get", "list"] },
      { apiGroups: [kcpApis], resources: ["apiexports"], verbs: ["list"] },
      // Of workloads that were born on a cluster nothing is left in the workspace when they have gone there.
      { ...content, verbs: [...read, "create", "update", "patch", "delete"] },
    ]),
    clusterRoleBinding("tmc:worker", account(serviceAccounts.worker)),
    // Events about objects without a namespace are kept in this one; what is told again is counted.
    {
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata: { ...named("tmc:worker"), namespace: "default" },
      rules: [{ apiGroups: [""], resources: ["events"], verbs: ["get", "create", "patch"] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { ...named("tmc:worker"), namespace: "default" },
      roleRef: { apiGroup: rbac, kind: "Role", name: "tmc:worker" },
      subjects: [account(serviceAccounts.worker)],
    },
  ];
}

const named = (name: string) => ({ name, labels: managedByTmc });
const group = (name: string) => ({ apiGroup: rbac, kind: "Group", name });
const account = (name: string) => ({ kind: "ServiceAccount", name, namespace: accountNamespace });

function clusterRole(name: string, rules: readonly object[]) {
  return { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: named(name), rules };
}

/** Gives a subject the role of the same name. */
function clusterRoleBinding(name: string, subject: object) {
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: named(name),
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [subject],
  };
}

/** One rule for each group: a rule's groups and resources are combined each with each. */
function rulesOf(types: readonly NamedType[], verbs: readonly string[], subresource = ""): readonly object[] {
  return [...new Set(types.map((type) => type.group))].map((of) => ({
    apiGroups: [of],
    resources: types.filter((type) => type.group === of).map(({ plural }) => `${plural}${subresource}`),
    verbs,
  }));
}

/** The WorkspaceType beside the export; a workspace of it is a tenant from its first moment. */
export const tenantWorkspaceType = "tenant";

/**
 * The WorkspaceType that binds the export by itself, with its claims accepted.
 *
 * kcp binds once, while it makes the workspace. A binding that it kept up for ever (`Maintain`) could not be taken away by
 * the tenant, and would accept later claims in his place.
 */
export function workspaceType(exportPath: string) {
  return {
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "WorkspaceType",
    metadata: { name: tenantWorkspaceType, labels: managedByTmc },
    spec: {
      extend: { with: [{ name: "universal", path: "root" }] },
      defaultChildWorkspaceType: { name: "universal", path: "root" },
      defaultAPIBindings: [{ path: exportPath, export: exportName }],
      defaultAPIBindingLifecycle: "InitializeOnly",
    },
  };
}
