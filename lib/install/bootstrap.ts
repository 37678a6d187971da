import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ExportedType } from "../api/api-export.ts";
import { tenantRole } from "../api/export-access.ts";
import { exportName, managedByTmc } from "../api/group.ts";

import { type ApiExport, apiExports, formatComplaints, type Workspace, workspaces } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { exportedTypes, type ProviderWish, providerObjects } from "./bootstrap-objects.ts";
import { planObjects, type Step } from "./bootstrap-plan.ts";
import { fieldManager, findObjects, performStep, readIfThere } from "./ensure-objects.ts";
import { managedTypes } from "./managed-object.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";
import { ensureWorkspace } from "./workspaces.ts";

/** What has to be done so that a workspace offers TMC to tenants. */
export type BootstrapPlan = Readonly<{
  /** Whether the workspace itself has to be made. */
  makesWorkspace: boolean;
  steps: readonly Step[];
  /** How many objects are as they should be. */
  unchanged: number;
  /** Types of the export that nobody has named this time. */
  kept: readonly ExportedType[];
}>;

export type BootstrapWish = Pick<ProviderWish, "path" | "custom"> &
  Readonly<{
    /** The group of users who may become tenants. @default the one that may already, at first everybody who has logged in */
    tenants?: string | undefined;
  }>;

/** Looks at a provider workspace and says what has to be done; nothing is changed. */
export async function planBootstrap(
  kcp: KubeClient,
  wish: BootstrapWish,
  options: WaitOptions = {},
): Promise<BootstrapPlan> {
  const provider = clientOf(kcp, wish.path);
  const isThere = (await findWorkspace(kcp, wish.path, options)) !== undefined;
  if (isThere) await demandRight(provider, wish.path, { verb: "get", group: apiExports.group, resource: "apiexports" });
  const kept = isThere ? await keptTypes(provider, wish, options) : [];
  const tenants = wish.tenants ?? (isThere ? await presentTenants(provider, options) : undefined) ?? everybody;
  const wanted = providerObjects({ ...wish, tenants, kept });
  const steps = planObjects(wanted, isThere ? await findObjects(provider, wanted, options) : () => undefined);
  return { makesWorkspace: !isThere, steps, unchanged: wanted.length - steps.length, kept };
}

const everybody = "system:authenticated";

/** The group that may become tenants now: one that an operator has chosen is not to be widened by a run that names none. */
async function presentTenants(provider: KubeClient, options: WaitOptions): Promise<string | undefined> {
  const binding = await readIfThere<KubeObject & { subjects?: { kind: string; name: string }[] }>(
    provider,
    { type: managedTypes.ClusterRoleBinding, name: tenantRole },
    options,
  );
  return binding?.subjects?.find(({ kind }) => kind === "Group")?.name;
}

/** Carries a plan out, and waits until the export has its identity. */
export async function performBootstrap(
  kcp: KubeClient,
  { path, plan }: Readonly<{ path: string; plan: BootstrapPlan }>,
  options: WaitOptions = {},
): Promise<void> {
  const provider = clientOf(kcp, path);
  if (plan.makesWorkspace) {
    await makeWorkspace(kcp, path, options);
  } else if (plan.steps.length > 0) await demandRight(provider, path, { verb: "*", group: "*", resource: "*" });
  for (const step of plan.steps) await performStep(provider, step, options);
  await awaitIdentity(provider, options);
}

/** Makes the workspace with our mark on it from the first: whoever is cut off here must still be able to take it away. */
async function makeWorkspace(kcp: KubeClient, path: string, options: WaitOptions): Promise<void> {
  const { parent, name } = splitPath(path);
  const above = clientOf(kcp, parent);
  await demandRight(above, parent, { verb: "create", group: workspaces.group, resource: "workspaces" });
  const workspace = {
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "Workspace",
    metadata: { name, labels: managedByTmc },
  };
  await waitUntil(
    `the workspace ${path} to be accepted`,
    async () => {
      await above
        .create({ type: workspaces }, workspace, { signal: options.signal, fieldManager })
        .catch((error: unknown) => {
          if (faultOf(error) !== "exists") throw error;
        });
      return { done: true };
    },
    options,
  );
  await ensureWorkspace(kcp, path, options);
}

type Right = Readonly<{ verb: string; group: string; resource: string }>;

/** Fails at once where we may not do what comes next: kcp also refuses what it does not know yet, and is then asked again. */
async function demandRight(client: KubeClient, path: string, right: Right): Promise<void> {
  const review = await client.create<KubeObject & { status?: { allowed?: boolean } }>(
    { type: { group: "authorization.k8s.io", version: "v1", plural: "selfsubjectaccessreviews" } },
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: right },
    },
  );
  if (review.status?.allowed === true) return;
  const words =
    right.verb === "*" ? "you are not an administrator there" : `you may not ${right.verb} ${right.resource}`;
  throw new ControllerError("forbidden", `workspace "${path}": ${words}`);
}

/** Waits until kcp has given the export its identity. */
export async function awaitIdentity(provider: KubeClient, options: WaitOptions = {}): Promise<void> {
  await waitUntil(
    `the export ${exportName} to get its identity`,
    async () => {
      const { status } = await provider.get<ApiExport>(exportAddress, { signal: options.signal });
      return status?.identityHash === undefined
        ? { missing: formatComplaints(status?.conditions) || "it has no identity yet" }
        : { done: true };
    },
    options,
  );
}

const exportAddress = { type: apiExports, name: exportName };

/** The types of the export that neither we nor the operator name now: an export that loses a type strands its objects. */
export async function keptTypes(
  provider: KubeClient,
  wish: Pick<ProviderWish, "custom">,
  options: WaitOptions,
): Promise<readonly ExportedType[]> {
  const present = await readIfThere<ApiExport>(provider, exportAddress, options);
  const named = new Set(exportedTypes(wish).map(({ group, plural }) => `${plural}.${group}`));
  return (present?.spec?.resources ?? [])
    .filter(({ name, group }) => !named.has(`${name}.${group}`))
    .map(({ name, group, schema }) => ({ plural: name, group, schema }));
}

/** The workspace above, and the name in it: `root:org:team` is `team` in `root:org`. */
export function splitPath(path: string): Readonly<{ parent: string; name: string }> {
  const at = path.lastIndexOf(":");
  if (at < 1) throw new ControllerError("invalid", `workspace "${path}": is not below another, like root:tmc`);
  return { parent: path.slice(0, at), name: path.slice(at + 1) };
}

/** A workspace as its parent knows it; undefined when there is none. */
export async function findWorkspace(
  kcp: KubeClient,
  path: string,
  { signal }: WaitOptions,
): Promise<Workspace | undefined> {
  const { parent, name } = splitPath(path);
  return clientOf(kcp, parent).get<Workspace>({ type: workspaces, name }, { signal }).catch(unlessMissing);
}

function unlessMissing(error: unknown): undefined {
  if (faultOf(error) !== "not-found") throw error;
  return undefined;
}
