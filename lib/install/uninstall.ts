import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { exportName, isManagedByTmc, managedByLabel, managedByTmc } from "../api/group.ts";

import type { BoundTenant } from "../upstream/export/tenants.ts";
import { type ApiBinding, apiBindings, apiExports, endpointSlices, workspaces } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { findWorkspace, splitWorkspacePath } from "./bootstrap.ts";
import { managedTypes } from "./managed-object.ts";
import { ignoreNotFound, removeUserRoles, unbindExport } from "./unbind.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** The Secret in which kcp stores an export's identity. */
const identitySecret = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "kcp-system" };

/** What `tmc uninstall` deletes. */
export type Removal = Readonly<{
  /** Whether the whole workspace is deleted: `tmc bootstrap` created it, and it holds nothing else. */
  deletesWorkspace: boolean;
  /** Why the workspace is kept; empty if it is deleted. */
  keepReason: string;
  /** TMC's objects in the workspace, in deletion order. */
  objects: readonly Readonly<{ kind: string; type: ResourceType; name: string; namespace?: string }>[];
}>;

/** Finds an installation in a workspace; undefined if the workspace does not exist. */
export async function findInstallation(
  kcp: KubeClient,
  path: string,
  options: WaitOptions = {},
): Promise<Removal | undefined> {
  const workspace = await findWorkspace(kcp, path, options);
  if (workspace === undefined) return undefined;
  const provider = clientOf(kcp, path);
  const { signal } = options;
  const [exports, children] = await Promise.all([
    provider.listAll<KubeObject>({ type: apiExports }, { signal }),
    provider.listAll<KubeObject>({ type: workspaces }, { signal }),
  ]);
  const others = exports.items.filter(({ metadata }) => metadata.name !== exportName);
  const keepReason = !isManagedByTmc(workspace)
    ? "tmc bootstrap did not create it"
    : others.length > 0
      ? `it contains the export ${others.map(({ metadata }) => metadata.name).join(", ")}`
      : children.items.length > 0
        ? `it contains the workspace ${children.items.map(({ metadata }) => metadata.name).join(", ")}`
        : "";
  return { deletesWorkspace: keepReason === "", keepReason, objects: await managedObjectsIn(provider, signal) };
}

/** WorkspaceType first, so that no new tenants appear; roles last, because they restrict access to the rest. */
const removalOrder = [
  "WorkspaceType",
  "APIExport",
  "APIResourceSchema",
  "ServiceAccount",
  "Namespace",
  "RoleBinding",
  "Role",
  "ClusterRoleBinding",
  "ClusterRole",
] as const satisfies readonly (keyof typeof managedTypes)[];

async function managedObjectsIn(provider: KubeClient, signal: AbortSignal | undefined): Promise<Removal["objects"]> {
  const labelSelector = `${managedByLabel}=${managedByTmc[managedByLabel]}`;
  const found = await Promise.all(
    removalOrder.map(async (kind) => {
      const type = managedTypes[kind];
      const { items } = await provider.listAll<KubeObject>({ type }, { signal, labelSelector });
      return items.map(({ metadata: { name = "", namespace } }) => ({
        kind,
        type,
        name,
        ...(namespace === undefined ? {} : { namespace }),
      }));
    }),
  );
  return found.flat();
}

/** Unbinds a tenant. Its objects of TMC's types are deleted with the binding. */
export async function removeTenant(kcp: KubeClient, tenant: BoundTenant, options: WaitOptions = {}): Promise<void> {
  const client = clientOf(kcp, tenant.logicalCluster);
  const { signal } = options;
  const binding = await client
    .get<ApiBinding>({ type: apiBindings, name: tenant.binding }, { signal })
    .catch(ignoreNotFound);
  if (binding !== undefined) await unbindExport(client, { binding, mayDeleteObjects: true }, options);
  await removeUserRoles(client, options);
}

/** Deletes an installation and waits until it is gone. */
export async function removeInstallation(
  kcp: KubeClient,
  { path, removal }: Readonly<{ path: string; removal: Removal }>,
  options: WaitOptions = {},
): Promise<void> {
  const { signal } = options;
  if (removal.deletesWorkspace) {
    const { parent, name } = splitWorkspacePath(path);
    await clientOf(kcp, parent).delete({ type: workspaces, name }, { signal }).catch(ignoreNotFound);
    await waitUntil(
      `the deletion of workspace ${path}`,
      async () => {
        const present = await findWorkspace(kcp, path, options);
        return present === undefined
          ? { done: true }
          : { missing: `its phase is ${present.status?.phase ?? "not set"}` };
      },
      options,
    );
    return;
  }
  const provider = clientOf(kcp, path);
  const addresses = removal.objects.map(({ type, name, namespace }) => ({
    type,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  }));
  // kcp creates these two for an export and does not delete the second.
  const createdByKcp = [
    { type: endpointSlices, name: exportName },
    { ...identitySecret, name: exportName },
  ];
  for (const address of [...addresses, ...createdByKcp]) {
    await provider.delete(address, { signal }).catch(ignoreNotFound);
    await waitUntil(
      `the deletion of ${address.type.plural} ${address.name}`,
      async () => {
        const present = await provider.get<KubeObject>(address, { signal }).catch(ignoreNotFound);
        return present === undefined ? { done: true } : { missing: "it is being deleted" };
      },
      options,
    );
  }
}
