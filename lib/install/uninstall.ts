import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { exportName, isManagedByTmc, managedByLabel, managedByTmc } from "../api/group.ts";

import type { BoundTenant } from "../upstream/export/tenants.ts";
import { type ApiBinding, apiBindings, apiExports, endpointSlices, workspaces } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { findWorkspace, splitPath } from "./bootstrap.ts";
import { managedTypes } from "./managed-object.ts";
import { removePeopleRoles, unbindExport, unlessGone } from "./unbind.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** Where kcp keeps what makes an export's identity. */
const identitySecret = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "kcp-system" };

/** What has to be taken away. */
export type Removal = Readonly<{
  /** The whole workspace goes: we have made it, and nothing else is in it. */
  takesWorkspace: boolean;
  /** Why it stays, when it does. */
  stays: string;
  /** Our objects in it, in the order in which they go. */
  objects: readonly Readonly<{ kind: string; type: ResourceType; name: string; namespace?: string }>[];
}>;

/** Finds what an installation has left in a workspace; undefined when the workspace is not there. */
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
  const stays = !isManagedByTmc(workspace)
    ? "tmc bootstrap has not made it"
    : others.length > 0
      ? `it holds the export ${others.map(({ metadata }) => metadata.name).join(", ")}`
      : children.items.length > 0
        ? `it holds the workspace ${children.items.map(({ metadata }) => metadata.name).join(", ")}`
        : "";
  return { takesWorkspace: stays === "", stays, objects: await ownObjects(provider, signal) };
}

/** The type first, for nobody is to become a tenant any more; the roles last, for they keep the rest closed. */
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

async function ownObjects(provider: KubeClient, signal: AbortSignal | undefined): Promise<Removal["objects"]> {
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

/** Unbinds a tenant, whose objects of our types go with it. */
export async function removeTenant(kcp: KubeClient, tenant: BoundTenant, options: WaitOptions = {}): Promise<void> {
  const client = clientOf(kcp, tenant.logicalCluster);
  const { signal } = options;
  const binding = await client
    .get<ApiBinding>({ type: apiBindings, name: tenant.binding }, { signal })
    .catch(unlessGone);
  if (binding !== undefined) await unbindExport(client, { binding, mayDeleteObjects: true }, options);
  await removePeopleRoles(client, options);
}

/** Takes an installation away and waits until it is gone. */
export async function removeInstallation(
  kcp: KubeClient,
  { path, removal }: Readonly<{ path: string; removal: Removal }>,
  options: WaitOptions = {},
): Promise<void> {
  const { signal } = options;
  if (removal.takesWorkspace) {
    const { parent, name } = splitPath(path);
    await clientOf(kcp, parent).delete({ type: workspaces, name }, { signal }).catch(unlessGone);
    await waitUntil(
      `the workspace ${path} to go`,
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
  const gone = removal.objects.map(({ type, name, namespace }) => ({
    type,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  }));
  // kcp makes these two for an export and leaves the second behind.
  const made = [
    { type: endpointSlices, name: exportName },
    { ...identitySecret, name: exportName },
  ];
  for (const address of [...gone, ...made]) {
    await provider.delete(address, { signal }).catch(unlessGone);
    await waitUntil(
      `${address.type.plural} ${address.name} to go`,
      async () => {
        const present = await provider.get<KubeObject>(address, { signal }).catch(unlessGone);
        return present === undefined ? { done: true } : { missing: "it is being deleted" };
      },
      options,
    );
  }
}
