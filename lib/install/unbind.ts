import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { isManagedByTmc } from "../api/group.ts";
import { clusterRoles } from "../api/rbac.ts";
import { type ApiBinding, apiBindings, formatComplaints } from "../upstream/kcp-types.ts";
import { boundTypes } from "./bind.ts";
import { managedTypes } from "./managed-object.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** How many objects of a type there are. */
export type ObjectCount = Readonly<{ type: string; count: number }>;

const noObjects: KubeList = { apiVersion: "v1", kind: "List", metadata: {}, items: [] };

/** Counts the objects that would go with a binding; types without any are left out. */
export async function countBoundObjects(
  tenant: KubeClient,
  binding: ApiBinding,
  { signal }: WaitOptions = {},
): Promise<readonly ObjectCount[]> {
  const counts = await Promise.all(
    boundTypes(binding).map(async (type) => {
      // One object and the number of the others: a tenant may have many.
      const { items, metadata } = await tenant.metadata.list({ type }, { signal, limit: 1 }).catch((error: unknown) => {
        if (faultOf(error) !== "not-found") throw error;
        return noObjects; // bound, but not served yet, or no longer
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
 * Takes a binding away and waits until it is gone. kcp deletes every object of its types with it; an object with a
 * finalizer holds it up until whoever put that there has taken it off.
 *
 * Fails while there are such objects, unless they may go.
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
    throw new ControllerError("conflict", `kcp: binding "${name}": would take with it ${formatCounts(counts)}`);
  }
  const address = { type: apiBindings, name };
  await tenant.delete(address, { signal, preconditions: { uid } }).catch(unlessGone);
  await waitUntil(
    `the binding ${name} to go`,
    async () => {
      const present = await tenant.get<ApiBinding>(address, { signal }).catch(unlessGone);
      if (present === undefined || present.metadata.uid !== uid) return { done: true };
      return { missing: formatComplaints(present.status?.conditions) || "it is being deleted" };
    },
    options,
  );
  return counts;
}

/** Takes the roles for people out of a workspace again; those that somebody else has made stay. */
export async function removePeopleRoles(client: KubeClient, { signal }: WaitOptions = {}): Promise<void> {
  for (const { metadata } of clusterRoles) {
    const address = { type: managedTypes.ClusterRole, name: metadata.name };
    const present = await client.get<KubeObject>(address, { signal }).catch(unlessGone);
    if (present === undefined || !isManagedByTmc(present)) continue;
    await client.delete(address, { signal, preconditions: { uid: present.metadata.uid } }).catch(unlessGone);
  }
}

/** What is not there need not be taken away. */
export function unlessGone(error: unknown): undefined {
  if (faultOf(error) !== "not-found") throw error;
  return undefined;
}
