import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Fields, type Texts, textsOf } from "../model/json.ts";
import { fingerprintOfManifest } from "../sync/desired/manifest.ts";
import {
  isHubAnnotation,
  isHubLabel,
  isServerMade,
  isTokenSecret,
  withoutServerFields,
} from "../sync/desired/server-fields.ts";
import { isReservedNamespace } from "../sync/ownership/namespace-map.ts";
import { ownerAnnotation, syncedLabel } from "../sync/ownership/owner.ts";
import { type UpsyncOrigin, upsyncOriginMetadata } from "../sync/ownership/upsync-origin.ts";

/** What an object's origin says about it: all but what servers add, and what is for kcp, TMC or kubectl alone. */
export type NormalizedObject = Readonly<{
  apiVersion: string;
  kind: string;
  labels: Texts;
  annotations: Texts;
  /** Everything but apiVersion, kind, metadata and status. */
  body: Fields;
}>;

/** What a cluster says of an object that was born there. */
export function normalizeDownstream({ apiVersion, kind, metadata, status: _, ...body }: KubeObject): NormalizedObject {
  const said = {
    name: metadata.name ?? "",
    labels: textsOf(metadata.labels),
    annotations: textsOf(metadata.annotations),
    body,
  };
  // Every cluster hands out ports and addresses, and those are of no use elsewhere.
  const parts = withoutServerFields({ apiVersion, kind }, said, { isAssigned: true });
  return { apiVersion, kind, ...ownTexts(parts), body: parts.body };
}

/** What a workspace says of the same, as it stands there. */
export function normalizeUpstream({ apiVersion, kind, metadata, status: _, ...body }: KubeObject): NormalizedObject {
  const said = { labels: textsOf(metadata.labels), annotations: textsOf(metadata.annotations) };
  return { apiVersion, kind, ...ownTexts(said), body };
}

/** A short text that is the same for portraits that say the same. */
export function hashOfNormalized({ apiVersion, kind, labels, annotations, body }: NormalizedObject): string {
  return fingerprintOfManifest({ ...body, apiVersion, kind, metadata: { name: "", labels, annotations } });
}

/**
 * The object that a workspace is to have. Of one that it has already (`seen`), labels and annotations of kcp, TMC and kubectl
 * stay as they are; everything else is as the origin says.
 */
export function upstreamObject(
  { apiVersion, kind, labels, annotations, body }: NormalizedObject,
  birthplace: UpsyncOrigin,
  seen?: KubeObject,
): KubeObject {
  const { namespace, name } = birthplace;
  return {
    ...body,
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      labels: { ...textsOf(seen?.metadata.labels, isHubLabel), ...labels },
      annotations: {
        ...textsOf(seen?.metadata.annotations, isHubAnnotation),
        ...annotations,
        ...upsyncOriginMetadata(birthplace),
      },
    },
  };
}

function ownTexts({ labels, annotations }: Readonly<{ labels: Texts; annotations: Texts }>) {
  return {
    labels: textsOf(labels, (name) => !isHubLabel(name)),
    annotations: textsOf(annotations, (name) => !isHubAnnotation(name)),
  };
}

/**
 * Tells whether somebody made an object on a cluster by himself: it is no copy of ours, no controller made it for the sake of
 * another object, and no server makes it by itself. Nothing is born in namespaces of servers, nor in those that TMC makes.
 */
export function isUpsyncCandidate(object: KubeObject): boolean {
  const { kind, metadata } = object;
  const { name = "", namespace = "", labels, annotations, ownerReferences } = metadata;
  const isMarked = labels?.[syncedLabel] !== undefined || annotations?.[ownerAnnotation] !== undefined;
  const isControlled = ownerReferences?.some(({ controller }) => controller === true) === true;
  const isOfServer =
    isServerMade(kind, name) ||
    isTokenSecret(object) ||
    (kind === "Service" && namespace === "default" && name === "kubernetes");
  return namespace !== "" && !isReservedNamespace(namespace) && !isMarked && !isControlled && !isOfServer;
}
