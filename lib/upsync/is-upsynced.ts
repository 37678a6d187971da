import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isServerMade, isTokenSecret } from "../sync/desired/server-created.ts";
import { isForbiddenNamespace } from "../sync/ownership/namespace-map.ts";
import { originAnnotation, syncedLabel } from "../sync/ownership/owner.ts";

/**
 * Tells whether somebody made an object on a cluster by himself: it is no copy of ours, no controller made it for the sake of
 * another object, and no server makes it by itself. Nothing is born in namespaces of servers, nor in those that TMC makes.
 */
export function isBorn(object: KubeObject): boolean {
  const { kind, metadata } = object;
  const { name = "", namespace = "", labels, annotations, ownerReferences } = metadata;
  const isMarked = labels?.[syncedLabel] !== undefined || annotations?.[originAnnotation] !== undefined;
  const isControlled = ownerReferences?.some(({ controller }) => controller === true) === true;
  const isOfServer =
    isServerMade(kind, name) ||
    isTokenSecret(object) ||
    (kind === "Service" && namespace === "default" && name === "kubernetes");
  return namespace !== "" && !isForbiddenNamespace(namespace) && !isMarked && !isControlled && !isOfServer;
}
