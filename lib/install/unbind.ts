import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { isManagedByTmc } from "../api/group.ts";
import { clusterRoles } from "../api/rbac.ts";
import { type ApiBinding, apiBindings, formatUnmetConditions } from "../upstream/kcp-types.ts";
import { boundTypes } from "./bind.ts";
import { managedTypes } from "./managed-object.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** Number of objects of a type. */
export type ObjectCount = Readonly<{ type: string; count: number }>;

const noObjects: KubeList = { apiVersion: "v1", kind: "List", metadata: {}, items: [] };

/** Counts the objects that deleting a binding would delete; types without objects are omitted. */
export async function countBoundObjects(
  tenant: KubeClient,
  binding: ApiBinding,
  { signal }: WaitOptions = {},
): Promise<readonly ObjectCount[]> {
  const counts = await Promise.all(
    boundTypes(binding).map(async (type) => {
      // One object and remainingItemCount: a tenant may have many objects.
      const { items, metadata } = await tenant.metadata.list({ type }, { signal, limit: 1 }).catch((error: unknown) => {
        if (faultOf(error) !== "not-found") throw error;
        return noObjects; // bound, but not served yet or anymore
      });
      const count = items.length + (metadata.remainingItemCount ?? 0);
      return { type: type.group === "" ? type.plural : `${type.plural}.${type.group}`, count };
    }),
  );
  return counts.filter(({ count }) => count > 0);
}

/** `2 clusterregistrations.tmc.kcp.io, 1 services`. */
export function formatCounts(counts: readonly ObjectCount[]): string {
  return counts.map(({ type, count }) => `${count} ${type}`).join(", ");
}

/**
 * Deletes a binding and waits until it is gone. kcp deletes all objects of its types with it; an object with a finalizer
 * delays the deletion until the finalizer is removed.
 *
 * Throws if there are such objects, unless `mayDeleteObjects` is true.
 */
export async function unbindExport(
  tenant: KubeClient,
  { binding, mayDeleteObjects }: Readonly<{ binding: ApiBinding; mayDeleteObjects: boolean }>,
  options: WaitOptions = {},
): Promise<readonly ObjectCount[]> {
  const { signal } = options;
  const { name = "", uid } = binding.metadata;
  const counts = await countBoundObjects(tenant, binding, options);
  if (counts.length > 0 && !mayDeleteObjects) {
    throw new ControllerError("conflict", `kcp: binding "${name}": deleting it would delete ${formatCounts(counts)}`);
  }
  const address = { type: apiBindings, name };
  await tenant.delete(address, { signal, preconditions: { uid } }).catch(ignoreNotFound);
  await waitUntil(
    `the deletion of binding ${name}`,
    async () => {
      const present = await tenant.get<ApiBinding>(address, { signal }).catch(ignoreNotFound);
      if (present === undefined || present.metadata.uid !== uid) return { done: true };
      return { missing: formatUnmetConditions(present.status?.conditions) || "it is being deleted" };
    },
    options,
  );
  return counts;
}

/** Deletes the ClusterRoles for users from a workspace, except those without TMC's managed-by label. */
export async function removeUserRoles(client: KubeClient, { signal }: WaitOptions = {}): Promise<void> {
  for (const { metadata } of clusterRoles) {
    const address = { type: managedTypes.ClusterRole, name: metadata.name };
    const present = await client.get<KubeObject>(address, { signal }).catch(ignoreNotFound);
    if (present === undefined || !isManagedByTmc(present)) continue;
    await client.delete(address, { signal, preconditions: { uid: present.metadata.uid } }).catch(ignoreNotFound);
  }
}

/** Error handler for deletions: a missing object counts as deleted. */
export function ignoreNotFound(error: unknown): undefined {
  if (faultOf(error) !== "not-found") throw error;
  return undefined;
}
