import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { apiBinding } from "../api/api-export.ts";
import { bindingName, exportName } from "../api/group.ts";
import { type ApiBinding, apiBindings, formatComplaints } from "../upstream/kcp-types.ts";
import { awaitIdentity, keptTypes } from "./bootstrap.ts";
import { exportObjects } from "./bootstrap-objects.ts";
import { ensureObjects, fieldManager } from "./ensure-objects.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/**
 * Puts TMC's export into a workspace, with its schemas and the roles of its policy. Run again it changes nothing.
 *
 * @param provider a client in the workspace that holds the export
 */
export async function installExport(provider: KubeClient, options: WaitOptions = {}): Promise<void> {
  await ensureObjects(provider, exportObjects({ kept: await keptTypes(provider, {}, options) }), options);
  await awaitIdentity(provider, options);
}

export type BindOptions = WaitOptions &
  Readonly<{
    /** What a new binding is called; one that is there keeps its name. @default "tmc-binding" */
    name?: string | undefined;
  }>;

/**
 * Binds TMC's export in a tenant's workspace with all its claims accepted, and waits until its types are served.
 *
 * A binding that is there already, by whatever name and whoever made it, is the one: a second would be in its way. Run
 * again it changes nothing.
 *
 * @param tenant a client in the tenant's workspace
 * @param exportPath the workspace that holds the export
 */
export async function bindExport(
  tenant: KubeClient,
  exportPath: string,
  options: BindOptions = {},
): Promise<Readonly<{ binding: ApiBinding; isChanged: boolean }>> {
  const { signal } = options;
  const accepted = await waitUntil(
    `the binding to ${exportPath}:${exportName} to be accepted`,
    async () => {
      const present = await findBinding(tenant, exportPath, options);
      const name = present?.metadata.name ?? options.name ?? bindingName;
      const wanted = apiBinding({ path: exportPath, name });
      // kcp counts every apply of a binding as a change, even of the same text: so look first.
      const isChanged = present === undefined || !binds(present, wanted);
      if (isChanged) {
        await tenant.patch(
          { type: apiBindings, name },
          { type: "apply", body: wanted, force: true },
          { signal, fieldManager },
        );
      }
      return { done: { name, isChanged } };
    },
    options,
  );
  const binding = await waitUntil(
    `the binding ${accepted.name}`,
    async () => {
      const found = await tenant.get<ApiBinding>({ type: apiBindings, name: accepted.name }, { signal });
      const { phase, conditions } = found.status ?? {};
      return phase === "Bound"
        ? { done: found }
        : { missing: `its phase is ${phase ?? "not set"}: ${formatComplaints(conditions)}` };
    },
    options,
  );
  await waitUntil(
    "the bound types to be served",
    async () => {
      const unserved: string[] = [];
      for (const type of boundTypes(binding)) {
        await tenant.list({ type }, { signal, limit: 1 }).catch((error: unknown) => {
          if (faultOf(error) !== "not-found" && faultOf(error) !== "throttled") throw error;
          unserved.push(type.plural);
        });
      }
      return unserved.length === 0 ? { done: true } : { missing: `not served yet: ${unserved.join(", ")}` };
    },
    options,
  );
  return { binding, isChanged: accepted.isChanged };
}

/** The types that a binding has brought, the way URLs name them. */
export function boundTypes({ status }: ApiBinding) {
  return (status?.boundResources ?? []).map(({ group, resource, storageVersions = [] }) => ({
    group,
    version: storageVersions.at(-1) ?? "v1alpha1",
    plural: resource,
  }));
}

/** The binding to our export in a workspace; fails where an export of the same name from elsewhere is bound. */
export async function findBinding(
  tenant: KubeClient,
  exportPath: string,
  { signal }: WaitOptions = {},
): Promise<ApiBinding | undefined> {
  const { items } = await tenant.listAll<ApiBinding>({ type: apiBindings }, { signal });
  const named = items.filter(({ spec }) => spec?.reference?.export?.name === exportName);
  const found = named.find(({ spec }) => spec?.reference?.export?.path === exportPath);
  const [other] = named;
  if (found !== undefined || other === undefined) return found;
  throw new ControllerError(
    "exists",
    `kcp: binding "${other.metadata.name}": is to ${exportName} of ${other.spec?.reference?.export?.path}, not of ${exportPath}`,
  );
}

/** Whether a binding says all that is wanted of it; kcp fills in more. */
function binds(present: ApiBinding, wanted: ReturnType<typeof apiBinding>): boolean {
  const { reference, permissionClaims: claims = [] } = present.spec ?? {};
  return (
    isDeepStrictEqual(reference, wanted.spec.reference) &&
    wanted.spec.permissionClaims.every((claim) =>
      claims.some((accepted) => isDeepStrictEqual(accepted, { identityHash: accepted.identityHash, ...claim })),
    )
  );
}
