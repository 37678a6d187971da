import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { objectNotFound } from "./api-errors.ts";
import type { ObjectTarget } from "./operations.ts";
import type { ResourceRequest, ServerParts } from "./resource-request.ts";
import { asVersion } from "./selection.ts";

/** The revision that a faulty read answers from, the oldest that is remembered at most; undefined where reads are honest. */
export function staleRevision({ store }: ServerParts, { plan }: ResourceRequest): number | undefined {
  if (plan.revisionsBack <= 0) return undefined;
  return Math.max(1, store.oldestRevision, store.revision - plan.revisionsBack);
}

/** An object as a lagging replica would show it; undefined where reads are honest or the past is forgotten. */
export function staleObject(parts: ServerParts, given: ResourceRequest, target: ObjectTarget): KubeObject | undefined {
  const revision = staleRevision(parts, given);
  if (revision === undefined) return undefined;
  const { definition, cluster, namespace, name } = target;
  const scope = { cluster, ...(namespace === undefined ? {} : { namespace }) };
  const objects = parts.store.listAt(revision, definition.storage, scope);
  if (objects === undefined) return undefined;
  const object = objects.find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw objectNotFound(definition, name);
  return asVersion(definition, object);
}
