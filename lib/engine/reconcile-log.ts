import { faultOf } from "@tmc/kube/errors.ts";
import type { ObjectKey } from "../model/key.ts";
import type { Log } from "../observe/log.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

/** Logs one line per reconcile; with a cache, including the strategy of a placement. */
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
        // Conflicts are expected and retried, so they are logged at debug level only.
        if (event.failureKind === "conflict") log.debug("reconcile failed", { ...fields, error: event.error });
        else log.warn("reconcile failed", { ...fields, retryInSeconds: event.afterSeconds, error: event.error });
        return;
      case "drop":
        // The object was deleted during the reconcile, which is not a failure.
        if (faultOf(event.error) === "not-found") log.debug("reconcile failed", { ...fields, error: event.error });
        else log.error("reconcile failed", { ...fields, error: event.error });
        return;
      case "dead-letter":
        log.error("reconcile failed", { ...fields, error: event.error });
        return;
      default:
        // Periodic reconciles without work would fill the log.
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
