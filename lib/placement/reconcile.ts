import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import { done, earliest, type Next, requeueAfter } from "../model/next.ts";
import { decide, type Plan } from "./decide.ts";
import type { PlacementStatus } from "./explain.ts";
import type { Observed } from "./observed.ts";
import { withPlaced } from "./placed-workloads.ts";

/** All that this reconciler needs of the world. */
export interface PlacementWorld {
  /** The placement and the clusters of its logical cluster, without the load; undefined when the placement is gone. */
  observe(key: ObjectKey, signal: AbortSignal): Promise<Observed | undefined>;
  /**
   * Has `decideUnder` decide under the load of this very moment and counts its answer at once, before it is written, so that
   * placements decided at the same time are dealt out evenly too.
   */
  deal(
    key: ObjectKey,
    seen: WorkloadPlacement,
    decideUnder: (load: ReadonlyMap<string, number>) => Plan,
    signal: AbortSignal,
  ): Promise<Plan>;
  /** Fails with the fault "conflict" when the placement has changed since it was seen; answers it as it is then. */
  writeStatus(
    key: ObjectKey,
    seen: WorkloadPlacement,
    status: PlacementStatus,
    signal: AbortSignal,
  ): Promise<WorkloadPlacement>;
  /** The workloads that follow placements, where there are any. */
  readonly followers?: Followers | undefined;
}

/** The workloads that go where placements say. */
export interface Followers {
  /** The same text as long as a placement tells workloads the same; undefined when it has never told any anything. */
  fingerprint(placement: WorkloadPlacement, status: PlacementStatus): string | undefined;
  /** The workloads that a placement concerns; it is undefined when it has gone. */
  concerned(key: ObjectKey, placement: WorkloadPlacement | undefined, signal: AbortSignal): Promise<readonly WorkKey[]>;
  wake(keys: readonly WorkKey[]): Promise<void>;
  /** TMC's records of the workloads that a placement has put on clusters. */
  records(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
}

/** Makes the function that settles one placement: which clusters, why, and when to look again. */
export const placementReconciler =
  (world: PlacementWorld) =>
  async (key: ObjectKey, signal: AbortSignal): Promise<Next> => {
    const observed = await world.observe(key, signal);
    if (observed === undefined) {
      const left = (await world.followers?.concerned(key, undefined, signal)) ?? [];
      if (left.length > 0) await world.followers?.wake(left);
      return done;
    }

    // Asking for the load means looking at every placement; most runs have nothing to deal out.
    const alone = decide(observed);
    const plan = alone.dealt
      ? await world.deal(key, observed.placement, (load) => decide({ ...observed, load }), signal)
      : alone;
    const { status, againSeconds } = await placedUnder(world, { key, observed, status: plan.status }, signal);
    await report(world, { key, placement: observed.placement, status }, signal);
    return againSeconds === undefined ? plan.next : earliest(plan.next, requeueAfter(againSeconds));
  };

/** The status with what has become of the workloads; as it is for a placement that is about none. */
async function placedUnder(
  { followers }: PlacementWorld,
  { key, observed, status }: Readonly<{ key: ObjectKey; observed: Observed; status: PlacementStatus }>,
  signal: AbortSignal,
): Promise<ReturnType<typeof withPlaced>> {
  const { placement, nowMs } = observed;
  const before = placement.status ?? {};
  const isAboutNone = placement.spec.workloadSelector === undefined && before.placedWorkloads === undefined;
  if (followers === undefined || isAboutNone || placement.metadata.deletionTimestamp !== undefined) return { status };
  return withPlaced({ before, status, records: await followers.records(key, signal), nowMs });
}

type News = Readonly<{ key: ObjectKey; placement: WorkloadPlacement; status: PlacementStatus }>;

/**
 * Writes the status and tells the workloads what is new to them. They are told after they can see it and before that is
 * recorded: who is cut off in between tells them again. One write, where nobody has to be told.
 */
async function report(world: PlacementWorld, { key, placement, status }: News, signal: AbortSignal): Promise<void> {
  const { followers } = world;
  const told = placement.status?.notifiedHash;
  const fingerprint = followers?.fingerprint(placement, status);
  const isNews = followers !== undefined && fingerprint !== undefined && fingerprint !== told;
  const isHeard = isNews && (await followers.concerned(key, placement, signal)).length > 0;
  const written = withTold(status, isNews && !isHeard ? fingerprint : told);
  // Status comes last, and only when it differs: every write wakes the watchers, this one included.
  const isWritten = !isDeepStrictEqual(written, placement.status ?? {});
  const current = isWritten ? await world.writeStatus(key, placement, written, signal) : placement;
  if (!isNews) return;
  // Asked again: whoever has come meanwhile may have decided by what was there before.
  const keys = await followers.concerned(key, current, signal);
  if (keys.length > 0) await followers.wake(keys);
  if (isHeard) await world.writeStatus(key, current, withTold(status, fingerprint), signal);
}

function withTold(status: PlacementStatus, told: string | undefined): PlacementStatus {
  return told === undefined ? status : { ...status, notifiedHash: told };
}
