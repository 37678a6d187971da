import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ObjectKey } from "../model/key.ts";
import { downstreamNamespace } from "../sync/ownership/namespace-map.ts";
import { isOwnedBy, type Owner, ownerOf } from "../sync/ownership/owner.ts";

/**
 * The owner of a copy that TMC wrote for this registration; undefined for any other object.
 *
 * A user of the cluster can write any owner annotation, also one of another tenant. It counts only if the logical cluster is the
 * registration's, and the namespace is the one that follows from the owner.
 */
export function verifiedOwner(object: KubeObject, registration: ObjectKey): Owner | undefined {
  const owner = ownerOf(object);
  if (owner === undefined) return undefined;
  const isOwn =
    owner.logicalCluster === registration.logicalCluster &&
    owner.registration === registration.name &&
    object.metadata.namespace === downstreamNamespace(owner) &&
    isOwnedBy(object, owner);
  return isOwn ? owner : undefined;
}
