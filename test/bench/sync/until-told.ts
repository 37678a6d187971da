import { setTimeout as delay } from "node:timers/promises";
import { placedQuietSeconds } from "../../../lib/placement/placed-workloads.ts";
import { notifySeconds } from "../../../lib/sync/fan-out.ts";

/**
 * Waits until placements have heard of what became of their workloads: they are told some seconds later, and what was left
 * untold would be counted as written for what comes next.
 */
export async function untilTold(): Promise<void> {
  await delay((notifySeconds + placedQuietSeconds + 1) * 1000);
}
