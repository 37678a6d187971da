import type { KubeObject } from "@tmc/kube/kube-object.ts";
import generated from "../builtin/bootstrap-roles.generated.json" with { type: "json" };

export type BootstrapRoles = Readonly<{
  clusterRoles: readonly KubeObject[];
  clusterRoleBindings: readonly KubeObject[];
}>;

/**
 * The roles and bindings that a new cluster has before anyone writes one: cluster-admin, admin, edit, view, discovery and
 * what they are made of. The objects are copies; a server stores them as its own.
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
