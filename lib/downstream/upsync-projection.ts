import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type CopyAddress, copyOf } from "../sync/downstream.ts";
import { syncedLabel } from "../sync/ownership/owner.ts";
import type { UpsyncState } from "../upsync/decide.ts";
import { hashOfNormalized, isUpsyncCandidate, normalizeDownstream } from "../upsync/normalize.ts";

import { isOptedIn, type OptIn } from "../upsync/opt-in.ts";
import { isNamedNotFound } from "./errors.ts";
import type { OnSite } from "./session.ts";

/** Everything that carries our label is a copy, and none of those was born. */
export const birthSelector = `!${syncedLabel}`;

/** Creates what reads an object on its cluster; undefined only when the cluster says that this very object is not there. */
export function createBirthReader(
  onSite: OnSite,
): ({ registration, object }: CopyAddress, signal: AbortSignal) => Promise<KubeObject | undefined> {
  return ({ registration, object }, signal) =>
    onSite(registration, signal, async ({ client }) => {
      try {
        return await client.get<KubeObject>(object, { signal });
      } catch (error) {
        if (isNamedNotFound(error, object.name)) return undefined;
        if (faultOf(error) !== "not-found") throw error;
        // A type that is not served, a proxy, another server: none of them says anything about this object.
        const words = error instanceof Error ? error.message : "not found";
        throw new ControllerError("unreachable", words, { cause: error });
      }
    });
}

/** What an object is to whoever opts in, as a cluster has answered it. */
export function birthIn(object: KubeObject | undefined, optIn: OptIn): Exclude<UpsyncState, { kind: "unknown" }> {
  if (object === undefined) return { kind: "absent" };
  const { apiVersion, kind } = optIn.type;
  const print = printIn(traceOfBorn({ ...object, apiVersion, kind }, optIn));
  if (print === undefined) return { kind: "other", uid: object.metadata.uid ?? "" };
  return { kind: "born", copy: copyOf(object), print };
}

/** The print in a trace; undefined for one that is not to be made known. */
export const printIn = ({ print }: KubeObject): string | undefined => (typeof print === "string" ? print : undefined);

/** Takes from an object all that is not kept of it; one without a `print` is not to be made known. */
export function traceOfBorn(object: KubeObject, { rules }: OptIn): KubeObject {
  const { apiVersion, kind, metadata, status } = object;
  const { name = "", namespace = "", uid = "", resourceVersion = "", generation, deletionTimestamp, labels } = metadata;
  const isMeant = isUpsyncCandidate(object) && isOptedIn(rules, { namespace, labels });
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
    ...(isMeant
      ? { print: hashOfNormalized(normalizeDownstream(object)), ...(status === undefined ? {} : { status }) }
      : {}),
  };
}
