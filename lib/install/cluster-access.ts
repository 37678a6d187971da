import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { managedByTmc } from "../api/group.ts";
import { claimedWorkloads, offeredWorkloads } from "../api/workload-kinds.ts";
import { namespacePrefix } from "../sync/ownership/namespace-map.ts";
import { syncedLabel } from "../sync/ownership/owner.ts";
import { type ManagedObject, managedObject } from "./managed-object.ts";

/** Namespace of TMC's service account on a member cluster. */
export const clusterAccessNamespace = "tmc-system";
/** Service account that TMC uses on a member cluster. */
export const clusterAccessAccount = "tmc";
const roleName = "tmc:cluster-access";
const policyName = "tmc-cluster-access";

export type ClusterAccessOptions = Readonly<{
  /** Workload types besides the built-in ones. @default none */
  customTypes?: readonly Pick<ResourceType, "group" | "plural">[] | undefined;
  /** Only these of the built-in workload types, as `deployments.apps`. @default all */
  only?: readonly string[] | undefined;
  /** Whether TMC may install CustomResourceDefinitions (`customResources: Install` in a placement). @default false */
  installsDefinitions?: boolean | undefined;
  /**
   * Whether TMC may list every type. It needs this to find out whether a namespace that it created is empty; without it, empty
   * namespaces stay. @default false
   */
  listsAllTypes?: boolean | undefined;
  /** Gives access to this group instead of a service account, for example to the group of an EKS access entry. */
  group?: string | undefined;
  /** Whether to include the admission policy, which needs Kubernetes 1.30. @default true */
  hasPolicy?: boolean | undefined;
}>;

type GroupResource = Readonly<{ group: string; plural: string }>;

/** Types that TMC writes with every workload: dependencies, and namespaces for them. */
const dependencyTypes: readonly GroupResource[] = [
  ...claimedWorkloads.map(({ type }) => type),
  { group: "", plural: "persistentvolumeclaims" },
];

/** The built-in workload types by the name that `only` uses. */
const builtinTypes: ReadonlyMap<string, GroupResource> = new Map(
  offeredWorkloads.map(({ type }) => [resourceName(type), type]),
);

/** Returns those names that are not built-in workload types. */
export function unknownTypes(names: readonly string[]): readonly string[] {
  return names.filter((name) => !builtinTypes.has(name));
}

/** The names that `only` accepts. */
export const accessTypeNames: readonly string[] = [...builtinTypes.keys()];

/**
 * Returns the objects that give TMC access to a member cluster: a service account, the narrowest ClusterRole that sync needs, and
 * an admission policy that restricts the account to namespaces of TMC. RBAC alone cannot do the latter, because the names of these
 * namespaces are not known in advance.
 */
export function clusterAccess(options: ClusterAccessOptions = {}): readonly ManagedObject[] {
  const { hasPolicy = true, group } = options;
  const account = { kind: "ServiceAccount", name: clusterAccessAccount, namespace: clusterAccessNamespace };
  const subject = group === undefined ? account : { apiGroup: rbac, kind: "Group", name: group };
  const accountObjects = [
    { apiVersion: "v1", kind: "Namespace", metadata: managedMetadata(clusterAccessNamespace) },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { ...managedMetadata(clusterAccessAccount), namespace: clusterAccessNamespace },
    },
  ];
  const objects: readonly object[] = [
    ...(group === undefined ? accountObjects : []),
    { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: managedMetadata(roleName), rules: roleRules(options) },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: managedMetadata(roleName),
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: roleName },
      subjects: [subject],
    },
    ...(hasPolicy ? policyObjects(options) : []),
  ];
  return objects.map(managedObject);
}

function roleRules({ customTypes = [], only, installsDefinitions, listsAllTypes }: ClusterAccessOptions) {
  const chosen = only === undefined ? [...builtinTypes.values()] : only.flatMap((name) => builtinTypes.get(name) ?? []);
  const written = [...dependencyTypes, ...chosen, ...customTypes];
  const groups = [...new Set(written.map(({ group }) => group))].sort();
  return [
    // Health, version and discovery. Most clusters allow these to every authenticated user; this does not rely on it.
    { nonResourceURLs: ["/readyz", "/livez", "/version", "/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"] },
    // Capacity and capabilities of the cluster.
    { apiGroups: [""], resources: ["nodes"], verbs: ["list"] },
    { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["list"] },
    // The namespaces of tenants, and the identity of the cluster (kube-system).
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create", "delete"] },
    // Whether a namespace is in use, and what the pods of the cluster request.
    { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
    ...groups.map((group) => ({
      apiGroups: [group],
      resources: [...new Set(written.filter((type) => type.group === group).map(({ plural }) => plural))].sort(),
      verbs: ["get", "list", "watch", "create", "patch", "update", "delete"],
    })),
    ...(installsDefinitions
      ? [
          {
            apiGroups: ["apiextensions.k8s.io"],
            resources: ["customresourcedefinitions"],
            verbs: ["get", "list", "watch", "create", "patch", "update"],
          },
        ]
      : []),
    ...(listsAllTypes ? [{ apiGroups: ["*"], resources: ["*"], verbs: ["list"] }] : []),
  ];
}

const rbac = "rbac.authorization.k8s.io";
const admission = "admissionregistration.k8s.io/v1";

/** Whether an object is a namespace that TMC created, as a CEL expression. */
const isOwnNamespace = (object: string): string =>
  `${object}.metadata.name.startsWith("${namespacePrefix}") && has(${object}.metadata.labels) && ` +
  `"${syncedLabel}" in ${object}.metadata.labels`;

function policyObjects({ installsDefinitions = false, group }: ClusterAccessOptions): readonly object[] {
  const account = `system:serviceaccount:${clusterAccessNamespace}:${clusterAccessAccount}`;
  const isTmc =
    group === undefined
      ? `request.userInfo.username == "${account}"`
      : `${JSON.stringify(group)} in request.userInfo.groups`;
  return [
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicy",
      metadata: managedMetadata(policyName),
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"], scope: "*" }],
        },
        matchConditions: [{ name: "is-tmc", expression: isTmc }],
        variables: [
          {
            name: "isNamespace",
            expression: 'request.resource.group == "" && request.resource.resource == "namespaces"',
          },
          {
            name: "isDefinition",
            expression:
              'request.resource.group == "apiextensions.k8s.io" && request.resource.resource == "customresourcedefinitions"',
          },
          { name: "wasOwn", expression: `oldObject == null || (${isOwnNamespace("oldObject")})` },
          { name: "isOwn", expression: `object == null || (${isOwnNamespace("object")})` },
          { name: "isInOwn", expression: `namespaceObject != null && ${isOwnNamespace("namespaceObject")}` },
        ],
        validations: [
          {
            expression:
              "variables.isNamespace ? variables.wasOwn && variables.isOwn : " +
              `variables.isDefinition ? ${installsDefinitions} : variables.isInOwn`,
            message: "TMC may write only in namespaces that it created",
            reason: "Forbidden",
          },
        ],
      },
    },
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: managedMetadata(policyName),
      spec: { policyName, validationActions: ["Deny"] },
    },
  ];
}

const managedMetadata = (name: string) => ({ name, labels: managedByTmc });

function resourceName({ group, plural }: GroupResource): string {
  return group === "" ? plural : `${plural}.${group}`;
}
