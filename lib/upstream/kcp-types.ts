import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";

export const workspaces: ResourceType = { group: "tenancy.kcp.io", version: "v1alpha1", plural: "workspaces" };
export const apiResourceSchemas: ResourceType = {
  group: "apis.kcp.io",
  version: "v1alpha1",
  plural: "apiresourceschemas",
};
export const apiExports: ResourceType = { group: "apis.kcp.io", version: "v1alpha2", plural: "apiexports" };
export const apiBindings: ResourceType = { group: "apis.kcp.io", version: "v1alpha2", plural: "apibindings" };
export const endpointSlices: ResourceType = {
  group: "apis.kcp.io",
  version: "v1alpha1",
  plural: "apiexportendpointslices",
};

/** Conditions of kcp: like those of Kubernetes, with a severity and without observedGeneration. */
type KcpCondition = { type: string; status: string; reason?: string; message?: string; severity?: string };

export type WorkspaceObject = KubeObject & {
  spec?: { cluster?: string; URL?: string };
  status?: { phase?: string; conditions?: KcpCondition[] };
};
export type ApiExport = KubeObject & {
  spec?: {
    resources?: { name: string; group: string; schema: string }[];
    permissionClaims?: object[];
  };
  status?: { identityHash?: string; conditions?: KcpCondition[] };
};
export type ApiBinding = KubeObject & {
  spec?: {
    reference?: { export?: { path?: string; name?: string } };
    permissionClaims?: { identityHash?: string }[];
  };
  status?: {
    phase?: string;
    boundResources?: {
      group: string;
      resource: string;
      schema: { name: string; identityHash: string };
      storageVersions?: string[];
    }[];
    conditions?: KcpCondition[];
  };
};
export type ApiExportEndpointSlice = KubeObject & { status?: { endpoints?: { url: string }[] } };

/** The conditions that are not True, in one line; empty if all are. */
export function formatUnmetConditions(conditions: readonly KcpCondition[] = []): string {
  return conditions
    .filter(({ status }) => status !== "True")
    .map(
      ({ type, reason, message }) =>
        `${type}: ${[reason, message].filter((part) => part !== undefined && part !== "").join(": ")}`,
    )
    .join("; ");
}
