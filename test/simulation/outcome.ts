import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { type Condition, findCondition } from "../../lib/model/condition.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { decidePlacement } from "../../lib/placement/decide.ts";
import { clusterFacts } from "../../lib/placement/observed.ts";
import { placements, registrations } from "../lib/upstream/tenants.ts";
import type { Servers } from "./servers.ts";
import { sortedJson } from "./sorted-json.ts";

/** What is in the store at one moment, tenant by tenant. */
export type Snapshot = Readonly<{
  atMs: number;
  tenants: readonly Readonly<{
    cluster: string;
    registrations: readonly ClusterRegistration[];
    placements: readonly WorkloadPlacement[];
  }>[];
}>;

/** What two runs of the same inputs must agree on, by what it is about. */
export type Outcome = ReadonlyMap<string, string>;

/** Takes what is stored now, of these tenants. */
export async function takeSnapshot({ clock, tenants, users }: Servers, judged: readonly string[]): Promise<Snapshot> {
  const found = await Promise.all(
    users.map(async (user, index) => ({
      cluster: tenants[index] ?? "",
      registrations: (await user.listAll<ClusterRegistration>(registrations)).items,
      placements: (await user.listAll<WorkloadPlacement>(placements)).items,
    })),
  );
  return { atMs: clock.now(), tenants: found.filter(({ cluster }) => judged.includes(cluster)) };
}

/** Why a cluster that was tried is not well; while it stays so, another cause is written once a while only. */
const probedReasons = /^False (ClusterUnhealthy|CredentialsRejected|AccessDenied|EndpointNotAllowed)$/;

/**
 * What a run has come to, in all that does not depend on how it got there. Where causes may lag, which of them a cluster
 * that does not answer well was last said to have does.
 */
export function outcomeOf({ tenants, atMs }: Snapshot, { causesLag }: Readonly<{ causesLag: boolean }>): Outcome {
  const outcome = new Map<string, string>();
  for (const { cluster, registrations, placements } of tenants) {
    for (const { metadata, spec, status } of registrations) {
      const { kubernetesVersion, apis, capacity, allocatable, nodes, capabilities } = status ?? {};
      const isReady = findCondition(status?.conditions, "Ready")?.status === "True";
      outcome.set(
        `${cluster}/${metadata.name} (registration)`,
        sortedJson({
          ready: causesLag ? readyOf(status?.conditions).replace(probedReasons, "False") : readyOf(status?.conditions),
          finalizers: metadata.finalizers ?? [],
          isDeleting: metadata.deletionTimestamp !== undefined,
          isObserved: status?.observedGeneration === metadata.generation,
          failures: status?.consecutiveFailures ?? 0,
          labels: metadata.labels,
          spec,
          ...(isReady && { kubernetesVersion, apis, capacity, allocatable, nodes, capabilities }),
        }),
      );
    }
    const clusters = registrations.map(clusterFacts);
    for (const placement of placements) {
      const { metadata, spec, status } = placement;
      const { status: _, ...fresh } = placement;
      outcome.set(
        `${cluster}/${metadata.name} (placement)`,
        sortedJson({
          spec,
          isObserved: status?.observedGeneration === metadata.generation,
          // What it remembers may differ from run to run and be right in both; what it would say anew may not.
          anew: answerOf(
            { ...fresh, status: decidePlacement({ placement: fresh, clusters, nowMs: atMs }).status },
            registrations,
          ),
        }),
      );
    }
  }
  return outcome;
}

/** What placements that were all made anew have come to: all but whom chance has dealt which cluster. */
export function answersOf({ tenants }: Snapshot): Outcome {
  return new Map(
    tenants.flatMap(({ cluster, registrations, placements }) =>
      placements.map((placement) => [
        `${cluster}/${placement.metadata.name} (answer)`,
        answerOf(placement, registrations),
      ]),
    ),
  );
}

/** What is only known after a probe; whether there was one depends on the order of events. */
const observedReasons: ReadonlySet<string> = new Set([
  "NotReady",
  "ApiNotServed",
  "CapabilityMissing",
  "InsufficientResources",
]);

function answerOf({ spec, status }: WorkloadPlacement, clusters: readonly ClusterRegistration[]): string {
  const ready = readyOf(status?.conditions);
  const isReady = new Map(
    clusters.map((cluster) => [
      cluster.metadata.name ?? "",
      findCondition(cluster.status?.conditions, "Ready")?.status === "True",
    ]),
  );
  const said = (status?.decisions ?? []).map(({ cluster, reason }) => ({
    cluster,
    reason: isReady.get(cluster) === false && observedReasons.has(reason) ? "Unfit" : reason,
  }));
  const decisions = said.map(({ cluster, reason }) => `${cluster} ${reason}`).toSorted();
  const isDealt = (spec.strategy ?? "RoundRobin") === "RoundRobin";
  if (!isDealt) return JSON.stringify({ ready, selected: status?.selectedClusters ?? [], decisions });
  // With constraints on the spread, who comes first decides who may follow.
  if (spec.spreadConstraints !== undefined) return JSON.stringify({ ready });
  const reasons = said.map(({ reason }) => reason).toSorted();
  return JSON.stringify({ ready, selected: status?.selectedClusters?.length ?? 0, reasons });
}

function readyOf(conditions: readonly Condition[] | undefined): string {
  const ready = findCondition(conditions, "Ready");
  return ready === undefined ? "none" : `${ready.status} ${ready.reason}`;
}

/** Whether every registered cluster is Ready. */
export function areAllReady({ tenants }: Snapshot): boolean {
  return tenants.every(({ registrations }) =>
    registrations.every(({ status }) => findCondition(status?.conditions, "Ready")?.status === "True"),
  );
}

/** The first things on which two outcomes differ. */
export function differencesOf(oracle: Outcome, found: Outcome): readonly string[] {
  const keys = new Set([...oracle.keys(), ...found.keys()]);
  return [...keys]
    .toSorted()
    .filter((key) => oracle.get(key) !== found.get(key))
    .map((key) => `${key}: ${found.get(key) ?? "not there"}; without faults ${oracle.get(key) ?? "not there"}`);
}

export function keyOf(
  kind: ObjectKey["kind"],
  logicalCluster: string,
  { metadata }: Pick<ClusterRegistration, "metadata">,
): ObjectKey {
  return { logicalCluster, kind, name: metadata.name ?? "" };
}
