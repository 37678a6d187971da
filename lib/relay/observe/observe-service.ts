import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { HealthChecks } from "../../observe/health.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { RelayListener } from "../listener.ts";
import type { Relay } from "../relay.ts";
import type { Scope } from "../scope.ts";
import { createWatchLiveness, startLoopLag } from "./liveness.ts";
import { createObjectCounts } from "./object-counts.ts";

/** The same time as in the alarm: shorter losses of the upstream are made up by the watches. */
const maxBlindSeconds = 120;

export type ServiceObservers = Readonly<{ log: Log; metrics: Metrics; health: HealthChecks; clock: Clock }>;

/**
 * Reports a standalone relay to the log, the metrics and the health checks of its process.
 *
 * The process is alive while its timers fire in time and each watch shows activity. It is ready when everything has been
 * listed, no watch has failed for long, and the queue accepts keys.
 */
export function observeService(
  { log, metrics, health, clock }: ServiceObservers,
  {
    scope,
    relay,
    sinceMs,
  }: Readonly<{ scope: Pick<Scope, "pathOf" | "watches">; relay: () => Relay; sinceMs: number }>,
): Readonly<{
  listener: RelayListener;
  /** For how long the relay has not seen every change upstream: since `sinceMs` before everything was listed once. */
  blindSeconds: () => number;
  end: () => void;
}> {
  const pathOf = (watchScope: string): string => scope.pathOf(watchScope) || "the cluster";
  const watchName = (what: string, watchScope: string): string => `${what} in ${pathOf(watchScope)}`;
  const counts = createObjectCounts();
  const lag = startLoopLag(clock);
  const watches = createWatchLiveness(
    clock,
    scope.watches().map((watch) => watchName(watch.what, watch.scope)),
  );

  let wasListed = false;
  const blindSeconds = (): number => {
    wasListed ||= relay().unlisted().length === 0;
    return wasListed ? watches.blindSeconds() : (clock.monotonicMs() - sinceMs) / 1000;
  };

  const cleanups = [
    lag.stop,
    health.registerCallback("event-loop", () => lag.check(), { probe: "live" }),
    health.registerCallback("watches", () => watches.check(), { probe: "live" }),
    health.registerCallback("listed", () => {
      const unlisted = relay().unlisted().map(pathOf);
      return {
        ok: unlisted.length === 0,
        detail: unlisted.length === 0 ? "" : `not listed yet: ${unlisted.join(", ")}`,
      };
    }),
    health.registerCallback("upstream", () => {
      const ok = watches.blindSeconds() <= maxBlindSeconds;
      const detail = ok ? "" : `no changes seen for more than ${maxBlindSeconds} s: ${watches.failing().join("; ")}`;
      return { ok, detail };
    }),
    health.registerCallback("queue", () => {
      const { isQueueFailing, unsent } = relay();
      return { ok: !isQueueFailing, detail: isQueueFailing ? `${unsent} keys wait for the queue` : "" };
    }),
    metrics.onScrape(() => {
      metrics.set("tmc_relay_dirty_keys", {}, relay().unsent);
      metrics.set("tmc_relay_rate_limited_keys", {}, relay().limited);
      metrics.set("tmc_relay_oldest_dirty_seconds", {}, relay().oldestUnsentSeconds());
      counts.record(metrics);
    }),
  ];

  return {
    listener: {
      relisted: (kind) => metrics.add("tmc_relay_relists_total", { kind }),
      listed: (kind, logicalCluster, objects) => {
        counts.applyList(kind, logicalCluster, objects);
        log.debug("listed", { kind, workspace: pathOf(logicalCluster), objects: objects.length });
      },
      changed: (kind, logicalCluster, object) => {
        metrics.add("tmc_relay_events_total", { kind, event: "modified" });
        counts.apply(kind, logicalCluster, object);
      },
      deleted: (kind, logicalCluster, { metadata }) => {
        metrics.add("tmc_relay_events_total", { kind, event: "deleted" });
        counts.remove(kind, logicalCluster, metadata.name ?? "");
      },
      workloadEvent: (event) => metrics.add("tmc_relay_events_total", { kind: "Workload", event }),
      absent: ({ what, scope: watchScope, error }) => {
        if (error === undefined) return;
        const fields = { workspace: pathOf(watchScope), what, error };
        if (error.status === 403) log.warn("type is forbidden", fields);
        else log.debug("type is not served", fields);
      },
      restarted: (kind) => metrics.add("tmc_relay_watch_restarts_total", { kind }),
      alive: (what, watchScope) => watches.recordActivity(watchName(what, watchScope)),
      ended: (what, watchScope) => watches.forget(watchName(what, watchScope)),
      released: (logicalCluster) => {
        log.info("tenant released", { logicalCluster });
        counts.release(logicalCluster);
      },
      failed: ({ what, scope: watchScope, error, retryInMs }) => {
        // The relay may not be allowed to read secrets; it then does without them.
        if (what !== "queue" && what !== "Secret") watches.recordFailure(watchName(what, watchScope));
        const workspace = what === "queue" ? undefined : pathOf(watchScope);
        const fields = { workspace, what, retryInSeconds: retryInMs / 1000, error };
        const fault = faultOf(error);
        if (fault === "expired") log.debug("watch expired", fields);
        else if (fault === undefined) log.error("relay failed", fields);
        else log.warn(what === "queue" ? "queue rejected keys" : "watch failed", fields);
      },
    },
    blindSeconds,
    end: () => {
      for (const cleanup of cleanups) cleanup();
    },
  };
}
