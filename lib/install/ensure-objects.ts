import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type FindObject, type PlanStep, planObjects } from "./bootstrap-plan.ts";
import { formatObjectId, type ManagedObject, managedAddressOf } from "./managed-object.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** Field manager of installed objects. */
export const installFieldManager = "tmc";

/** A new workspace may return 403 for this long. Users without permission wait no longer. */
const forbiddenTimeoutMs = 10_000;

const withForbiddenTimeout = (options: WaitOptions): WaitOptions => ({
  ...options,
  timeoutMs: Math.min(options.timeoutMs ?? forbiddenTimeoutMs, forbiddenTimeoutMs),
});

/** Reads the existing ones of the desired objects. */
export async function findObjects(
  client: KubeClient,
  desired: readonly ManagedObject[],
  options: WaitOptions,
): Promise<FindObject> {
  const found = new Map<string, KubeObject>();
  await Promise.all(
    desired.map(async (object) => {
      const present = await readIfExists(client, managedAddressOf(object), options);
      if (present !== undefined) found.set(formatObjectId(object), present);
    }),
  );
  return (object) => found.get(formatObjectId(object));
}

/** Reads an object; undefined if it does not exist. Retries while a new workspace denies access. */
export async function readIfExists<T = KubeObject>(
  client: KubeClient,
  address: ObjectAddress,
  options: WaitOptions,
): Promise<T | undefined> {
  return waitUntil(
    `${address.type.plural} ${address.name}`,
    async () => {
      try {
        return { done: await client.get<T>(address, { signal: options.signal }) };
      } catch (error) {
        if (faultOf(error) === "not-found") return { done: undefined };
        throw error;
      }
    },
    withForbiddenTimeout(options),
  );
}

/** Executes one step of a plan. */
export async function performStep(client: KubeClient, step: PlanStep, options: WaitOptions): Promise<void> {
  const { object, action } = step;
  const { signal } = options;
  const address = managedAddressOf(object);
  const write = { signal, fieldManager: installFieldManager };
  if (action === "replace") await client.delete(address, { signal });
  await waitUntil(
    `${formatObjectId(object)} to be accepted`,
    async () => {
      if (object.kind === "APIResourceSchema" && action === "change") {
        // The spec of a schema is immutable and must not be sent again; only metadata can differ here.
        await client.patch(address, { type: "merge", body: { metadata: object.metadata } }, write);
      } else await client.patch(address, { type: "apply", body: object, force: true }, write);
      return { done: true };
    },
    withForbiddenTimeout(options),
  );
}

/** Creates or updates the objects in order, and returns the steps that were necessary. */
export async function ensureObjects(
  client: KubeClient,
  desired: readonly ManagedObject[],
  options: WaitOptions = {},
): Promise<readonly PlanStep[]> {
  const steps = planObjects(desired, await findObjects(client, desired, options));
  for (const step of steps) await performStep(client, step, options);
  return steps;
}
