import { syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { eventually } from "../support/eventually.ts";
import { clusterNames, type Environment } from "./environment.ts";
import type { Tenant } from "./tenant.ts";
import { workTypes } from "./tenant-work.ts";
import { type StoredWrite, startWriteLog } from "./write-log.ts";

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

/** Logs writes in the workspace and of copies, without the heartbeats of registrations. The returned function ends it. */
export async function startWriteLogs(world: Environment): Promise<() => Promise<readonly StoredWrite[]>> {
  const upstream = ["Deployment", "Service", "ConfigMap", "WorkloadPlacement", "WorkloadSync"] as const;
  const downstream = ["Namespace", "Deployment", "Service", "ConfigMap"] as const;
  const logs = await Promise.all([
    startWriteLog(
      world.tenant,
      upstream.map((kind) => ({ type: workTypes[kind] })),
    ),
    ...clusterNames.map((name) =>
      startWriteLog(
        world.clusterClient(name),
        downstream.map((kind) => ({ type: workTypes[kind] })),
        syncedLabel,
      ),
    ),
  ]);
  return async () => (await Promise.all(logs.map((log) => log.end()))).flat();
}
