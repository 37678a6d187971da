import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ObjectKey } from "../model/key.ts";
import { namespaceOn } from "../sync/ownership/namespace-map.ts";
import { belongsTo, type Origin, originOf } from "../sync/ownership/owner.ts";

/**
 * The origin of a copy that got to where it is by this registration; undefined for anything else.
 *
 * Whoever may write on the cluster can write any origin, another tenant's too. It counts only where everything fits: the
 * logical cluster is the registration's own, and the name of the namespace follows from all that the origin says.
 */
export function ownOrigin(object: KubeObject, registration: ObjectKey): Origin | undefined {
  const origin = originOf(object);
  if (origin === undefined) return undefined;
  const isOwn =
    origin.cluster === registration.cluster &&
    origin.registration === registration.name &&
    object.metadata.namespace === namespaceOn(origin) &&
    belongsTo(object, origin);
  return isOwn ? origin : undefined;
}
