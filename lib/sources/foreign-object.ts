import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { asCluster, type Reading } from "./cluster.ts";
import { conditionsOf } from "./fields.ts";

/** Whether an object that stands for a cluster is of another kind than our own: nobody can give a registration another kind. */
export function isForeign({ kind }: KubeObject): boolean {
  return kind !== "ClusterRegistration";
}

/**
 * A cluster of another source in the form that the controller works with: what a registration would say, under the kind of
 * the object that says it.
 *
 * What is known of its health is what TMC has found out, and before that what the object's status says, however long ago that
 * was written: a controller that was away must not take every cluster for lost before it has looked.
 */
export function asForeignObject(
  reading: Reading,
  object: KubeObject,
  observed: ClusterRegistration["status"],
): KubeObject {
  const { registration } = reading;
  return {
    ...registration,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...registration.metadata, generation: generationOf(reading) },
    status: observed ?? { ...registration.status, conditions: [...conditionsOf(object)] },
  };
}

/** What leads into a control plane is in other objects too, and changes without it: the digest takes its generation's place. */
function generationOf(reading: Reading): number {
  const { origin, registration } = reading;
  if (origin.source === "synctarget") return registration.metadata.generation ?? 0;
  return Number.parseInt(asCluster(reading).digest.slice(0, 12), 16);
}
