import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { accountNamespace } from "../../api/export-access.ts";
import { group } from "../../api/group.ts";
import { parseStringFields } from "../../model/json.ts";
import { shortHash, shortHashLength } from "../../model/text.ts";
import type { Manifest } from "../sync-objects.ts";
import { syncedLabel, tenantLabelValue } from "./owner.ts";

/** A namespace of a tenant, unique across all tenants of all control planes. */
export type Locator = Readonly<{
  /** Id of the control plane: names of logical clusters are unique only within one. */
  hub: string;
  logicalCluster: string;
  namespace: string;
}>;

/** The annotation of a downstream namespace that names the upstream namespace. */
export const locatorAnnotation = `${group}/namespace-locator`;

/** How much of the upstream name is kept: with prefix and hash, the name fits into the 63 characters of a DNS label. */
const readableLength = 30;
/** Prefix of the names of downstream namespaces. */
export const namespacePrefix = "tmc-";

/** The downstream namespace for a namespace of a tenant, such as `tmc-shop-3k9x…`. The hash makes it unique. */
export function downstreamNamespace({ hub, logicalCluster, namespace }: Locator): string {
  // JSON, because joined parts are ambiguous if a part may contain the separator.
  const hash = shortHash(JSON.stringify([hub, logicalCluster, namespace]));
  return `${namespacePrefix}${namespace.slice(0, readableLength)}-${hash}`;
}

/** The Namespace object as it is written to a cluster. */
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

/** The locator of a downstream namespace. Undefined if it is not ours, or if its name does not follow from its locator. */
export function locatorOf({ metadata }: Pick<KubeObject, "metadata">): Locator | undefined {
  const { name = "", annotations } = metadata;
  // Most namespaces of a cluster are not ours; the prefix check avoids parsing and hashing for them.
  if (!name.startsWith(namespacePrefix)) return undefined;
  const locator = parseStringFields(annotations?.[locatorAnnotation], ["hub", "logicalCluster", "namespace"]);
  return locator !== undefined && downstreamNamespace(locator) === name ? locator : undefined;
}

/** Whether a downstream namespace is the one for a locator, by its label and its annotation. */
export function isNamespaceOf(
  namespace: Pick<KubeObject, "metadata">,
  { hub, logicalCluster, namespace: upstreamNamespace }: Locator,
): boolean {
  const locator = locatorOf(namespace);
  return (
    namespace.metadata.labels?.[syncedLabel] === tenantLabelValue(hub, logicalCluster) &&
    locator?.hub === hub &&
    locator.logicalCluster === logicalCluster &&
    locator.namespace === upstreamNamespace
  );
}

/**
 * Whether nothing is ever synced from an upstream namespace: the namespaces of the servers, TMC's own, which holds the identity
 * of the hub, and those that TMC creates downstream, because a control plane may be registered as a cluster too.
 *
 * Downstream, nothing can be written to a namespace like `kube-system` or `default`: all copies are in namespaces that
 * `downstreamNamespace` has named.
 */
export function isReservedNamespace(name: string): boolean {
  return name.startsWith("kube-") || name === "kcp-system" || name === accountNamespace || downstreamName.test(name);
}

/** Whether a namespace on a cluster has the name of one that TMC creates for a tenant, of any control plane. */
export const isDownstreamName = (name: string): boolean => downstreamName.test(name);

const downstreamName = new RegExp(`^${namespacePrefix}.*-[0-9a-z]{${shortHashLength}}$`);
