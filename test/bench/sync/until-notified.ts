import { setTimeout as delay } from "node:timers/promises";
import { placedDebounceSeconds } from "../../../lib/placement/placed-workloads.ts";
import { notifyDelaySeconds } from "../../../lib/sync/fan-out.ts";

/**
 * Waits until placements have heard of what became of their workloads: they are told some seconds later, and what was left
 * untold would be counted as written for what comes next.
 */
export async function untilNotified(): Promise<void> {
  await delay((notifyDelaySeconds + placedDebounceSeconds + 1) * 1000);
}
