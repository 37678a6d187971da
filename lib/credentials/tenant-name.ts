import { ControllerError } from "@tmc/kube/fault.ts";

/** A plain Kubernetes hub has no logical clusters; no logical cluster can be called this. */
const plainHubName = "_";

/** How a logical cluster is called in names and tags outside the hub. */
export function tenantName(cluster: string): string {
  if (cluster === "") return plainHubName;
  // Keys come from queues: what is put into the name of a secret or a role must not lead anywhere else.
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(cluster)) {
    throw new ControllerError("invalid", `logical cluster ${JSON.stringify(cluster)}: is not the name of one`);
  }
  return cluster;
}
