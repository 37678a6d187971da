import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ExportedType } from "../api/api-export.ts";
import { tenantRole } from "../api/export-access.ts";
import { exportName, managedByTmc } from "../api/group.ts";
import { readEndpointUrls } from "../upstream/export/endpoints.ts";
import type { OpenEndpoint } from "../upstream/export/tenants.ts";
import { createHubRecord, hubRecordAddress, openHubRecord } from "../upstream/hub-record.ts";
import {
  type ApiExport,
  apiExports,
  formatUnmetConditions,
  type WorkspaceObject,
  workspaces,
} from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { type DesiredProvider, exportedTypes, providerObjects } from "./bootstrap-objects.ts";
import { type PlanStep, planObjects } from "./bootstrap-plan.ts";
import { findObjects, installFieldManager, performStep, readIfExists } from "./ensure-objects.ts";
import { managedTypes } from "./managed-object.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";
import { ensureWorkspace } from "./workspaces.ts";

/** What `tmc bootstrap` has to do in the provider workspace. */
export type BootstrapPlan = Readonly<{
  /** Whether the workspace must be created. */
  createsWorkspace: boolean;
  steps: readonly PlanStep[];
  /** Whether the identity of the hub must be stored. */
  storesIdentity: boolean;
  /** Number of objects that are up to date. */
  unchanged: number;
  /** Types that are in the export but not requested in this run. */
  retained: readonly ExportedType[];
}>;

export type BootstrapRequest = Pick<DesiredProvider, "path" | "custom"> &
  Readonly<{
    /** Group of users who may bind the export. @default the current group; in a new installation all authenticated users */
    tenants?: string | undefined;
  }>;

/** Compares a provider workspace with the desired state and returns the plan. Changes nothing. */
export async function planBootstrap(
  kcp: KubeClient,
  request: BootstrapRequest,
  options: WaitOptions = {},
): Promise<BootstrapPlan> {
  const provider = clientOf(kcp, request.path);
  const exists = (await findWorkspace(kcp, request.path, options)) !== undefined;
  if (exists)
    await requirePermission(provider, request.path, { verb: "get", group: apiExports.group, resource: "apiexports" });
  const retained = exists ? await retainedTypes(provider, request, options) : [];
  const tenants =
    request.tenants ?? (exists ? await currentTenantGroup(provider, options) : undefined) ?? allAuthenticatedUsers;
  const desired = providerObjects({ ...request, tenants, retained });
  const steps = planObjects(desired, exists ? await findObjects(provider, desired, options) : () => undefined);
  const identity = exists ? await readIfExists(provider, hubRecordAddress, options) : undefined;
  const unchanged = desired.length - steps.length + (identity === undefined ? 0 : 1);
  return { createsWorkspace: !exists, steps, storesIdentity: identity === undefined, unchanged, retained };
}

const allAuthenticatedUsers = "system:authenticated";

/** Returns the group that may bind the export now, so that a run without `tenants` does not widen the operator's choice. */
async function currentTenantGroup(provider: KubeClient, options: WaitOptions): Promise<string | undefined> {
  const binding = await readIfExists<KubeObject & { subjects?: { kind: string; name: string }[] }>(
    provider,
    { type: managedTypes.ClusterRoleBinding, name: tenantRole },
    options,
  );
  return binding?.subjects?.find(({ kind }) => kind === "Group")?.name;
}

/** Executes a plan and waits until the export has an identity. */
export async function performBootstrap(
  kcp: KubeClient,
  { path, plan, openEndpoint }: Readonly<{ path: string; plan: BootstrapPlan; openEndpoint: OpenEndpoint }>,
  options: WaitOptions = {},
): Promise<void> {
  const provider = clientOf(kcp, path);
  if (plan.createsWorkspace) {
    await createWorkspace(kcp, path, options);
  } else if (plan.steps.length > 0 || plan.storesIdentity)
    await requirePermission(provider, path, { verb: "*", group: "*", resource: "*" });
  for (const step of plan.steps) await performStep(provider, step, options);
  await waitForIdentity(provider, options);
  if (plan.storesIdentity) await storeHubIdentity(kcp, { path, openEndpoint }, options);
}

/**
 * Stores the identity of the hub. Tenants of an earlier version have sync records, whose id is kept. The address is stored by
 * the first process that serves the export, because an administrator may use another one.
 */
async function storeHubIdentity(
  kcp: KubeClient,
  { path, openEndpoint }: Readonly<{ path: string; openEndpoint: OpenEndpoint }>,
  options: WaitOptions,
): Promise<void> {
  const { signal } = options;
  const urls = (await readEndpointUrls(kcp, { path, name: exportName }, signal)) ?? [];
  const sources = urls.map((url) => openEndpoint(`${url}/clusters/*`));
  const store = openHubRecord(clientOf(kcp, path), { isKcp: true, signal });
  await waitUntil(
    "the identity of the hub to be stored",
    async () => ({ done: await createHubRecord(store, { root: kcp, sources, server: undefined, signal }) }),
    options,
  );
}

/** Creates the workspace with the managed-by label, so that `tmc uninstall` can delete it even if the bootstrap is interrupted. */
async function createWorkspace(kcp: KubeClient, path: string, options: WaitOptions): Promise<void> {
  const { parent, name } = splitWorkspacePath(path);
  const parentClient = clientOf(kcp, parent);
  await requirePermission(parentClient, parent, { verb: "create", group: workspaces.group, resource: "workspaces" });
  const workspace = {
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "Workspace",
    metadata: { name, labels: managedByTmc },
  };
  await waitUntil(
    `the workspace ${path} to be accepted`,
    async () => {
      await parentClient
        .create({ type: workspaces }, workspace, { signal: options.signal, fieldManager: installFieldManager })
        .catch((error: unknown) => {
          if (faultOf(error) !== "exists") throw error;
        });
      return { done: true };
    },
    options,
  );
  await ensureWorkspace(kcp, path, options);
}

type PermissionRequest = Readonly<{ verb: string; group: string; resource: string }>;

/**
 * Throws if the user lacks a permission. Without this check, a missing permission would be indistinguishable from the 403 that
 * kcp returns for new objects, which is retried.
 */
async function requirePermission(client: KubeClient, path: string, permission: PermissionRequest): Promise<void> {
  const review = await client.create<KubeObject & { status?: { allowed?: boolean } }>(
    { type: { group: "authorization.k8s.io", version: "v1", plural: "selfsubjectaccessreviews" } },
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: permission },
    },
  );
  if (review.status?.allowed === true) return;
  const reason =
    permission.verb === "*"
      ? "you are not an administrator there"
      : `you may not ${permission.verb} ${permission.resource}`;
  throw new ControllerError("forbidden", `workspace "${path}": ${reason}`);
}

export async function waitForIdentity(provider: KubeClient, options: WaitOptions = {}): Promise<void> {
  await waitUntil(
    `an identity of the export ${exportName}`,
    async () => {
      const { status } = await provider.get<ApiExport>(exportAddress, { signal: options.signal });
      return status?.identityHash === undefined
        ? { missing: formatUnmetConditions(status?.conditions) || "it has no identity yet" }
        : { done: true };
    },
    options,
  );
}

const exportAddress = { type: apiExports, name: exportName };

/** Returns the types of the export that are neither built-in nor requested. They stay: removing a type would orphan its objects. */
export async function retainedTypes(
  provider: KubeClient,
  desired: Pick<DesiredProvider, "custom">,
  options: WaitOptions,
): Promise<readonly ExportedType[]> {
  const present = await readIfExists<ApiExport>(provider, exportAddress, options);
  const named = new Set(exportedTypes(desired).map(({ group, plural }) => `${plural}.${group}`));
  return (present?.spec?.resources ?? [])
    .filter(({ name, group }) => !named.has(`${name}.${group}`))
    .map(({ name, group, schema }) => ({ plural: name, group, schema }));
}

/** Splits a workspace path into parent and name: `root:org:team` into `root:org` and `team`. */
export function splitWorkspacePath(path: string): Readonly<{ parent: string; name: string }> {
  const at = path.lastIndexOf(":");
  if (at < 1) throw new ControllerError("invalid", `workspace "${path}": has no parent; use a path like root:tmc`);
  return { parent: path.slice(0, at), name: path.slice(at + 1) };
}

/** Returns the Workspace object of a path; undefined if it does not exist. */
export async function findWorkspace(
  kcp: KubeClient,
  path: string,
  { signal }: WaitOptions,
): Promise<WorkspaceObject | undefined> {
  const { parent, name } = splitWorkspacePath(path);
  return clientOf(kcp, parent).get<WorkspaceObject>({ type: workspaces, name }, { signal }).catch(undefinedIfNotFound);
}

function undefinedIfNotFound(error: unknown): undefined {
  if (faultOf(error) !== "not-found") throw error;
  return undefined;
}
