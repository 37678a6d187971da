import type { Fields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Texts, textsOf } from "../model/json.ts";
import { manifestHash } from "../sync/desired/manifest.ts";
import {
  isServerCreated,
  isTokenSecret,
  isUpstreamAnnotation,
  isUpstreamLabel,
  withoutServerFields,
} from "../sync/desired/server-fields.ts";
import { isReservedNamespace } from "../sync/ownership/namespace-map.ts";
import { ownerAnnotation, syncedLabel } from "../sync/ownership/owner.ts";
import { type UpsyncOrigin, upsyncOriginMetadata } from "../sync/ownership/upsync-origin.ts";

/** The content that upsync mirrors: without fields that servers set and without metadata of kcp, TMC and kubectl. */
export type NormalizedObject = Readonly<{
  apiVersion: string;
  kind: string;
  labels: Texts;
  annotations: Texts;
  /** Everything but apiVersion, kind, metadata and status. */
  body: Fields;
}>;

/** Normalizes an object of a cluster for the comparison with upstream. */
export function normalizeDownstream({ apiVersion, kind, metadata, status: _, ...body }: KubeObject): NormalizedObject {
  const content = {
    name: metadata.name ?? "",
    labels: textsOf(metadata.labels),
    annotations: textsOf(metadata.annotations),
    body,
  };
  // Ports and addresses that a cluster assigns are valid only there.
  const parts = withoutServerFields({ apiVersion, kind }, content, { isAssigned: true });
  return { apiVersion, kind, ...userMetadata(parts), body: parts.body };
}

/** Normalizes an upstream object for the comparison with its origin. */
export function normalizeUpstream({ apiVersion, kind, metadata, status: _, ...body }: KubeObject): NormalizedObject {
  const content = { labels: textsOf(metadata.labels), annotations: textsOf(metadata.annotations) };
  return { apiVersion, kind, ...userMetadata(content), body };
}

/** The content hash of a normalized object. It does not depend on the order of fields. */
export function hashOfNormalized({ apiVersion, kind, labels, annotations, body }: NormalizedObject): string {
  return manifestHash({ ...body, apiVersion, kind, metadata: { name: "", labels, annotations } });
}

/**
 * The desired upstream object. Labels and annotations of kcp, TMC and kubectl are kept from the `existing` upstream object;
 * everything else comes from the origin.
 */
export function upstreamObject(
  { apiVersion, kind, labels, annotations, body }: NormalizedObject,
  origin: UpsyncOrigin,
  existing?: KubeObject,
): KubeObject {
  const { namespace, name } = origin;
  return {
    ...body,
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      labels: { ...textsOf(existing?.metadata.labels, isUpstreamLabel), ...labels },
      annotations: {
        ...textsOf(existing?.metadata.annotations, isUpstreamAnnotation),
        ...annotations,
        ...upsyncOriginMetadata(origin),
      },
    },
  };
}

function userMetadata({ labels, annotations }: Readonly<{ labels: Texts; annotations: Texts }>) {
  return {
    labels: textsOf(labels, (name) => !isUpstreamLabel(name)),
    annotations: textsOf(annotations, (name) => !isUpstreamAnnotation(name)),
  };
}

/**
 * Whether a user or a tool created an object on the cluster: it is not a copy, no controller owns it, no server creates it by
 * itself, and its namespace is neither reserved for servers nor managed by TMC.
 */
export function isUpsyncCandidate(object: KubeObject): boolean {
  const { kind, metadata } = object;
  const { name = "", namespace = "", labels, annotations, ownerReferences } = metadata;
  const isCopy = labels?.[syncedLabel] !== undefined || annotations?.[ownerAnnotation] !== undefined;
  const isControlled = ownerReferences?.some(({ controller }) => controller === true) === true;
  const isOfServers =
    isServerCreated(kind, name) ||
    isTokenSecret(object) ||
    (kind === "Service" && namespace === "default" && name === "kubernetes");
  return namespace !== "" && !isReservedNamespace(namespace) && !isCopy && !isControlled && !isOfServers;
}
