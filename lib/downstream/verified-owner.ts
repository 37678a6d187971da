import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ObjectKey } from "../model/key.ts";
import { downstreamNamespace } from "../sync/ownership/namespace-map.ts";
import { belongsTo, type Owner, ownerOf } from "../sync/ownership/owner.ts";

/**
 * The origin of a copy that got to where it is by this registration; undefined for anything else.
 *
 * Whoever may write on the cluster can write any origin, another tenant's too. It counts only where everything fits: the
 * logical cluster is the registration's own, and the name of the namespace follows from all that the origin says.
 */
export function ownOrigin(object: KubeObject, registration: ObjectKey): Owner | undefined {
  const origin = ownerOf(object);
  if (origin === undefined) return undefined;
  const isOwn =
    origin.logicalCluster === registration.logicalCluster &&
    origin.registration === registration.name &&
    object.metadata.namespace === downstreamNamespace(origin) &&
    belongsTo(object, origin);
  return isOwn ? origin : undefined;
}
