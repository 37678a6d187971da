import type { ObjectAddress } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { apiExports, apiResourceSchemas } from "../upstream/kcp-types.ts";

const rbac = (plural: string): ResourceType => ({ group: "rbac.authorization.k8s.io", version: "v1", plural });
const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });

/** The kinds of object that an installation is made of, the way URLs name them. */
export const managedTypes = {
  Namespace: core("namespaces"),
  ServiceAccount: core("serviceaccounts"),
  ClusterRole: rbac("clusterroles"),
  ClusterRoleBinding: rbac("clusterrolebindings"),
  Role: rbac("roles"),
  RoleBinding: rbac("rolebindings"),
  APIResourceSchema: apiResourceSchemas,
  APIExport: apiExports,
  WorkspaceType: { group: "tenancy.kcp.io", version: "v1alpha1", plural: "workspacetypes" },
} as const satisfies Readonly<Record<string, ResourceType>>;

export type ManagedKind = keyof typeof managedTypes;

/** An object as it is wanted: what it does not say is left to the server and to others. */
export type ManagedObject = Readonly<{
  apiVersion: string;
  kind: ManagedKind;
  metadata: Readonly<{ name: string; namespace?: string; labels?: Readonly<Record<string, string>> }>;
}> &
  Readonly<Record<string, unknown>>;

/** Takes an object of our own making as one that is managed. */
export function managedObject(object: object): ManagedObject {
  const { kind, metadata }: Partial<KubeObject> = object;
  if (kind === undefined || !(kind in managedTypes) || metadata?.name === undefined) {
    throw new ControllerError("invalid", `install: ${String(kind)} is not a kind that is installed`);
  }
  return object as ManagedObject; // all that the type says has been seen
}

/** Where an object is. */
export function addressOf({ kind, metadata: { name, namespace } }: ManagedObject): ObjectAddress {
  return { type: managedTypes[kind], name, ...(namespace === undefined ? {} : { namespace }) };
}

/** `ClusterRole tmc:viewer`: what names an object in one workspace. */
export function idOf({ kind, metadata: { name } }: Pick<ManagedObject, "kind" | "metadata">): string {
  return `${kind} ${name}`;
}
