import { logReconciles } from "../engine/reconcile-log.ts";
import type { Log } from "../observe/log.ts";
import { queueEventRecorder } from "../observe/recorders.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import type { EmfMetrics } from "./emf-metrics.ts";

/** Listener of a queue that records metrics and logs one line per reconcile and per unreadable message. */
export function queueListener({
  log,
  metrics,
}: Readonly<{ log: Log; metrics: EmfMetrics }>): (event: QueueEvent) => void {
  const record = queueEventRecorder(metrics);
  const logEnd = logReconciles(log);
  return (event) => {
    record(event);
    if (event.kind === "unreadable") {
      const { messageId, cause, receives, error } = event;
      if (error === undefined) log.error("message dead-lettered", { messageId, cause, receives });
      else log.error("message cannot be dead-lettered", { messageId, cause, receives, error });
    } else if (event.kind === "ended" && event.outcome === "returned") {
      const { item, durationSeconds, error } = event;
      const { logicalCluster, kind, name } = item.key;
      const durationMs = Math.round(durationSeconds * 1000);
      log.warn("reconcile returned to queue", {
        logicalCluster,
        kind,
        name,
        reason: item.reason,
        durationMs,
        error,
      });
    } else logEnd(event);
  };
}
