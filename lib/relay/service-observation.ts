import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { Health } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RelayListener } from "./listener.ts";
import { createWatchPulse, startLoopLag } from "./liveness.ts";
import { createFleetCensus } from "./object-counts.ts";
import type { Relay } from "./relay.ts";
import type { Territory } from "./scope.ts";

export type ServiceObservers = Readonly<{ log: Log; metrics: Metrics; health: Health; clock: Clock }>;

/**
 * Puts what a relay of its own sees into the log, the metrics and the health of its process.
 *
 * It is alive while it comes to its timers and each watch is heard of; it is ready once everything was listed, as long as
 * the queue takes what there is.
 */
export function observeService(
  { log, metrics, health, clock }: ServiceObservers,
  { territory, relay }: Readonly<{ territory: Pick<Territory, "pathOf" | "watches">; relay: () => Relay }>,
): Readonly<{ listener: RelayListener; end: () => void }> {
  const pathOf = (place: string): string => territory.pathOf(place) || "the cluster";
  const watchName = (kind: string, logicalCluster: string): string => `${kind} in ${pathOf(logicalCluster)}`;
  const census = createFleetCensus();
  const lag = startLoopLag(clock);
  const pulse = createWatchPulse(
    clock,
    territory.watches().map(({ what, place }) => watchName(what, place)),
  );

  const ends = [
    lag.stop,
    health.ask("event-loop", () => lag.look(), { probe: "live" }),
    health.ask("watches", () => pulse.look(), { probe: "live" }),
    health.ask("listed", () => {
      const unlisted = relay().unlisted().map(pathOf);
      return { ok: unlisted.length === 0, detail: unlisted.length === 0 ? "" : `not yet: ${unlisted.join(", ")}` };
    }),
    health.ask("queue", () => {
      const { isQueueFailing, unsent } = relay();
      return { ok: !isQueueFailing, detail: isQueueFailing ? `${unsent} keys wait for the queue` : "" };
    }),
    metrics.onScrape(() => {
      metrics.set("tmc_relay_dirty_keys", {}, relay().unsent);
      metrics.set("tmc_relay_rate_limited_keys", {}, relay().limited);
      metrics.set("tmc_relay_oldest_dirty_seconds", {}, relay().oldestUnsentSeconds());
      census.record(metrics);
    }),
  ];

  return {
    listener: {
      relisted: (kind) => metrics.add("tmc_relay_relists_total", { kind }),
      listed: (kind, logicalCluster, objects) => {
        census.takeList(kind, logicalCluster, objects);
        log.debug("listed", { kind, workspace: pathOf(logicalCluster), objects: objects.length });
      },
      changed: (kind, logicalCluster, object) => {
        metrics.add("tmc_relay_events_total", { kind, event: "modified" });
        census.take(kind, logicalCluster, object);
      },
      deleted: (kind, logicalCluster, { metadata }) => {
        metrics.add("tmc_relay_events_total", { kind, event: "deleted" });
        census.lose(kind, logicalCluster, metadata.name ?? "");
      },
      workloadEvent: (event) => metrics.add("tmc_relay_events_total", { kind: "Workload", event }),
      absent: ({ what, logicalCluster, error }) => {
        if (error === undefined) return;
        const fields = { workspace: pathOf(logicalCluster), what, error };
        if (error.status === 403) log.warn("type cannot be seen", fields);
        else log.debug("type is not served", fields);
      },
      restarted: (kind) => metrics.add("tmc_relay_watch_restarts_total", { kind }),
      alive: (what, place) => pulse.beat(watchName(what, place)),
      ended: (what, place) => pulse.forget(watchName(what, place)),
      released: (logicalCluster) => {
        log.info("tenant released", { logicalCluster });
        census.release(logicalCluster);
      },
      trouble: ({ what, logicalCluster, error, retryInMs }) => {
        if (what !== "queue" && what !== "Secret") pulse.beat(watchName(what, logicalCluster));
        const workspace = what === "queue" ? undefined : pathOf(logicalCluster);
        const fields = { workspace, what, retryInSeconds: retryInMs / 1000, error };
        const fault = faultOf(error);
        if (fault === "expired") log.debug("watch expired", fields);
        else if (fault === undefined) log.error("relay failed", fields);
        else log.warn(what === "queue" ? "queue refused keys" : "watch failed", fields);
      },
    },
    end: () => {
      for (const each of ends) each();
    },
  };
}
