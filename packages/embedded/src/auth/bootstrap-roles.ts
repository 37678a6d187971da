import type { KubeObject } from "@tmc/kube/kube-object.ts";
import generated from "../builtin/bootstrap-roles.generated.json" with { type: "json" };

export type BootstrapRoles = Readonly<{
  clusterRoles: readonly KubeObject[];
  clusterRoleBindings: readonly KubeObject[];
}>;

/**
 * Returns the roles and bindings of a new cluster: cluster-admin, admin, edit, view, discovery and the roles they
 * aggregate. The objects are copies; the server stores them as its own.
 */
export function bootstrapRoles(): BootstrapRoles {
  const all = Object.entries(structuredClone(generated));
  const below = (plural: string, kind: string): KubeObject[] =>
    all
      .filter(([key]) => key.startsWith(`${plural}/`))
      .map(([, role]) => ({ ...role, apiVersion: "rbac.authorization.k8s.io/v1", kind }));
  return {
    clusterRoles: below("clusterroles", "ClusterRole"),
    clusterRoleBindings: below("clusterrolebindings", "ClusterRoleBinding"),
  };
}
