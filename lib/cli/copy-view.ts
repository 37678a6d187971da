import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { CopyState, WorkloadSync } from "../api/workload-sync.ts";
import { findCondition } from "../model/condition.ts";
import { copyReasons, healthReasons } from "../sync/status/reasons.ts";

import type { CopyRecord } from "../sync/sync-objects.ts";

/** A workload on one cluster, for people. */
export type CopyView = Readonly<{
  cluster: string;
  /** Whether it belongs there. */
  isWanted: boolean;
  state: CopyState;
  desired: number | undefined;
  ready: number | undefined;
  /** The generation of the workload that was last written there. */
  written: number | undefined;
  lastSeen: string | undefined;
  /** When the cluster last answered well. */
  lastHeartbeat: string | undefined;
  reason: string | undefined;
  /** Why it is in that state, in a sentence; empty where there is nothing to say. */
  why: string;
}>;

export type CopyFacts = Readonly<{
  record: WorkloadSync | undefined;
  /** Where the workload belongs; undefined where that is not known. */
  wanted: readonly string[] | undefined;
  clusters: ReadonlyMap<string, ClusterRegistration>;
}>;

/** How a workload is on every cluster that has it, may have it or should have it, in the order of their names. */
export function copiesOf({ record, wanted, clusters }: CopyFacts): readonly CopyView[] {
  const told = new Map((record?.status?.clusters ?? []).map((entry) => [entry.name, entry]));
  const names = new Set([...told.keys(), ...(record?.spec.clusters ?? []), ...(wanted ?? [])]);
  return [...names].toSorted().map((name) => {
    const entry = withPresent(told.get(name) ?? untold(name, wanted), clusters.get(name));
    return {
      cluster: name,
      isWanted: wanted === undefined ? !["Evicting", "Held"].includes(entry.state) : wanted.includes(name),
      state: entry.state,
      desired: entry.desiredReplicas,
      ready: entry.readyReplicas,
      written: entry.generation,
      lastSeen: entry.lastObservedTime,
      lastHeartbeat: clusters.get(name)?.status?.lastHeartbeat,
      reason: entry.reason,
      why: entry.message ?? wordsOf(entry.reason),
    };
  });
}

function untold(name: string, wanted: readonly string[] | undefined): CopyRecord {
  if (wanted === undefined || wanted.includes(name)) return { name, state: "Pending", reason: "Applying" };
  return { name, state: "Evicting", message: "it is to go, and nothing is known of it yet" };
}

/** What the record says is as old as the last look; that a cluster is not heard from may be newer. */
function withPresent(entry: CopyRecord, registration: ClusterRegistration | undefined): CopyRecord {
  const ready = findCondition(registration?.status?.conditions, "Ready");
  const counts = entry.state === "Ready" || entry.state === "Applied";
  if (!counts || ready === undefined || ready.status === "True") return entry;
  return { ...entry, state: "Stale", reason: "ClusterNotReady", message: `the cluster is not Ready: ${ready.message}` };
}

function wordsOf(reason: string | undefined): string {
  const known: Readonly<Record<string, string>> = { ...healthReasons, ...copyReasons };
  return reason === undefined ? "" : (known[reason] ?? reason);
}
