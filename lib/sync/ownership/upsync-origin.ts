import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { apiGroupOf, parseStringFields, type Texts } from "../../model/json.ts";

/** The downstream object that an upsynced object mirrors upstream. */
export type UpsyncOrigin = Readonly<{
  /** The logical cluster that the object is mirrored to. */
  logicalCluster: string;
  /** The name of the ClusterRegistration by which it was found. */
  registration: string;
  apiVersion: string;
  kind: string;
  /** The namespace and the name are the same upstream and downstream. */
  namespace: string;
  name: string;
  /** The downstream uid. */
  uid: string;
}>;

/** The annotation of an upsynced object upstream that names its origin. Copies on clusters do not carry it. */
export const upsyncOriginAnnotation = `${group}/upsync-origin`;

/** The annotations of an upsynced object. */
export function upsyncOriginMetadata({
  logicalCluster,
  registration,
  apiVersion,
  kind,
  namespace,
  name,
  uid,
}: UpsyncOrigin): Texts {
  return {
    [upsyncOriginAnnotation]: JSON.stringify({
      logicalCluster,
      registration,
      apiVersion,
      kind,
      namespace,
      name,
      uid,
    }),
  };
}

/**
 * The origin that an upstream object names. Undefined if it names none, or if the annotation belongs to another object: a
 * user who copies a manifest to another name or workspace copies the annotation with it.
 */
export function upsyncOriginOf(
  { apiVersion, kind, metadata }: Pick<KubeObject, "apiVersion" | "kind" | "metadata">,
  logicalCluster: string,
): UpsyncOrigin | undefined {
  const origin = parseStringFields(metadata.annotations?.[upsyncOriginAnnotation], [
    "logicalCluster",
    "registration",
    "apiVersion",
    "kind",
    "namespace",
    "name",
    "uid",
  ]);
  if (origin === undefined) return undefined;
  const isOwnOrigin =
    origin.logicalCluster === logicalCluster &&
    origin.namespace === metadata.namespace &&
    origin.name === metadata.name &&
    origin.kind === kind &&
    apiGroupOf(origin.apiVersion) === apiGroupOf(apiVersion);
  return isOwnOrigin ? origin : undefined;
}
