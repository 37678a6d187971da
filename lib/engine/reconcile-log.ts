import { faultOf } from "@tmc/kube/errors.ts";
import type { ObjectKey } from "../model/key.ts";
import type { Log } from "../observe/log.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

/** Logs a line for each reconcile that ended; where objects are at hand, with what they say of it. */
export function logReconciles(log: Log, cache?: Pick<ObjectCache, "get">): (event: QueueEvent) => void {
  return (event) => {
    if (event.kind !== "ended") return;
    const { item, outcome, durationSeconds } = event;
    const { logicalCluster, kind, name } = item.key;
    const fields = {
      logicalCluster,
      kind,
      name,
      reason: item.reason,
      outcome,
      strategy: item.key.kind === "Workload" ? undefined : strategyOf(cache, item.key),
      durationMs: Math.round(durationSeconds * 1000),
    };
    switch (event.outcome) {
      case "retry":
        // A conflict is nobody's news.
        if (event.sort === "conflict") log.debug("reconcile failed", { ...fields, error: event.error });
        else log.warn("reconcile failed", { ...fields, retryInSeconds: event.afterSeconds, error: event.error });
        return;
      case "drop":
        // It has gone while it was worked on; that is no failure.
        if (faultOf(event.error) === "not-found") log.debug("reconcile failed", { ...fields, error: event.error });
        else log.error("reconcile failed", { ...fields, error: event.error });
        return;
      case "dead-letter":
        log.error("reconcile failed", { ...fields, error: event.error });
        return;
      default:
        // The rounds that come by themselves and find nothing to do would be most of every log.
        if (item.reason === "resync" || item.reason === "heartbeat") log.debug("reconciled", fields);
        else log.info("reconciled", fields);
    }
  };
}

function strategyOf(cache: Pick<ObjectCache, "get"> | undefined, key: ObjectKey): unknown {
  if (key.kind !== "WorkloadPlacement") return undefined;
  const spec = cache?.get(key)?.spec;
  return typeof spec === "object" && spec !== null && "strategy" in spec ? spec.strategy : undefined;
}
