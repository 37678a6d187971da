import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Find, planObjects, type Step } from "./bootstrap-plan.ts";
import { addressOf, idOf, type ManagedObject } from "./managed-object.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

/** Who writes, in the objects' managed fields. */
export const fieldManager = "tmc";

/** For as long a new workspace refuses what it allows a moment later; who has no rights waits no longer. */
const longestRefusalMs = 10_000;

const briefly = (options: WaitOptions): WaitOptions => ({
  ...options,
  limitMs: Math.min(options.limitMs ?? longestRefusalMs, longestRefusalMs),
});

/** Reads those of the wanted objects that are there. */
export async function findObjects(
  client: KubeClient,
  wanted: readonly ManagedObject[],
  options: WaitOptions,
): Promise<Find> {
  const found = new Map<string, KubeObject>();
  await Promise.all(
    wanted.map(async (object) => {
      const present = await readIfThere(client, addressOf(object), options);
      if (present !== undefined) found.set(idOf(object), present);
    }),
  );
  return (object) => found.get(idOf(object));
}

/** Reads an object; undefined when there is none. A workspace that was just made may refuse for a moment. */
export async function readIfThere<T = KubeObject>(
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
    briefly(options),
  );
}

/** Carries one step out. */
export async function performStep(client: KubeClient, step: Step, options: WaitOptions): Promise<void> {
  const { object, action } = step;
  const { signal } = options;
  const address = addressOf(object);
  const write = { signal, fieldManager };
  if (action === "replace") await client.delete(address, { signal });
  await waitUntil(
    `${idOf(object)} to be accepted`,
    async () => {
      if (object.kind === "APIResourceSchema" && action === "change") {
        // All but its marks is as it was, and must not even be said again.
        await client.patch(address, { type: "merge", body: { metadata: object.metadata } }, write);
      } else await client.patch(address, { type: "apply", body: object, force: true }, write);
      return { done: true };
    },
    briefly(options),
  );
}

/** Makes sure that all these objects are there as they are wanted, in their order; answers what had to be done. */
export async function ensureObjects(
  client: KubeClient,
  wanted: readonly ManagedObject[],
  options: WaitOptions = {},
): Promise<readonly Step[]> {
  const steps = planObjects(wanted, await findObjects(client, wanted, options));
  for (const step of steps) await performStep(client, step, options);
  return steps;
}
