import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import {
  defaultMassFailureSettings,
  isPartOfMassFailure,
  massFailuresIn,
  massFailuresOfTenants,
} from "../../lib/placement/mass-failure.ts";
import { clusterFacts } from "../../lib/placement/observed.ts";
import { controlsOf } from "../../lib/sync/control-annotations.ts";
import { holdId, isIntended } from "../../lib/sync/eviction/deletion-guard.ts";
import { targetClusterOf } from "../../lib/sync/targets/target-cluster.ts";
import { type ActualState, candidatesFor, type TenantState } from "./actual-state.ts";

/** What a tenant's people do about what TMC holds. */
export type Answer =
  | "confirm"
  /** They confirm, and take that back a moment later. */
  | "take-back"
  | "never";
export type ConfirmationInput = Readonly<{
  kind: "answer";
  tenant: number;
  deletions: Answer;
  failures: Exclude<Answer, "take-back">;
  afterMs: number;
}>;

/** A copy that a controller begins to delete. */
export type Removal = Readonly<{
  id: string;
  registration: string;
  /** The record as the controller knew it right before; undefined if it had not asked kcp for it. */
  known: WorkloadSync | undefined;
}>;

/** What is known of the process that has decided a placement. */
export type DecidingProcess = Readonly<{
  /** How far ahead its clock has been. @default 0 */
  skewsMs?: ReadonlySet<number> | undefined;
  /** The registrations of a tenant as the process was told of them. @default as they are */
  registrationsOf?: ((tenant: string) => readonly ClusterRegistration[]) | undefined;
}>;

/** Law 3 for what is held: it stays until it is confirmed. */
export interface HoldLaws {
  /** A controller begins to delete the copy of a workload. */
  removal(tenant: string, copy: Removal): void;
  /** A controller has decided a placement. */
  decision(
    tenant: string,
    before: WorkloadPlacement | undefined,
    after: WorkloadPlacement,
    process?: DecidingProcess,
  ): void;
  /** A workload or a sync record was written, perhaps with a confirmation. */
  written(object: Readonly<{ metadata: WorkloadSync["metadata"] }>): void;
}

/** A request that was sent while a confirmation was there may take as long as this. */
const onItsWayMs = 60_000;
/** Copies that leave within this time leave at once. */
const atOnceMs = 10_000;
/** What the clusters were a moment ago may be what a controller knows. */
const hearingMs = 20_000;

/**
 * Creates the laws. `alwaysAllowed` copies, or `maxPercent` of all, may leave at once in this run. `tenants` are those whose
 * clusters every process knows: none if a process knows those of the placement's tenant alone, as functions do.
 */
export function createHoldLaws({
  truth,
  tenants,
  alwaysAllowed,
  maxPercent,
  nowMs,
  broken,
}: Readonly<{
  truth: ActualState;
  tenants: readonly string[];
  alwaysAllowed: number;
  maxPercent: number;
  nowMs: () => number;
  broken: (law: number, message: string) => void;
}>): HoldLaws {
  /** When a confirmation of a hold was last there. */
  const confirmedMs = new Map<string, number>();
  const removals = new Map<string, Readonly<{ copy: string; atMs: number; total: number }>[]>();
  const isConfirmed = (hold: string, record: WorkloadSync, workload: KubeObject): boolean =>
    nowMs() - (confirmedMs.get(hold) ?? Number.NEGATIVE_INFINITY) <= onItsWayMs ||
    [record, workload].some((object) => controlsOf(object).confirmedHolds.has(hold));

  return {
    written: (object) => {
      for (const hold of controlsOf(object).confirmedHolds) confirmedMs.set(hold, nowMs());
    },
    removal: (tenant, { id, registration, known }) => {
      const { records, registrations, placements, workloads } = truth.of(tenant);
      const [record, workload] = [records.get(id), workloads.get(id)];
      if (record === undefined || record.spec.deleted === true) return;
      if (workload === undefined || workload.metadata.deletionTimestamp !== undefined) return;
      const found = registrations.get(registration);
      const previous = entryOf(record, registration);
      const placement = placements.get(record.spec.placement ?? "");
      const targetCluster = found === undefined ? undefined : targetClusterOf(found);
      if (isIntended({ name: registration, targetCluster, placement })) return;
      if (isSelected(truth.of(tenant), workload, registration)) return;
      const hold = holdId(record, registration);
      // Another controller may hold it after this one has asked for the last time: then it is one of many that go.
      const isLate = known !== undefined && entryOf(known, registration)?.state !== "Held";
      if (previous?.state === "Held" && hold !== undefined && !isLate) {
        if (!isConfirmed(hold, record, workload))
          broken(3, `${tenant}/${id} on ${registration} is held, not confirmed, and removed`);
        return;
      }
      const total = [...records.values()].reduce((sum, { spec }) => sum + (spec.clusters?.length ?? 0), 0);
      // A copy that another process creates again meanwhile leaves more than once, and is one copy.
      const copy = `${id} on ${registration}`;
      const recent = (removals.get(tenant) ?? []).filter(
        (each) => each.copy !== copy && nowMs() - each.atMs <= atOnceMs,
      );
      recent.push({ copy, atMs: nowMs(), total });
      removals.set(tenant, recent);
      // Two decisions one after the other may each stay below the limit.
      const limit = Math.max(alwaysAllowed, ((recent[0]?.total ?? 0) * maxPercent) / 100);
      const isMany = recent.length > 2 * limit + 2;
      if (isMany) broken(3, `${recent.length} copies of ${tenant} were removed at once, and nothing was held`);
    },
    decision: (tenant, before, after, { skewsMs = new Set([0]), registrationsOf } = {}) => {
      if (before === undefined || before.status?.observedGeneration !== after.metadata.generation) return;
      const kept = new Set(after.status?.selectedClusters ?? []);
      const lost = (before.status?.selectedClusters ?? []).filter((name) => !kept.has(name));
      if (lost.length === 0) return;
      const actual = (each: string): readonly ClusterRegistration[] => [...truth.of(each).registrations.values()];
      const failuresAt = (atMs: number, registrations: typeof actual) => {
        const clustersOf = (each: string) => registrations(each).map(clusterFacts);
        return [
          ...massFailuresIn(clustersOf(tenant), atMs, defaultMassFailureSettings),
          ...massFailuresOfTenants(tenants.map(clustersOf), atMs, defaultMassFailureSettings),
        ].filter(({ toMs }) => nowMs() - toMs > hearingMs);
      };
      // By a clock that was wrong meanwhile, the clusters may have failed at quite different times. A process that has waited in
      // vain for the list of a tenant decides without it.
      const failures = [...skewsMs].flatMap((skewMs) =>
        [actual, registrationsOf ?? actual].map((registrations) => failuresAt(nowMs() + skewMs, registrations)),
      );
      for (const name of lost) {
        const registration = truth.of(tenant).registrations.get(name);
        const reason = after.status?.decisions?.find(({ cluster }) => cluster === name)?.reason;
        if (registration === undefined || reason !== "NotReady") continue;
        const facts = clusterFacts(registration);
        const isTainted = facts.taints.some(({ effect }) => effect === "NoExecute");
        if (isTainted || hasFailedBack(before, { name, kept, nowMs: nowMs() })) continue;
        if (failures.every((each) => isPartOfMassFailure(facts, each))) {
          broken(3, `${tenant}/${after.metadata.name} has left ${name}, which failed together with most clusters`);
        }
      }
    },
  };
}

const entryOf = ({ status }: WorkloadSync, registration: string) =>
  status?.clusters?.find(({ name }) => name === registration);

/**
 * Whether a placement has left a stand-in because it is back on the cluster that the stand-in replaced, at the time that it asked
 * for. That is no eviction: users ask for it, whatever the state of the stand-in is.
 */
function hasFailedBack(
  { spec, status }: WorkloadPlacement,
  { name, kept, nowMs }: Readonly<{ name: string; kept: ReadonlySet<string>; nowMs: number }>,
): boolean {
  const waitMs = (spec.failback?.afterSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  return (status?.failback ?? []).some(
    ({ cluster, standIn, fittingSince }) =>
      standIn === name && kept.has(cluster) && Date.parse(fittingSince ?? "") + waitMs <= nowMs,
  );
}

/** Whether all placements that would govern a workload select a cluster: a copy there goes for another reason. */
function isSelected(state: TenantState, workload: KubeObject, registration: string): boolean {
  const candidates = candidatesFor(state, workload) ?? [];
  const isSelectedBy = ({ status }: WorkloadPlacement): boolean =>
    status?.selectedClusters?.includes(registration) === true;
  return candidates.length > 0 && candidates.every(isSelectedBy) && controlsOf(workload).allows(registration);
}
