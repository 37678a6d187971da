import { isDeepStrictEqual } from "node:util";
import { apiBinding, apiExport } from "../api/api-export.ts";
import { exportName } from "../api/group.ts";
import { offeredKinds } from "../api/offered-kinds.ts";
import { apiResourceSchema } from "../api/resource-schema.ts";
import type { KubeClient } from "../kube/client.ts";
import { faultOf } from "../kube/errors.ts";
import {
  type ApiBinding,
  type ApiExport,
  apiBindings,
  apiExports,
  apiResourceSchemas,
  formatComplaints,
} from "./kcp-types.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** Who writes, in the objects' managed fields. */
const fieldManager = "tmc";

/**
 * Puts TMC's schemas and its export into a workspace. Run again it changes nothing.
 *
 * @param provider a client in the workspace that holds the export
 */
export async function installExport(provider: KubeClient, options: WaitOptions = {}): Promise<void> {
  const { signal } = options;
  for (const kind of offeredKinds) {
    const schema = apiResourceSchema(kind);
    try {
      // A schema cannot change, and its name follows from its content: what is there is right.
      await provider.create({ type: apiResourceSchemas }, schema, { signal, fieldManager });
    } catch (error) {
      if (faultOf(error) !== "exists") throw error;
    }
  }
  const wanted = apiExport(offeredKinds);
  await provider.patch(
    { type: apiExports, name: wanted.metadata.name },
    { type: "apply", body: wanted, force: true },
    { signal, fieldManager },
  );
  await waitUntil(
    `the export ${exportName} to get its identity`,
    async () => {
      const { status } = await provider.get<ApiExport>({ type: apiExports, name: exportName }, { signal });
      return status?.identityHash === undefined
        ? { missing: formatComplaints(status?.conditions) || "it has no identity yet" }
        : { done: true };
    },
    options,
  );
}

/**
 * Binds TMC's export in a tenant's workspace with all its claims accepted, and waits until its types are served.
 *
 * @param tenant a client in the tenant's workspace
 * @param exportPath the workspace that holds the export
 */
export async function bindExport(tenant: KubeClient, exportPath: string, options: WaitOptions = {}): Promise<void> {
  const { signal } = options;
  const wanted = apiBinding({ path: exportPath });
  const address = { type: apiBindings, name: wanted.metadata.name };
  await waitUntil(
    `the binding ${address.name} to be accepted`,
    async () => {
      const present = await tenant.get<ApiBinding>(address, { signal }).catch((error: unknown) => {
        if (faultOf(error) !== "not-found") throw error;
      });
      // kcp counts every apply of a binding as a change, even of the same text: so look first.
      if (present === undefined || !binds(present, wanted)) {
        await tenant.patch(address, { type: "apply", body: wanted, force: true }, { signal, fieldManager });
      }
      return { done: true };
    },
    options,
  );
  await waitUntil(
    `the binding ${address.name}`,
    async () => {
      const { status } = await tenant.get<ApiBinding>(address, { signal });
      return status?.phase === "Bound"
        ? { done: true }
        : { missing: `its phase is ${status?.phase ?? "not set"}: ${formatComplaints(status?.conditions)}` };
    },
    options,
  );
  await waitUntil(
    "the bound types to be served",
    async () => {
      const unserved: string[] = [];
      for (const { group, version, plural } of offeredKinds) {
        await tenant.list({ type: { group, version, plural } }, { signal, limit: 1 }).catch((error: unknown) => {
          if (faultOf(error) !== "not-found" && faultOf(error) !== "throttled") throw error;
          unserved.push(plural);
        });
      }
      return unserved.length === 0 ? { done: true } : { missing: `not served yet: ${unserved.join(", ")}` };
    },
    options,
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
