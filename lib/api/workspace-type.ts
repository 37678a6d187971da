import { exportName } from "./group.ts";
import { managedByTmc } from "./managed-by.ts";

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
