import { exportName, managedByTmc } from "./group.ts";
import { workloadSync } from "./workload-sync.ts";

/** Group and plural of a type, as RBAC rules name it. */
export type GroupResource = Readonly<{ group: string; plural: string }>;

/** Namespace of TMC's service accounts in the provider workspace. */
export const accountNamespace = "tmc-system";

/** Name of the ConfigMap with the identity of the hub, in the same namespace. */
export const hubRecordName = "tmc-hub";

/** Names of the service accounts that use the export. The relay only watches; the worker reconciles. */
export const serviceAccounts = { relay: "tmc-relay", worker: "tmc-controller-manager" } as const;
export type ServiceRole = keyof typeof serviceAccounts;

const rbac = "rbac.authorization.k8s.io";
const kcpApis = "apis.kcp.io";
/** kcp adds this prefix to users and groups of tenants when it evaluates a maximal permission policy. */
const tenantSubjectPrefix = "apis.kcp.io:binding:";
const read = ["get", "list", "watch"];

/**
 * Returns the roles of the export's maximal permission policy: the upper limit of what users may do with the exported types
 * in a tenant's workspace, whatever roles exist there.
 *
 * Tenants cannot write status and can only read WorkloadSyncs. kcp administrators may do everything, and so may TMC: the
 * virtual workspace impersonates the group of kcp administrators for it. Without these roles an export with a policy denies
 * every request.
 */
export function permissionPolicy(types: readonly GroupResource[]): readonly object[] {
  const writableTypes = types.filter((type) => !isReadOnlyForTenants(type));
  return [
    clusterRole("tmc:policy:tenants", [
      ...policyRules(writableTypes, ["*"]),
      ...policyRules(writableTypes, ["*"], "/scale"),
      ...policyRules(types.filter(isReadOnlyForTenants), read),
      ...policyRules(types, ["get"], "/status"),
    ]),
    clusterRoleBinding("tmc:policy:tenants", groupSubject(`${tenantSubjectPrefix}system:authenticated`)),
    clusterRole("tmc:policy:operators", [
      ...policyRules(types, ["*"]),
      ...policyRules(types, ["*"], "/scale"),
      ...policyRules(types, ["*"], "/status"),
    ]),
    clusterRoleBinding("tmc:policy:operators", groupSubject(`${tenantSubjectPrefix}system:kcp:admin`)),
  ];
}

const isReadOnlyForTenants = ({ group, plural }: GroupResource): boolean =>
  group === workloadSync.group && plural === workloadSync.plural;

/** Name of the role that lets users bind the export. */
export const tenantRole = "tmc:bind";

/** Returns the role that lets a group bind the export and create workspaces of the type that binds it automatically. */
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
    clusterRoleBinding(tenantRole, groupSubject(groupName)),
  ];
}

/**
 * Returns the service accounts of the relay and the worker with their least-privilege roles.
 *
 * The virtual workspace authorizes each request as `apiexports/content` with the verb of the request. So the relay can be
 * limited to list and watch, and the worker to the verbs it uses. In a tenant's workspace they have only the permissions
 * that the tenant's APIBinding grants.
 */
export function serviceAccess(): readonly object[] {
  const slices = { apiGroups: [kcpApis], resources: ["apiexportendpointslices"] };
  const content = { apiGroups: [kcpApis], resources: ["apiexports/content"], resourceNames: [exportName] };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: managedMetadata(accountNamespace) },
    ...Object.values(serviceAccounts).map((name) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { ...managedMetadata(name), namespace: accountNamespace },
    })),
    clusterRole("tmc:relay", [
      { ...slices, verbs: ["list", "watch"] },
      // The relay lists the export's schemas to find the workload types that an operator has added.
      { apiGroups: [kcpApis], resources: ["apiexports", "apiresourceschemas"], verbs: ["list"] },
      { ...content, verbs: ["list", "watch"] },
    ]),
    clusterRoleBinding("tmc:relay", serviceAccountSubject(serviceAccounts.relay)),
    clusterRole("tmc:worker", [
      { ...slices, verbs: read },
      { apiGroups: [kcpApis], resources: ["apiexports"], resourceNames: [exportName], verbs: ["get"] },
      // To recognize a record of the hub's identity that was copied from another workspace.
      { apiGroups: ["core.kcp.io"], resources: ["logicalclusters"], resourceNames: ["cluster"], verbs: ["get"] },
      // For the export check, and to find the workload types that an operator has added.
      { apiGroups: [kcpApis], resources: ["apiresourceschemas"], verbs: ["get", "list"] },
      { apiGroups: [kcpApis], resources: ["apiexports"], verbs: ["list"] },
      // `delete`: an upsynced object is deleted from the workspace after it was deleted on its cluster.
      { ...content, verbs: [...read, "create", "update", "patch", "delete"] },
    ]),
    clusterRoleBinding("tmc:worker", serviceAccountSubject(serviceAccounts.worker)),
    // The identity of the hub: the first process of a new installation adds its address, and later ones compare it.
    ...roleInNamespace("tmc:hub-identity", accountNamespace, [
      { apiGroups: [""], resources: ["configmaps"], resourceNames: [hubRecordName], verbs: ["get", "update"] },
    ]),
    // Leader election, and the Leases by which controllers compare their settings.
    ...roleInNamespace("tmc:leases", accountNamespace, [
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        verbs: ["get", "list", "create", "update", "delete"],
      },
    ]),
    // Events about cluster-scoped objects are in the namespace `default`. A repeated Event is patched to raise its count.
    ...roleInNamespace("tmc:worker", "default", [
      { apiGroups: [""], resources: ["events"], verbs: ["get", "create", "patch"] },
    ]),
  ];
}

const managedMetadata = (name: string) => ({ name, labels: managedByTmc });
const groupSubject = (name: string) => ({ apiGroup: rbac, kind: "Group", name });
const serviceAccountSubject = (name: string) => ({ kind: "ServiceAccount", name, namespace: accountNamespace });

function clusterRole(name: string, rules: readonly object[]) {
  return { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: managedMetadata(name), rules };
}

/** A Role in one namespace, and its binding to the worker. */
function roleInNamespace(name: string, namespace: string, rules: readonly object[]): readonly object[] {
  const metadata = { ...managedMetadata(name), namespace };
  return [
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [serviceAccountSubject(serviceAccounts.worker)],
    },
  ];
}

/** Binds a subject to the ClusterRole of the same name. */
function clusterRoleBinding(name: string, subject: object) {
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: managedMetadata(name),
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [subject],
  };
}

/** Returns one rule per group, because a rule grants every combination of its groups and resources. */
function policyRules(types: readonly GroupResource[], verbs: readonly string[], subresource = ""): readonly object[] {
  return [...new Set(types.map((type) => type.group))].map((group) => ({
    apiGroups: [group],
    resources: types.filter((type) => type.group === group).map(({ plural }) => `${plural}${subresource}`),
    verbs,
  }));
}

/** Name of the WorkspaceType in the provider workspace. A new workspace of this type is a tenant from its creation. */
export const tenantWorkspaceType = "tenant";

/**
 * Returns the WorkspaceType that binds the export automatically and accepts its permission claims.
 *
 * kcp creates the binding once, when it initializes the workspace. With the lifecycle `Maintain`, the tenant could not delete
 * the binding, and kcp would accept later claims without asking the tenant.
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
