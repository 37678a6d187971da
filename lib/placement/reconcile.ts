import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { ObjectKey } from "../model/key.ts";
import { type Next, settled } from "../model/next.ts";
import { decide, type Plan } from "./decide.ts";
import type { PlacementStatus } from "./explain.ts";
import type { Observed } from "./facts.ts";

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
  /** Fails with the fault "conflict" when the placement has changed since it was seen. */
  writeStatus(key: ObjectKey, seen: WorkloadPlacement, status: PlacementStatus, signal: AbortSignal): Promise<void>;
}

/** Makes the function that settles one placement: which clusters, why, and when to look again. */
export const placementReconciler =
  (world: PlacementWorld) =>
  async (key: ObjectKey, signal: AbortSignal): Promise<Next> => {
    const observed = await world.observe(key, signal);
    if (observed === undefined) return settled; // gone since it was queued

    // Asking for the load means looking at every placement; most runs have nothing to deal out.
    const alone = decide(observed);
    const plan = alone.dealt
      ? await world.deal(key, observed.placement, (load) => decide({ ...observed, load }), signal)
      : alone;
    // Status comes last, and only when it differs: every write wakes the watchers, this one included.
    if (!isDeepStrictEqual(plan.status, observed.placement.status ?? {})) {
      await world.writeStatus(key, observed.placement, plan.status, signal);
    }
    return plan.next;
  };
