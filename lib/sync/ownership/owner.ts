import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { groupOf, parseStringFields, type Texts } from "../../model/json.ts";
import { shortHash } from "../../model/short-hash.ts";

import type { Locator } from "./namespace-map.ts";

/** Whose copy an object on a cluster is. */
export type Owner = Locator &
  Readonly<{
    /** The name of the ClusterRegistration by which it got there. */
    registration: string;
    apiVersion: string;
    kind: string;
    name: string;
  }>;

/** The label of everything that TMC keeps on clusters; its value tells the tenants apart. */
export const syncedLabel = `${group}/synced`;

/** The annotation by which a copy says whose it is. */
export const ownerAnnotation = `${group}/owner`;

/** The value of the label for one tenant: short enough for a label, and the same for all that is the tenant's. */
export function tenantLabelValue(hub: string, cluster: string): string {
  return shortHash(JSON.stringify([hub, cluster]));
}

/** What a copy carries. */
export function ownershipMetadata(origin: Owner): Readonly<{ labels: Texts; annotations: Texts }> {
  const { hub, logicalCluster, namespace, registration, apiVersion, kind, name } = origin;
  return {
    labels: { [syncedLabel]: tenantLabelValue(hub, logicalCluster) },
    annotations: {
      [ownerAnnotation]: JSON.stringify({
        hub,
        logicalCluster,
        namespace,
        registration,
        apiVersion,
        kind,
        name,
      }),
    },
  };
}

/** What an object says of its origin; undefined when it says nothing, or nothing that can be read. */
export function ownerOf({ metadata }: Pick<KubeObject, "metadata">): Owner | undefined {
  return parseStringFields(metadata.annotations?.[ownerAnnotation], [
    "hub",
    "logicalCluster",
    "namespace",
    "registration",
    "apiVersion",
    "kind",
    "name",
  ]);
}

/**
 * Tells whether an object on a cluster is the copy of this origin: label and annotation say so, and the object is what they
 * say. Controllers on a cluster hand labels and annotations on to what they make (a Deployment's to its ReplicaSets, a
 * Service's to its Endpoints), and that is not ours.
 */
export function belongsTo(object: KubeObject, origin: Owner): boolean {
  return strangeness(object, origin) === undefined;
}

/** Says in a clause why an object is not the copy of this origin. It names nothing of another tenant. */
export function whyNotOwned(object: KubeObject, origin: Owner): string {
  return strangeness(object, origin) ?? "it is its copy";
}

/** The other registration by which the same workload has an object: two may stand for one cluster. */
export function otherOwningRegistration(object: KubeObject, ours: Owner): string | undefined {
  const { registration } = ownerOf(object) ?? ours;
  return registration !== ours.registration && belongsTo(object, { ...ours, registration }) ? registration : undefined;
}

function strangeness(object: KubeObject, ours: Owner): string | undefined {
  const label = object.metadata.labels?.[syncedLabel];
  const theirs = ownerOf(object);
  if (label === undefined || theirs === undefined) return "it was not made by TMC";
  if (theirs.hub !== ours.hub) return "it belongs to another control plane";
  if (theirs.logicalCluster !== ours.logicalCluster) return "it belongs to another logical cluster";
  if (label !== tenantLabelValue(ours.hub, ours.logicalCluster))
    return "its label and its annotation name different owners";
  if (theirs.registration !== ours.registration) return `it belongs to registration ${plain(theirs.registration)}`;
  if (!isSameObject(theirs, ours)) {
    return `it belongs to ${plain(theirs.kind)} ${plain(theirs.namespace)}/${plain(theirs.name)}`;
  }
  const { apiVersion, kind, metadata } = object;
  if (isSameObject({ ...theirs, apiVersion, kind, name: metadata.name ?? "" }, ours)) return undefined;
  return "it was not made by TMC, only marked like something that was";
}

/** Versions of an API show the same object; groups do not. */
function isSameObject(one: Owner, other: Owner): boolean {
  return (
    one.namespace === other.namespace &&
    one.name === other.name &&
    one.kind === other.kind &&
    groupOf(one.apiVersion) === groupOf(other.apiVersion)
  );
}

/** Whoever writes on the cluster wrote this text, and it goes into a message: only what can be a name is repeated. */
function plain(text: string): string {
  return /^[A-Za-z0-9.-]{1,253}$/.test(text) ? text : "?";
}
