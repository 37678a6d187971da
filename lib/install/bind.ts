import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { apiBinding } from "../api/api-export.ts";
import { bindingName, exportName } from "../api/group.ts";
import { type ApiBinding, apiBindings, formatUnmetConditions } from "../upstream/kcp-types.ts";
import { retainedTypes, waitForIdentity } from "./bootstrap.ts";
import { type DesiredExport, exportObjects } from "./bootstrap-objects.ts";
import { ensureObjects, installFieldManager } from "./ensure-objects.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/**
 * Creates TMC's APIExport in a workspace, with its schemas and the roles of its permission policy. Idempotent.
 *
 * @param provider a client for the workspace of the export
 */
export async function installExport(
  provider: KubeClient,
  { custom, warnings, ...options }: WaitOptions & Pick<DesiredExport, "custom" | "warnings"> = {},
): Promise<void> {
  const retained = await retainedTypes(provider, { custom }, options);
  await ensureObjects(provider, exportObjects({ custom, retained, warnings }), options);
  await waitForIdentity(provider, options);
}

export type BindOptions = WaitOptions &
  Readonly<{
    /** Name of a new binding; an existing binding keeps its name. @default "tmc-binding" */
    name?: string | undefined;
  }>;

/**
 * Binds TMC's export in a tenant's workspace, accepts all its permission claims, and waits until its types are served.
 * Idempotent. An existing binding to the export is used whatever its name and creator, because a second one would conflict.
 *
 * @param tenant a client for the tenant's workspace
 * @param exportPath the workspace of the export
 */
export async function bindExport(
  tenant: KubeClient,
  exportPath: string,
  options: BindOptions = {},
): Promise<Readonly<{ binding: ApiBinding; isChanged: boolean }>> {
  const { signal } = options;
  const applied = await waitUntil(
    `the binding to ${exportPath}:${exportName} to be accepted`,
    async () => {
      const present = await findBinding(tenant, exportPath, options);
      const name = present?.metadata.name ?? options.name ?? bindingName;
      const desired = apiBinding({ path: exportPath, name });
      // kcp treats every apply of a binding as a change, even with the same content, so compare first.
      const isChanged = present === undefined || !isUpToDate(present, desired);
      if (isChanged) {
        await tenant.patch(
          { type: apiBindings, name },
          { type: "apply", body: desired, force: true },
          { signal, fieldManager: installFieldManager },
        );
      }
      return { done: { name, isChanged } };
    },
    options,
  );
  const binding = await waitUntil(
    `the binding ${applied.name}`,
    async () => {
      const found = await tenant.get<ApiBinding>({ type: apiBindings, name: applied.name }, { signal });
      const { phase, conditions } = found.status ?? {};
      return phase === "Bound"
        ? { done: found }
        : { missing: `its phase is ${phase ?? "not set"}: ${formatUnmetConditions(conditions)}` };
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
  return { binding, isChanged: applied.isChanged };
}

/** Returns the resource types that a binding provides. */
export function boundTypes({ status }: ApiBinding) {
  return (status?.boundResources ?? []).map(({ group, resource, storageVersions = [] }) => ({
    group,
    version: storageVersions.at(-1) ?? "v1alpha1",
    plural: resource,
  }));
}

/** Returns the binding to TMC's export in a workspace. Throws if an export of the same name from another workspace is bound. */
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
    `kcp: binding "${other.metadata.name}": is bound to ${exportName} in ${other.spec?.reference?.export?.path}, not in ${exportPath}`,
  );
}

/** Returns whether a binding has everything that is desired; kcp adds further fields. */
function isUpToDate(present: ApiBinding, desired: ReturnType<typeof apiBinding>): boolean {
  const { reference, permissionClaims: claims = [] } = present.spec ?? {};
  return (
    isDeepStrictEqual(reference, desired.spec.reference) &&
    desired.spec.permissionClaims.every((claim) =>
      claims.some((accepted) => isDeepStrictEqual(accepted, { identityHash: accepted.identityHash, ...claim })),
    )
  );
}
