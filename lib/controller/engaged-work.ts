import { settled } from "../model/next.ts";
import type { Work } from "../model/work-item.ts";

/**
 * Lets keys of logical clusters that are looked after no more end quietly. What was known of them has been forgotten, and
 * must not be taken for gone; should they come back, everything there is looked at anew.
 */
export function workWhileEngaged(work: Work, isEngaged: (cluster: string) => boolean): Work {
  return async (item, signal) => (isEngaged(item.key.cluster) ? work(item, signal) : settled);
}
