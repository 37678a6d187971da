import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import { allWorkloadTypes } from "../../api/workload-kinds.ts";
import type { WorkQueue } from "../../model/work-item.ts";
import type { HealthChecks } from "../../observe/health.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { isMultiTenant, tenantRateOf } from "../../queue/tenant-rate-limit.ts";
import { reconciledTypes } from "../../upstream/watched-resources.ts";
import {
  createDownstreamWatch,
  type DownstreamWatch,
  type TargetClusterAccess,
} from "../downstream/downstream-watch.ts";
import { combineListeners } from "../downstream/upsync-subscriptions.ts";
import type { RelayListener } from "../listener.ts";
import { observeService } from "../observe/observe-service.ts";
import type { Relay } from "../relay.ts";
import { createScope, type ScopeChoice } from "../scope.ts";
import { projectObject, projectTenantObject, projectWorkload } from "../watch/projection.ts";

export type RelayServiceOptions = ScopeChoice &
  Readonly<{
    /** A client at the root of the upstream server; `stop` does not close it. */
    client: KubeClient;
    queue: Pick<WorkQueue, "send">;
    /** The rate limit for the keys of one tenant, if there can be several tenants. @default none */
    tenantEventsPerSecond?: number | undefined;
    /** Whether workloads are relayed too. @default false */
    sync?: boolean | undefined;
    /** Workload types that an operator has added (`readCustomWorkloads`). @default only TMC's own workload types */
    customWorkloads?: readonly WorkloadType[] | undefined;
    /** Access to target clusters, to watch copies and upsynced objects there. @default target clusters are not watched */
    targetClusters?:
      | (TargetClusterAccess &
          Readonly<{
            /** Finds the id of the hub, which the copies carry; called once, when the scope was found. */
            findHubId: (signal: AbortSignal) => Promise<string>;
          }>)
      | undefined;
    clock: Clock;
    random: () => number;
    log: Log;
    metrics: Metrics;
    health: HealthChecks;
  }>;

/** The standalone relay. Several may run at once: the queue deduplicates their messages. */
export interface RelayService {
  /** Resolves the scope and starts the watches. Fails if a workspace does not exist; waits for an unreachable upstream. */
  start(): Promise<void>;
  /** Stops all watches and sends the remaining keys for at most `limitMs`; returns how many keys were not sent. */
  stop(limitMs: number): Promise<number>;
  readonly unsent: number;
  oldestUnsentSeconds(): number;
  /** For how long the relay has not seen every change upstream; 0 while all its watches work. */
  blindSeconds(): number;
}

/** Passes registrations, released tenants and changed secrets on to the watch of target clusters. */
function notifyDownstream(listener: RelayListener, downstream: DownstreamWatch): RelayListener {
  return {
    ...combineListeners(listener, downstream.upsyncs),
    released: (logicalCluster) => {
      listener.released?.(logicalCluster);
      downstream.upsyncs.released(logicalCluster);
      downstream.release(logicalCluster);
    },
    secretChanged: downstream.credentialsChanged,
  };
}

/** Ten SQS calls, some of them in parallel: if one is rejected, at most these keys are sent again. */
const batchSize = 100;
/** Short enough to go unnoticed; the objects that one `kubectl apply` changes go in one call. */
const gatherMs = 100;

/** Creates a relay that is not started. It keeps no objects: only a fingerprint and the readiness of each. */
export function createRelayService(options: RelayServiceOptions): RelayService {
  const { apiExport, queue, clock, random, log, metrics, health } = options;
  const end = new AbortController();
  const scope = createScope({ ...options, signal: end.signal });
  let relay: Relay | undefined;
  let downstream: DownstreamWatch | undefined;
  let endObservation = (): void => {};
  const sinceMs = clock.monotonicMs();
  let blindSeconds = (): number => (clock.monotonicMs() - sinceMs) / 1000;

  return {
    start: async () => {
      const check = health.register("workspaces");
      const targetClusters = options.sync === true ? options.targetClusters : undefined;
      let found: string;
      let hubId: string | undefined;
      try {
        found = await scope.find();
        hubId = await targetClusters?.findHubId(end.signal);
      } catch (error) {
        check.fail(error instanceof Error ? error.message : "unknown failure");
        if (end.signal.aborted) return;
        end.abort(); // stops the wait for the other workspaces
        throw error;
      }
      check.pass(found);
      if (end.signal.aborted) return;
      const observed = observeService({ log, metrics, health, clock }, { scope, relay: () => created, sinceMs });
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
        isShared: isMultiTenant(options),
      });
      const types = allWorkloadTypes(options.customWorkloads);
      downstream =
        targetClusters !== undefined && hubId !== undefined
          ? createDownstreamWatch({
              ...targetClusters,
              hubId,
              client: scope.client,
              types,
              queue: counted,
              tenantRate,
              clock,
              random,
              log,
              metrics,
            })
          : undefined;
      const created: Relay = scope.createRelay({
        types: reconciledTypes,
        queue: counted,
        clock,
        random,
        listener: downstream === undefined ? observed.listener : notifyDownstream(observed.listener, downstream),
        transform: apiExport === undefined ? projectObject : projectTenantObject,
        workloads: options.sync === true ? { types, transform: projectWorkload, cache: downstream?.cache } : undefined,
        batchSize,
        gatherMs,
        tenantRate,
      });
      relay = created;
      created.start();
      blindSeconds = observed.blindSeconds;
    },
    stop: async (limitMs) => {
      end.abort();
      await downstream?.stop();
      const unsent = (await relay?.stop(limitMs)) ?? 0;
      await scope.close();
      endObservation();
      return unsent;
    },
    get unsent() {
      return relay?.unsent ?? 0;
    },
    oldestUnsentSeconds: () => relay?.oldestUnsentSeconds() ?? 0,
    blindSeconds: () => blindSeconds(),
  };
}
