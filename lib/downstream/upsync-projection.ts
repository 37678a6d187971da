import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type CopyAddress, copyOf } from "../sync/downstream.ts";
import { syncedLabel } from "../sync/ownership/owner.ts";
import type { UpsyncState } from "../upsync/decide.ts";
import { hashOfNormalized, isUpsyncCandidate, normalizeDownstream } from "../upsync/normalize.ts";
import { isOptedIn, type OptIn } from "../upsync/opt-in.ts";
import { isNamedNotFound } from "./errors.ts";
import type { WithSession } from "./session.ts";

/** Everything with our label is a copy, and copies are not upsynced. */
export const upsyncSelector = `!${syncedLabel}`;

/** Reads an object from its cluster; undefined only when the cluster says that this object does not exist. */
export function createUpsyncReader(
  withSession: WithSession,
): ({ registration, object }: CopyAddress, signal: AbortSignal) => Promise<KubeObject | undefined> {
  return ({ registration, object }, signal) =>
    withSession(registration, signal, async ({ client }) => {
      try {
        return await client.get<KubeObject>(object, { signal });
      } catch (error) {
        if (isNamedNotFound(error, object.name)) return undefined;
        if (faultOf(error) !== "not-found") throw error;
        // The type is not served, or a proxy or another server answered: that says nothing about this object.
        const message = error instanceof Error ? error.message : "not found";
        throw new ControllerError("unreachable", message, { cause: error });
      }
    });
}

/** The state of an object for an opt-in, from a cluster's answer. */
export function upsyncStateOf(object: KubeObject | undefined, optIn: OptIn): Exclude<UpsyncState, { kind: "unknown" }> {
  if (object === undefined) return { kind: "absent" };
  const { apiVersion, kind } = optIn.type;
  const hash = hashIn(projectUpsynced({ ...object, apiVersion, kind }, optIn));
  if (hash === undefined) return { kind: "other", uid: object.metadata.uid ?? "" };
  return { kind: "present", copy: copyOf(object), hash };
}

/** The content hash of a projected object; undefined for an object that is not upsynced. */
export const hashIn = ({ hash }: KubeObject): string | undefined => (typeof hash === "string" ? hash : undefined);

/** Removes from an object what is not kept; adds a content `hash` if the object is upsynced. */
export function projectUpsynced(object: KubeObject, { rules }: OptIn): KubeObject {
  const { apiVersion, kind, metadata, status } = object;
  const { name = "", namespace = "", uid = "", resourceVersion = "", generation, deletionTimestamp, labels } = metadata;
  const isUpsynced = isUpsyncCandidate(object) && isOptedIn(rules, { namespace, labels });
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      ...(generation === undefined ? {} : { generation }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    ...(isUpsynced
      ? { hash: hashOfNormalized(normalizeDownstream(object)), ...(status === undefined ? {} : { status }) }
      : {}),
  };
}
