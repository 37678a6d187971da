import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { apiGroupOf, parseStringFields, type Texts } from "../../model/json.ts";
import { shortHash } from "../../model/text.ts";
import type { Locator } from "./namespace-map.ts";

/** The upstream owner of a downstream object, and the registration by which it was written. */
export type Owner = Locator &
  Readonly<{
    /** The name of the ClusterRegistration. */
    registration: string;
    apiVersion: string;
    kind: string;
    name: string;
  }>;

/** The label of every object that TMC writes to clusters; its value differs between tenants. */
export const syncedLabel = `${group}/synced`;

/** The annotation of a copy that names its owner. */
export const ownerAnnotation = `${group}/owner`;

/** The value of `syncedLabel` for one tenant: a hash, because names of logical clusters may be too long for a label. */
export function tenantLabelValue(hub: string, logicalCluster: string): string {
  return shortHash(JSON.stringify([hub, logicalCluster]));
}

/** The label and the annotation of a copy. */
export function ownershipMetadata(owner: Owner): Readonly<{ labels: Texts; annotations: Texts }> {
  const { hub, logicalCluster, namespace, registration, apiVersion, kind, name } = owner;
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

/** The owner that an object names; undefined when the annotation is missing or cannot be parsed. */
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
 * Whether a downstream object is the copy of this owner: its label and annotation name the owner, and the object is what they
 * name. Controllers on a cluster pass labels and annotations on to objects that they create (a Deployment to its ReplicaSets,
 * a Service to its Endpoints); TMC does not own those.
 */
export function isOwnedBy(object: KubeObject, owner: Owner): boolean {
  return ownershipMismatch(object, owner) === undefined;
}

/** Explains, for a message, why an object is not the copy of this owner. It names nothing of another tenant. */
export function whyNotOwned(object: KubeObject, owner: Owner): string {
  return ownershipMismatch(object, owner) ?? "it is owned by this workload";
}

/** The other registration by which the same workload owns an object: two registrations may point to one cluster. */
export function otherOwningRegistration(object: KubeObject, owner: Owner): string | undefined {
  const { registration } = ownerOf(object) ?? owner;
  return registration !== owner.registration && isOwnedBy(object, { ...owner, registration })
    ? registration
    : undefined;
}

function ownershipMismatch(object: KubeObject, expected: Owner): string | undefined {
  const label = object.metadata.labels?.[syncedLabel];
  const actual = ownerOf(object);
  if (label === undefined || actual === undefined) return "it was not created by TMC";
  if (actual.hub !== expected.hub) return "it belongs to another control plane";
  if (actual.logicalCluster !== expected.logicalCluster) return "it belongs to another logical cluster";
  if (label !== tenantLabelValue(expected.hub, expected.logicalCluster))
    return "its label and its annotation name different owners";
  if (actual.registration !== expected.registration) {
    return `it belongs to registration ${safeName(actual.registration)}`;
  }
  if (!isSameObject(actual, expected)) {
    return `it belongs to ${safeName(actual.kind)} ${safeName(actual.namespace)}/${safeName(actual.name)}`;
  }
  const { apiVersion, kind, metadata } = object;
  if (isSameObject({ ...actual, apiVersion, kind, name: metadata.name ?? "" }, expected)) return undefined;
  return "it was not created by TMC; it carries the label and annotation of an object that was";
}

/** Versions of an API serve the same object; groups do not. */
function isSameObject(one: Owner, other: Owner): boolean {
  return (
    one.namespace === other.namespace &&
    one.name === other.name &&
    one.kind === other.kind &&
    apiGroupOf(one.apiVersion) === apiGroupOf(other.apiVersion)
  );
}

/** A user of the cluster may have written this text, and it goes into a message: only a valid name is repeated. */
function safeName(text: string): string {
  return /^[A-Za-z0-9.-]{1,253}$/.test(text) ? text : "?";
}
