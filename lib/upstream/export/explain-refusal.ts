import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { ClaimNotAccepted, TenantNotBound } from "../../model/tenant-errors.ts";
import { type ApiBinding, apiBindings } from "../kcp-types.ts";
import type { ExportEndpoint } from "./endpoints.ts";

export type Refusal = Readonly<{
  refusal: unknown;
  logicalCluster: string;
  /** What was asked for. */
  type: ResourceType;
  /** Where it was asked for, in vain. */
  endpoints: readonly ExportEndpoint[];
  signal?: AbortSignal | undefined;
}>;

/**
 * Finds out why no virtual workspace lets us do something for a tenant: kcp says 403, whatever the reason.
 *
 * Bindings tell. Where there is none, the tenant has gone. Where there is one, and the type is one that the export
 * claims, its owner has not accepted that. Anything else is between us and the provider, or passes while a binding is new:
 * the answer is a fault that may pass, for no key may be given up for it.
 */
export async function explainRefusal({ refusal, logicalCluster, type, endpoints, signal }: Refusal): Promise<unknown> {
  if (!(refusal instanceof ApiError) || refusal.status !== 403) return refusal;
  const options = { cause: refusal };
  const binding = await findBinding(logicalCluster, endpoints, signal);
  if (binding === "unreadable") {
    const words =
      "hub: we may not list what is bound to the export, and cannot tell a tenant that has gone from a refusal";
    return new ControllerError("unreachable", `${words}: ${refusal.message}`, options);
  }
  if (binding === undefined) return new TenantNotBound(logicalCluster, options);
  const bound = binding.status?.boundResources ?? [];
  const isOffered =
    type.group === group || bound.some((each) => each.group === type.group && each.resource === type.plural);
  if (!isOffered) return new ClaimNotAccepted(logicalCluster, type.plural, options);
  return new ControllerError("unreachable", `hub: ${refusal.message}`, options);
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
    // Who has no right to look is refused in the same words as who looks where nothing is bound.
    if ((await bindingsAt(endpoint, "*", signal)) === undefined) return "unreadable";
  }
  return undefined;
}

/** One binding, if there is any; undefined where we are refused. */
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
