import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { workloadKindsWith } from "../api/workload-kinds.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { Health } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { isSharedByTenants, tenantRateOf } from "../queue/tenant-rate-limit.ts";
import { reconciledTypes } from "../upstream/reconciled-types.ts";
import { type ClusterNews, createClusterNews, type RelayedClusters } from "./downstream-watch.ts";
import type { RelayListener } from "./listener.ts";
import { traceOfObject, traceOfTenantObject, traceOfWorkload } from "./projection.ts";
import type { Relay } from "./relay.ts";
import { createTerritory, type TerritoryChoice } from "./scope.ts";
import { observeService } from "./service-observation.ts";
import { bothHear } from "./upsync-subscriptions.ts";

export type RelayServiceOptions = TerritoryChoice &
  Readonly<{
    /** A client for the hub; it stays open at the end. */
    client: KubeClient;
    queue: Pick<WorkQueue, "send">;
    /** How many keys of one tenant are sent in a second, where there can be several tenants. @default any number */
    tenantEventsPerSecond?: number | undefined;
    /** Whether workloads are looked after as well. @default false */
    sync?: boolean | undefined;
    /** Types of workloads that an operator has added (`readCustomWorkloads`). @default only those that TMC offers itself */
    customWorkloads?: readonly WorkloadType[] | undefined;
    /** The way to clusters, where what becomes of workloads there is told as well. @default it is not */
    clusters?: RelayedClusters | undefined;
    clock: Clock;
    random: () => number;
    log: Log;
    metrics: Metrics;
    health: Health;
  }>;

/** The relay as a process of its own. Any number of them may run at once: the queue takes each change once. */
export interface RelayService {
  /** Finds the workspaces and begins; fails in one line for one that is not there. A hub that is away is waited for. */
  start(): Promise<void>;
  /** Watches nothing more and sends what is left within the time; answers how many keys could not be sent. */
  stop(limitMs: number): Promise<number>;
  readonly unsent: number;
  oldestUnsentSeconds(): number;
}

/** Has the news of clusters hear what the relay sees in the hub. */
function newsHears(listener: RelayListener, news: ClusterNews): RelayListener {
  return {
    ...bothHear(listener, news.births),
    released: (logicalCluster) => {
      listener.released?.(logicalCluster);
      news.births.released(logicalCluster);
      news.release(logicalCluster);
    },
    secretChanged: news.renewed,
  };
}

/** Ten calls of SQS, of which some are under way at once: where one is refused, no more than these go again. */
const batchSize = 100;
/** Nobody notices it, and what one command of a user changes goes in one call. */
const gatherMs = 100;

/** Creates a relay that does nothing yet. It keeps no objects: of each a fingerprint, and how ready it is. */
export function createRelayService(options: RelayServiceOptions): RelayService {
  const { apiExport, queue, clock, random, log, metrics, health } = options;
  const end = new AbortController();
  const territory = createTerritory({ ...options, signal: end.signal });
  let relay: Relay | undefined;
  let news: ClusterNews | undefined;
  let endObservation = (): void => {};

  return {
    start: async () => {
      const check = health.register("workspaces");
      let found: string;
      try {
        found = await territory.find();
      } catch (error) {
        check.fail(error instanceof Error ? error.message : "unknown failure");
        if (end.signal.aborted) return;
        end.abort(); // nobody waits for the other workspaces any more
        throw error;
      }
      check.pass(found);
      if (end.signal.aborted) return;
      const observed = observeService({ log, metrics, health, clock }, { territory, relay: () => created });
      endObservation = observed.end;
      const counted: Pick<WorkQueue, "send"> = {
        send: async (items) => {
          await queue.send(items);
          for (const { key } of items)
            metrics.add("tmc_relay_keys_total", { kind: key.kind, tenant: key.logicalCluster });
          log.debug("keys sent", { keys: items.length });
        },
      };
      const tenantRate = tenantRateOf({
        perSecond: options.tenantEventsPerSecond ?? 0,
        isShared: isSharedByTenants(options),
      });
      const types = workloadKindsWith(options.customWorkloads);
      news =
        options.sync === true && options.clusters !== undefined
          ? createClusterNews({
              ...options.clusters,
              client: territory.client,
              types,
              queue: counted,
              tenantRate,
              clock,
              random,
              log,
              metrics,
            })
          : undefined;
      const created: Relay = territory.createRelay({
        types: reconciledTypes,
        queue: counted,
        clock,
        random,
        listener: news === undefined ? observed.listener : newsHears(observed.listener, news),
        slim: apiExport === undefined ? traceOfObject : traceOfTenantObject,
        workloads: options.sync === true ? { types, slim: traceOfWorkload, cache: news?.cache } : undefined,
        batchSize,
        gatherMs,
        tenantRate,
      });
      relay = created;
      created.start();
    },
    stop: async (limitMs) => {
      end.abort();
      await news?.stop();
      const left = (await relay?.stop(limitMs)) ?? 0;
      await territory.close();
      endObservation();
      return left;
    },
    get unsent() {
      return relay?.unsent ?? 0;
    },
    oldestUnsentSeconds: () => relay?.oldestUnsentSeconds() ?? 0,
  };
}
