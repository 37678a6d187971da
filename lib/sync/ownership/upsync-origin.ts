import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { groupOf, parseStringFields, type Texts } from "../../model/json.ts";

/** Where an object of a workspace was born: on a cluster, before the workspace had it. */
export type UpsyncOrigin = Readonly<{
  /** The logical cluster that it was made known to. */
  logicalCluster: string;
  /** The name of the ClusterRegistration by which it was found. */
  registration: string;
  apiVersion: string;
  kind: string;
  /** The namespace and the name are the same on the cluster and in the workspace. */
  namespace: string;
  name: string;
  /** The uid that it has on the cluster. */
  uid: string;
}>;

/** The annotation by which an object of a workspace says where it was born. Copies on clusters do not carry it. */
export const upsyncOriginAnnotation = `${group}/upsync-origin`;

/** What an object of a workspace carries that was born on a cluster. */
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
 * Where an object of a logical cluster says that it was born; undefined for one that was not, and for a mark that is another
 * object's: who copies a manifest under another name, or into another workspace, copies the annotation along.
 */
export function upsyncOriginOf(
  { apiVersion, kind, metadata }: Pick<KubeObject, "apiVersion" | "kind" | "metadata">,
  cluster: string,
): UpsyncOrigin | undefined {
  const mark = parseStringFields(metadata.annotations?.[upsyncOriginAnnotation], [
    "logicalCluster",
    "registration",
    "apiVersion",
    "kind",
    "namespace",
    "name",
    "uid",
  ]);
  if (mark === undefined) return undefined;
  const isItsOwn =
    mark.logicalCluster === cluster &&
    mark.namespace === metadata.namespace &&
    mark.name === metadata.name &&
    mark.kind === kind &&
    groupOf(mark.apiVersion) === groupOf(apiVersion);
  return isItsOwn ? mark : undefined;
}
