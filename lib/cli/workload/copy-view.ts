import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { CopyState, WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { copyReasons, healthReasons } from "../../sync/status/reasons.ts";

import type { CopyRecord } from "../../sync/sync-objects.ts";

/** The state of a workload on one cluster, for output. */
export type CopyView = Readonly<{
  targetCluster: string;
  /** Whether the workload is placed on this cluster; false for a copy that is being evicted. */
  isTarget: boolean;
  state: CopyState;
  desired: number | undefined;
  ready: number | undefined;
  /** The generation of the workload that was last written to the cluster. */
  writtenGeneration: number | undefined;
  lastObserved: string | undefined;
  /** When the last probe of the cluster succeeded. */
  lastHeartbeat: string | undefined;
  reason: string | undefined;
  /** Why the copy is in that state; empty when there is nothing to add. */
  message: string;
}>;

export type CopyInput = Readonly<{
  syncRecord: WorkloadSync | undefined;
  /** The clusters that the workload is placed on; undefined when unknown. */
  targets: readonly string[] | undefined;
  registrations: ReadonlyMap<string, ClusterRegistration>;
}>;

/** Returns the state of a workload on each of its clusters, including those that it is being evicted from, sorted by name. */
export function copyViews({ syncRecord, targets, registrations }: CopyInput): readonly CopyView[] {
  const entries = new Map((syncRecord?.status?.clusters ?? []).map((entry) => [entry.name, entry]));
  const names = new Set([...entries.keys(), ...(syncRecord?.spec.clusters ?? []), ...(targets ?? [])]);
  return [...names].toSorted().map((name) => {
    const entry = withCurrentHealth(entries.get(name) ?? unreportedCopy(name, targets), registrations.get(name));
    return {
      targetCluster: name,
      isTarget: targets === undefined ? !["Evicting", "Held"].includes(entry.state) : targets.includes(name),
      state: entry.state,
      desired: entry.desiredReplicas,
      ready: entry.readyReplicas,
      writtenGeneration: entry.generation,
      lastObserved: entry.lastObservedTime,
      lastHeartbeat: registrations.get(name)?.status?.lastHeartbeat,
      reason: entry.reason,
      message: entry.message ?? reasonText(entry.reason),
    };
  });
}

function unreportedCopy(name: string, targets: readonly string[] | undefined): CopyRecord {
  if (targets === undefined || targets.includes(name)) return { name, state: "Pending", reason: "Applying" };
  return { name, state: "Evicting", message: "it will be deleted; its state is not known yet" };
}

/** Marks a copy as stale when its cluster is not Ready: the sync record shows the last observation, which can be older. */
function withCurrentHealth(entry: CopyRecord, registration: ClusterRegistration | undefined): CopyRecord {
  const ready = findCondition(registration?.status?.conditions, "Ready");
  const isHealthy = entry.state === "Ready" || entry.state === "Applied";
  if (!isHealthy || ready === undefined || ready.status === "True") return entry;
  return { ...entry, state: "Stale", reason: "ClusterNotReady", message: `the cluster is not Ready: ${ready.message}` };
}

function reasonText(reason: string | undefined): string {
  const known: Readonly<Record<string, string>> = { ...healthReasons, ...copyReasons };
  return reason === undefined ? "" : (known[reason] ?? reason);
}
