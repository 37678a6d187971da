import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { group } from "../../api/group.ts";
import { parseStringFields } from "../../model/json.ts";
import { shortHash, shortHashLength } from "../../model/short-hash.ts";
import type { Manifest } from "../sync-objects.ts";
import { syncedLabel, tenantLabelValue } from "./owner.ts";

/** A namespace of a tenant, told apart from those of all other tenants of all other hubs. */
export type Locator = Readonly<{
  /** Which control plane: LC names are only unique within one. */
  hub: string;
  /** The logical cluster. */
  logicalCluster: string;
  namespace: string;
}>;

/** The annotation by which a namespace on a cluster says whose it is. */
export const locatorAnnotation = `${group}/namespace-locator`;

/** As much of the tenant's own name as leaves the whole, with prefix and hash, within a DNS label's 63 characters. */
const readableLength = 30;
const prefix = "tmc-";

/**
 * The namespace on a cluster for a namespace of a tenant: `tmc-shop-3k9x…`. What comes first is for people, the hash at
 * the end makes it the only one.
 */
export function downstreamNamespace({ hub, logicalCluster, namespace }: Locator): string {
  // JSON, because a join has two readings as soon as a part may hold the separator.
  const id = shortHash(JSON.stringify([hub, logicalCluster, namespace]));
  return `${prefix}${namespace.slice(0, readableLength)}-${id}`;
}

/** The namespace as it is written to a cluster. */
export function namespaceManifest(locator: Locator): Manifest {
  const { hub, logicalCluster, namespace } = locator;
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: downstreamNamespace(locator),
      labels: { [syncedLabel]: tenantLabelValue(hub, logicalCluster) },
      annotations: { [locatorAnnotation]: JSON.stringify({ hub, logicalCluster, namespace }) },
    },
  };
}

/** Whose a namespace on a cluster is; undefined for one that is not ours, or whose locator is not the one that it was named for. */
export function locatorOf({ metadata }: Pick<KubeObject, "metadata">): Locator | undefined {
  const { name = "", annotations } = metadata;
  // A cheap look before the dear one: a cluster has many namespaces that are not ours.
  if (!name.startsWith(prefix)) return undefined;
  const locator = parseStringFields(annotations?.[locatorAnnotation], ["hub", "logicalCluster", "namespace"]);
  return locator !== undefined && downstreamNamespace(locator) === name ? locator : undefined;
}

/** Tells whether a namespace on a cluster is the one for a locator, by its label and by its annotation. */
export function isNamespaceOf(
  namespace: Pick<KubeObject, "metadata">,
  { hub, logicalCluster, ...rest }: Locator,
): boolean {
  const locator = locatorOf(namespace);
  return (
    namespace.metadata.labels?.[syncedLabel] === tenantLabelValue(hub, logicalCluster) &&
    locator?.hub === hub &&
    locator.logicalCluster === logicalCluster &&
    locator.namespace === rest.namespace
  );
}

/**
 * Tells whether nothing is ever synced from a namespace of a hub: the servers' own, and those that TMC itself makes, for a
 * hub may be registered as a cluster too.
 *
 * On a cluster nothing can end up in a namespace like `kube-system` or `default`: whatever is written there is in one that
 * `namespaceOn` named.
 */
export function isReservedNamespace(name: string): boolean {
  return name.startsWith("kube-") || name === "kcp-system" || ownName.test(name);
}

const ownName = new RegExp(`^${prefix}.*-[0-9a-z]{${shortHashLength}}$`);
