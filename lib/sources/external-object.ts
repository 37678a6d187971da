import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type ClusterView, toSourceCluster } from "./cluster.ts";
import { parseConditions } from "./view.ts";

/** Returns whether a cluster object comes from a source other than ClusterRegistration. */
export function isExternal({ kind }: KubeObject): boolean {
  return kind !== "ClusterRegistration";
}

/**
 * Returns a cluster of another source in the form that the controller uses: the spec of a registration under the kind of the
 * source object.
 *
 * Its status is the one that TMC observed. Before the first probe it is the status in the object, however old that is:
 * otherwise a controller that was down would consider every cluster lost after its start.
 */
export function asExternalObject(
  reading: ClusterView,
  object: KubeObject,
  observed: ClusterRegistration["status"],
): KubeObject {
  const { registration } = reading;
  return {
    ...registration,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...registration.metadata, generation: generationOf(reading) },
    status: observed ?? { ...registration.status, conditions: [...parseConditions(object)] },
  };
}

/** For control planes the access hash replaces the generation, because endpoint and secret can change in referenced objects. */
function generationOf(reading: ClusterView): number {
  const { origin, registration } = reading;
  if (origin.source === "synctarget") return registration.metadata.generation ?? 0;
  return Number.parseInt(toSourceCluster(reading).accessHash.slice(0, 12), 16);
}
