import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { ClaimNotAccepted, TenantNotBound } from "../../model/tenant-errors.ts";
import { type ApiBinding, apiBindings } from "../kcp-types.ts";
import type { ExportEndpoint } from "./endpoints.ts";

export type ForbiddenRequest = Readonly<{
  error: unknown;
  logicalCluster: string;
  /** The requested type. */
  type: ResourceType;
  /** The endpoints that rejected the request. */
  endpoints: readonly ExportEndpoint[];
  signal?: AbortSignal | undefined;
}>;

/**
 * Finds the reason why every virtual workspace rejects a request for a tenant. kcp answers 403 for each of them.
 *
 * The APIBindings show the reason. Without a binding the tenant is gone. With a binding, and a type that the export claims, the tenant
 * has not accepted the claim. Any other reason is a matter of TMC's own permissions or of a binding that is still new: it becomes
 * a transient fault, because no key may be dead-lettered for it.
 */
export async function explainForbidden({
  error,
  logicalCluster,
  type,
  endpoints,
  signal,
}: ForbiddenRequest): Promise<unknown> {
  if (!(error instanceof ApiError) || error.status !== 403) return error;
  const options = { cause: error };
  const binding = await findBinding(logicalCluster, endpoints, signal);
  if (binding === "unreadable") {
    const message =
      "upstream: TMC may not list the APIBindings of its export, so it does not know whether the tenant is gone";
    return new ControllerError("unreachable", `${message}: ${error.message}`, options);
  }
  if (binding === undefined) return new TenantNotBound(logicalCluster, options);
  const bound = binding.status?.boundResources ?? [];
  const isOffered =
    type.group === group || bound.some((each) => each.group === type.group && each.resource === type.plural);
  if (!isOffered) return new ClaimNotAccepted(logicalCluster, type.plural, options);
  return new ControllerError("unreachable", `upstream: ${error.message}`, options);
}

async function findBinding(
  logicalCluster: string,
  endpoints: readonly ExportEndpoint[],
  signal: AbortSignal | undefined,
): Promise<ApiBinding | "unreadable" | undefined> {
  for (const endpoint of endpoints) {
    const [own] = (await bindingsAt(endpoint, logicalCluster, signal)) ?? [];
    if (own !== undefined) return own;
  }
  for (const endpoint of endpoints) {
    // kcp answers 403 both without permission and without a binding; a list over all tenants distinguishes these cases.
    if ((await bindingsAt(endpoint, "*", signal)) === undefined) return "unreadable";
  }
  return undefined;
}

/** Lists at most one binding; undefined if the server rejects the request. */
async function bindingsAt(
  endpoint: ExportEndpoint,
  logicalCluster: string,
  signal: AbortSignal | undefined,
): Promise<readonly ApiBinding[] | undefined> {
  try {
    return (await endpoint.at(logicalCluster).list<ApiBinding>({ type: apiBindings }, { limit: 1, signal })).items;
  } catch (error) {
    if (faultOf(error) !== "forbidden" && faultOf(error) !== "not-found") throw error;
    return undefined;
  }
}
