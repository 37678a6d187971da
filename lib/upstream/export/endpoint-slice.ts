import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type EndpointSlice, endpointSlices } from "../kcp-types.ts";
import { clientOf } from "../logical-cluster.ts";
import type { ExportAddress } from "./address.ts";

/**
 * The addresses at which an export's tenants are reached, one for each shard that has any, in a fixed order; undefined when
 * there is no slice. None at all is normal after an installation.
 *
 * It lists rather than gets: the relay's user may do no more.
 */
export async function readEndpointUrls(
  provider: KubeClient,
  { path, name }: ExportAddress,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  const { items } = await clientOf(provider, path).listAll<EndpointSlice>({ type: endpointSlices }, { signal });
  const slice = items.find(({ metadata }) => metadata.name === name);
  return slice === undefined ? undefined : urlsOf(slice);
}

/** The addresses that a slice names. */
export function urlsOf(slice: KubeObject): readonly string[] {
  const { status } = slice as EndpointSlice; // kcp's own schema gives it this form
  return [...new Set((status?.endpoints ?? []).map(({ url }) => url.replace(/\/+$/, "")))].toSorted();
}
