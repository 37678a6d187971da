import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import { exportWorkspace } from "../../lib/api/group.ts";
import type { WorkKey } from "../../lib/model/key.ts";

const providerPath = `/clusters/${exportWorkspace}/`;

/** The logical cluster that a request to kcp names, directly or through a virtual workspace; "*" for all tenants. */
export function logicalClusterOfPath(path: string): string {
  const [, where = ""] = /^(?:\/services\/apiexport\/[^/]+\/[^/]+)?\/clusters\/([^/]+)\//.exec(path) ?? [];
  return where;
}

/**
 * Whether a request serves the access to all tenants of an export, and no tenant in particular: lists and watches of all
 * tenants, the endpoints of the export, and the check of the export. A reconcile may read the endpoints again, and may ask whether
 * any binding is visible (`lib/upstream/export/explain-forbidden.ts`); it may not list objects of all tenants.
 */
export function isExportRequest(
  { method, path }: Pick<TransportRequest, "method" | "path">,
  key: WorkKey | undefined,
): boolean {
  if (path.startsWith(providerPath)) {
    const resource = path.slice(providerPath.length);
    if (method === "POST") return key === undefined && /^api\/v1\/namespaces\/default\/events(\?|$)/.test(resource);
    if (method !== "GET") return false;
    return (
      /\/apiexportendpointslices(\?|$)/.test(resource) ||
      (key === undefined && resource.startsWith("apis/apis.kcp.io/"))
    );
  }
  if (method !== "GET" || logicalClusterOfPath(path) !== "*") return false;
  return key === undefined || /\/apibindings(\?|$)/.test(path);
}
