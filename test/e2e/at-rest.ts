import { syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { eventually } from "../support/eventually.ts";
import { type Entry, openLedger } from "./ledger.ts";
import type { Tenant } from "./tenant.ts";
import { workTypes } from "./tenant-work.ts";
import { clusterNames, type World } from "./world.ts";

/** Waits until a placement says of so many workloads that they are ready, which it does some seconds after them. */
export function untilAllReady(
  tenant: Tenant,
  { placement, workloads }: Readonly<{ placement: string; workloads: number }>,
  limitMs: number,
): Promise<void> {
  return eventually(async () => {
    const { status } = await tenant.placement(placement);
    const unready = (status?.placedWorkloads ?? []).filter(({ state }) => state !== "Ready");
    return status?.placedWorkloads?.length === workloads && unready.length === 0 ? undefined : JSON.stringify(status);
  }, limitMs);
}

/** Writes down what is worth a look in the workspace and of copies; the registrations' heartbeats are not. The answer ends it. */
export async function openLedgers(world: World): Promise<() => Promise<readonly Entry[]>> {
  const upstream = ["Deployment", "Service", "ConfigMap", "WorkloadPlacement", "WorkloadSync"] as const;
  const downstream = ["Namespace", "Deployment", "Service", "ConfigMap"] as const;
  const ledgers = await Promise.all([
    openLedger(
      world.tenant,
      upstream.map((kind) => ({ type: workTypes[kind] })),
    ),
    ...clusterNames.map((name) =>
      openLedger(
        world.clusterClient(name),
        downstream.map((kind) => ({ type: workTypes[kind] })),
        syncedLabel,
      ),
    ),
  ]);
  return async () => (await Promise.all(ledgers.map((ledger) => ledger.end()))).flat();
}
