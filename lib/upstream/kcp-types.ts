import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";

/** kcp's own types, the way URLs name them. */
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

/** kcp's conditions: like Kubernetes', with a severity and without observedGeneration. */
export type KcpCondition = { type: string; status: string; reason?: string; message?: string; severity?: string };

export type Workspace = KubeObject & {
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
export type EndpointSlice = KubeObject & { status?: { endpoints?: { url: string }[] } };

/** What conditions complain of, in one line; empty when they are content. */
export function formatComplaints(conditions: readonly KcpCondition[] = []): string {
  return conditions
    .filter(({ status }) => status !== "True")
    .map(
      ({ type, reason, message }) =>
        `${type}: ${[reason, message].filter((part) => part !== undefined && part !== "").join(": ")}`,
    )
    .join("; ");
}
