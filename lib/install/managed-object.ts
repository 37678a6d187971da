import type { ObjectAddress } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { apiExports, apiResourceSchemas } from "../upstream/kcp-types.ts";

const rbac = (plural: string): ResourceType => ({ group: "rbac.authorization.k8s.io", version: "v1", plural });
const admission = (plural: string): ResourceType => ({ group: "admissionregistration.k8s.io", version: "v1", plural });
const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });

/** The resource types of installed objects, by kind. */
export const managedTypes = {
  Namespace: core("namespaces"),
  ServiceAccount: core("serviceaccounts"),
  ClusterRole: rbac("clusterroles"),
  ClusterRoleBinding: rbac("clusterrolebindings"),
  Role: rbac("roles"),
  RoleBinding: rbac("rolebindings"),
  ValidatingAdmissionPolicy: admission("validatingadmissionpolicies"),
  ValidatingAdmissionPolicyBinding: admission("validatingadmissionpolicybindings"),
  APIResourceSchema: apiResourceSchemas,
  APIExport: apiExports,
  WorkspaceType: { group: "tenancy.kcp.io", version: "v1alpha1", plural: "workspacetypes" },
} as const satisfies Readonly<Record<string, ResourceType>>;

export type ManagedKind = keyof typeof managedTypes;

/** A desired object. Fields that it does not set belong to the server and to others. */
export type ManagedObject = Readonly<{
  apiVersion: string;
  kind: ManagedKind;
  metadata: Readonly<{ name: string; namespace?: string; labels?: Readonly<Record<string, string>> }>;
}> &
  Readonly<Record<string, unknown>>;

/** Checks that an object is of a kind that TMC installs. */
export function managedObject(object: object): ManagedObject {
  const { kind, metadata }: Partial<KubeObject> = object;
  if (kind === undefined || !(kind in managedTypes) || metadata?.name === undefined) {
    throw new ControllerError("invalid", `install: ${String(kind)} is not an installable kind`);
  }
  return object as ManagedObject; // checked above
}

export function managedAddressOf({ kind, metadata: { name, namespace } }: ManagedObject): ObjectAddress {
  return { type: managedTypes[kind], name, ...(namespace === undefined ? {} : { namespace }) };
}

/** `ClusterRole tmc:viewer`: identifies an object within a workspace. */
export function formatObjectId({ kind, metadata: { name } }: Pick<ManagedObject, "kind" | "metadata">): string {
  return `${kind} ${name}`;
}
