import { faultOf } from "@tmc/kube/errors.ts";
import { isTransientFault } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { registrationKey } from "../sync/observed.ts";
import { withDeletion, withRejection } from "./deletion-log.ts";
import { type Inventory, type OptedInRegistration, readInventory } from "./inventory.ts";
import type { UpsyncObserved } from "./observe.ts";
import { optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** Why an upstream object must not be deleted now, and whether a retry soon may succeed. */
export type DeletionHold = Readonly<{ message: string; isTransient: boolean }>;

/**
 * Records a deletion in the status of the origin's registration before it happens, or returns why it must not happen.
 *
 * The deletions are counted on the same version of the registration that the status write is based on. If another process
 * has recorded a deletion meanwhile, the write conflicts, and the retry counts again. A process that dies after the write has
 * recorded a deletion that is still to come; it counts once, because deletions are recorded by name.
 */
export async function logDeletion(
  tools: UpsyncTools,
  { ref, optedIn }: UpsyncObserved,
  registration: string,
  signal: AbortSignal,
): Promise<DeletionHold | undefined> {
  const { hub, localState, workloads, clock } = tools;
  const key = registrationKey(ref.key.logicalCluster, registration);
  if (!optedIn.has(registration)) return { message: unknownCountMessage, isTransient: false };
  return localState.runExclusive(key, signal, async () => {
    const observed = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    if (observed === undefined) return { message: unknownCountMessage, isTransient: false };
    const { optIns } = optInsOf(observed, workloads.types);
    const counted = await countDeletions(tools, { key, registration: observed, optIns }, ref.key.name, signal);
    if ("message" in counted) return counted;
    if (counted.heldMessage !== undefined) return { message: counted.heldMessage, isTransient: false };
    const before = observed.status ?? {};
    const { name } = ref.key;
    const deletion = { name, copies: counted.copyCounts.get(name) ?? 0 };
    const after = counted.isConfirmed ? before : withDeletion(before, deletion, clock.now());
    if (after !== before) await hub.writeStatus(key, observed, after, signal);
    return undefined;
  });
}

/** Reads an inventory that counts this name as missing downstream. Without one, nothing may be deleted. */
async function countDeletions(
  tools: UpsyncTools,
  optedIn: OptedInRegistration,
  name: string,
  signal: AbortSignal,
): Promise<Inventory | DeletionHold> {
  try {
    const inventory = await readInventory(tools, optedIn, signal);
    if (inventory?.missingDownstream.includes(name) === true) return inventory;
    // A cached list may be older than the deletion of this object.
    tools.source.invalidate(optedIn.key);
    const fresh = await readInventory(tools, optedIn, signal);
    if (fresh?.missingDownstream.includes(name) === true) return fresh;
    return { message: unknownCountMessage, isTransient: true };
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    return { message: unknownCountMessage, isTransient: isTransientFault(fault) };
  }
}

const unknownCountMessage = "the number of objects that were deleted on the cluster is not known";

/**
 * Records in the status of the registration that the upstream API server rejects an object, or, without a message, that it
 * no longer does. Enqueues the registration, which reports rejections in its conditions.
 */
export async function logRejection(
  { hub, localState, clock, enqueue }: UpsyncTools,
  { ref, optedIn }: UpsyncObserved,
  { registration, message }: Readonly<{ registration: string; message: string | undefined }>,
  signal: AbortSignal,
): Promise<void> {
  const { name, logicalCluster } = ref.key;
  const rejected = optedIn.get(registration)?.registration.status?.upsync?.rejected ?? [];
  if (message === undefined && !rejected.some((each) => each.name === name)) return;
  const key = registrationKey(logicalCluster, registration);
  await localState.runExclusive(key, signal, async () => {
    const observed = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    if (observed === undefined) return;
    const before = observed.status ?? {};
    const after = withRejection(before, { name, message }, clock.now());
    if (after === before) return;
    await hub.writeStatus(key, observed, after, signal);
    await enqueue([key]);
  });
}
