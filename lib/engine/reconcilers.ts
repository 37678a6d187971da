import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import type { ObjectEvent } from "../model/event.ts";
import { clusterWarningReasons } from "../model/event.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind, WorkloadKey } from "../model/key.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import { done, earliestNext } from "../model/work-item.ts";
import type { Metrics } from "../observe/metrics.ts";
import { mayAffect } from "../placement/affected.ts";
import { clusterFactsHash } from "../placement/observed.ts";
import { type PlacementWorld, placementReconciler } from "../placement/reconcile.ts";
import { cachedClusterFacts, createPlacementWorld } from "../placement/world.ts";
import type { ObservedWatches } from "../registration/conditions.ts";
import { registrationReconciler } from "../registration/reconcile.ts";
import type { ReadBindings } from "../registration/served-apis.ts";
import { createWorkloadFanOut } from "../sync/fan-out.ts";
import type { ReconcileOrphans } from "../sync/orphans/reconcile.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { EventSink } from "../upstream/events.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import { createAffectedByOrigin } from "../upsync/affected-workloads.ts";
import type { ReconcileUpsync } from "../upsync/reconcile-registration.ts";
import { createRegistrationWorld } from "./registration-world.ts";
import type { ControllerSettings } from "./settings.ts";

export type ReconcilersOptions = Readonly<{
  hub: Hub;
  /** Cache of a relay in this process. Without one, the placement reconciler lists placements to count the load. */
  cache?: ObjectCache | undefined;
  /** Whether the cache has the registrations of all logical clusters of this process. @default it has */
  isCacheComplete?: (() => boolean) | undefined;
  queue: WorkQueue;
  connections: Connections;
  credentials: CredentialSource;
  /** Reads the APIBindings that registrations ask for. @default none are visible */
  readBindings?: ReadBindings | undefined;
  clock: Clock;
  metrics: Pick<Metrics, "add" | "observe">;
  settings: ReconcilersSettings;
  /** Enables fan-out to workloads; with `work`, also their reconcile. @default workloads are ignored */
  sync?:
    | Readonly<{
        workloads: WorkloadHub;
        work?: Work<WorkloadKey> | undefined;
        /** Reconciles the upsync of a cluster, after its probe. */
        reconcileUpsync?: ReconcileUpsync | undefined;
        /** Counts the orphaned copies on a cluster, after its probe. */
        reconcileOrphans?: ReconcileOrphans | undefined;
      }>
    | undefined;
  /** What this process watches of a cluster. @default it does not watch clusters */
  watches?: ((key: ObjectKey) => ObservedWatches) | undefined;
  /** Called after each failed probe of a cluster. */
  onProbeFailed?: ((key: ObjectKey) => void) | undefined;
  /** Called when the Ready condition of a cluster has changed. */
  onReadyChange?: ((key: ObjectKey, change: ObjectEvent) => void) | undefined;
  /** Records an Event on an object. @default no Events */
  recordEvent?: EventSink["record"] | undefined;
}>;

export type ReconcilersSettings = Pick<
  ControllerSettings,
  "heartbeatSeconds" | "heartbeatWriteSeconds" | "reconcileSeconds" | "registration"
>;

/** How long a large tenant's load is reused: about as long as a burst of new placements, and far shorter than an imbalance matters. */
const loadMaxAgeSeconds = 10;

/** Creates the reconcile function for every kind of key, with a timeout; the same in a controller and in functions. */
export function createReconcilers(options: ReconcilersOptions): Work {
  const { hub, queue, connections, credentials, clock, metrics, settings, sync, onReadyChange, recordEvent } = options;
  const fanOut: WorkQueue = {
    sendLater: queue.sendLater,
    send: async (items) => {
      metrics.add("tmc_fanout_enqueued_total", {}, items.length);
      await queue.send(items);
    },
  };
  const workloads = sync && createWorkloadFanOut(sync.workloads);
  const registration = registrationReconciler(
    createRegistrationWorld({
      hub,
      queue: fanOut,
      connections,
      credentials,
      readBindings: options.readBindings,
      clock,
      factsHash: (object) => clusterFactsHash(cachedClusterFacts(object)),
      mayAffect: (placement, { before, after }) =>
        mayAffect(placement, before && cachedClusterFacts(before), after && cachedClusterFacts(after)),
      workloadsOn: workloads?.workloadsOnCluster,
      alsoAffected: sync && createAffectedByOrigin(sync.workloads),
      onReadyChange,
      recordEvent: (key, about, event) => {
        const reason = clusterWarningReasons.find((each) => each === event.reason);
        if (reason !== undefined) metrics.add("tmc_cluster_warnings_total", { reason });
        recordEvent?.(key, about, event);
      },
      watches: options.watches,
      onProbe: (key, { outcome: kind, tookMs }) => {
        if (kind === "failed") options.onProbeFailed?.(key);
        const outcome = kind === "failed" ? "unhealthy" : kind;
        metrics.add("tmc_probe_total", { outcome });
        metrics.observe("tmc_probe_duration_seconds", { outcome }, tookMs / 1000);
      },
    }),
    {
      ...settings.registration,
      intervalSeconds: settings.heartbeatSeconds,
      heartbeatWriteSeconds: settings.heartbeatWriteSeconds,
    },
  );
  const placements = createPlacementWorld({
    hub,
    clock,
    loadMaxAgeSeconds,
    registrationsOfProcess: options.cache && registrationsIn(options.cache, options.isCacheComplete),
    onEvictionsHeld: () => metrics.add("tmc_mass_failure_suspected_total", {}),
    recordEvent,
    workloads: workloads && {
      notificationHash: workloads.placementHash,
      affected: workloads.workloadsOfPlacement,
      syncRecords: workloads.recordsOfPlacement,
      enqueue: (keys) => fanOut.send(keys.map((key) => ({ key, reason: "fan-out" }))),
    },
  });
  const placement = placementReconciler(
    options.cache === undefined ? placements : withCachedLoad(placements, options.cache),
  );
  const reconcilers: Readonly<Record<ReconciledKind, Work<ObjectKey>>> = {
    ClusterRegistration: async (item, signal) => {
      let next = await registration(item, signal);
      for (const reconcile of [sync?.reconcileUpsync, sync?.reconcileOrphans]) {
        if (reconcile !== undefined) next = earliestNext(next, await reconcile(item, signal));
      }
      return next;
    },
    WorkloadPlacement: ({ key }, signal) => placement(key, signal),
  };
  const workload: Work<WorkloadKey> = sync?.work ?? (async () => done);
  return withTimeout(
    ({ key, ...rest }, signal) =>
      key.kind === "Workload" ? workload({ key, ...rest }, signal) : reconcilers[key.kind]({ key, ...rest }, signal),
    options,
  );
}

/**
 * Takes the load of clusters from the cache, which counts incrementally: no placement reconcile lists ten thousand others,
 * and a decision counts as soon as it is made.
 */
function withCachedLoad(world: PlacementWorld, cache: ObjectCache): PlacementWorld {
  return {
    ...world,
    decideWithLoad: async (key, _seen, decideUnder) => {
      const plan = decideUnder({ load: cache.load(key), reserved: cache.reserved(key) });
      cache.reserve(key, plan.status.selectedClusters ?? []);
      return plan;
    },
  };
}

/** The registrations of all logical clusters, undefined while some are missing. The server has validated them against the schema. */
function registrationsIn(
  cache: ObjectCache,
  isComplete: () => boolean = () => true,
): () => readonly (readonly ClusterRegistration[])[] | undefined {
  const registrationsOf = (logicalCluster: string) =>
    cache.list("ClusterRegistration", logicalCluster) as readonly KubeObject[] as readonly ClusterRegistration[];
  return () => (isComplete() ? cache.logicalClusters().map(registrationsOf) : undefined);
}

/** Adds a timeout. An expired one is a transient fault, not an unexpected error. */
function withTimeout(work: Work, { clock, settings }: Pick<ReconcilersOptions, "clock" | "settings">): Work {
  return async (item, signal) => {
    const deadline = createDeadline(clock, { signal, timeoutMs: settings.reconcileSeconds * 1000 });
    try {
      return await work(item, deadline.signal);
    } catch (error) {
      if (!deadline.expired) throw error;
      const { kind, name } = item.key;
      const message = `reconcile ${kind} "${name}": timed out after ${settings.reconcileSeconds} s`;
      throw new ControllerError("unreachable", message, { cause: error });
    } finally {
      deadline.end();
    }
  };
}
