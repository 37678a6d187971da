import type { WorkItem } from "../model/work-item.ts";

/**
 * Makes one of two wishes for the same key, the later one given last.
 *
 * The newest reason, unless the one that waits asks for more. No version is lost: a reader may want to know how fresh it
 * has to be.
 */
export function collapse(waiting: WorkItem, fresh: WorkItem): WorkItem {
  const reason = weightOf(fresh) < weightOf(waiting) ? waiting.reason : fresh.reason;
  const isPatient = waiting.isPatient === true && fresh.isPatient === true;
  return {
    key: fresh.key,
    reason,
    resourceVersion: fresh.resourceVersion ?? waiting.resourceVersion,
    ...(isPatient ? { isPatient } : {}),
  };
}

/** Two reasons have a cluster looked at where the others would only pass by; a wish for that must not get lost. */
function weightOf({ reason }: WorkItem): number {
  return reason === "on-demand" ? 2 : reason === "heartbeat" ? 1 : 0;
}
