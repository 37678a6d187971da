import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind, WorkloadKey } from "../model/key.ts";
import { done, earliest } from "../model/next.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import type { Metrics } from "../observe/metrics.ts";
import { mayConcern } from "../placement/affected.ts";
import { factsFingerprint } from "../placement/observed.ts";
import { type PlacementWorld, placementReconciler } from "../placement/reconcile.ts";
import { createPlacementWorld, factsOf } from "../placement/world.ts";
import type { ReadBindings } from "../registration/connected-apis.ts";
import { registrationReconciler } from "../registration/reconcile.ts";
import { createWorkloadFanOut } from "../sync/fan-out.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { HubEvents } from "../upstream/events.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import { createAffectedByOrigin } from "../upsync/affected-workloads.ts";
import type { ReconcileUpsync } from "../upsync/subscriptions.ts";
import { createRegistrationWorld } from "./registration-world.ts";
import type { ControllerSettings } from "./settings.ts";

export type ReconcilersOptions = Readonly<{
  hub: Hub;
  /** What a relay of this process has seen; without one, who deals out placements lists them. */
  cache?: ObjectCache | undefined;
  queue: WorkQueue;
  connections: Connections;
  credentials: CredentialSource;
  /** Looks at the APIBindings that registrations ask for. @default none can be seen */
  readBindings?: ReadBindings | undefined;
  clock: Clock;
  metrics: Pick<Metrics, "add" | "observe">;
  settings: ReconcilersSettings;
  /** Tells workloads of what concerns them, and works on them where it is given. @default they stay where they are */
  sync?:
    | Readonly<{
        workloads: WorkloadHub;
        work?: Work<WorkloadKey> | undefined;
        /** Sees to what is born on a cluster, after its health was looked at. */
        attend?: ReconcileUpsync | undefined;
      }>
    | undefined;
  /** Hears how Ready of a cluster has changed. */
  onEvent?: ((key: ObjectKey, change: ObjectEvent) => void) | undefined;
  /** Tells people something about an object, as an Event beside it. @default nobody is told */
  tell?: HubEvents["tell"] | undefined;
}>;

/** The part of the settings that reconcilers work by. */
export type ReconcilersSettings = Pick<
  ControllerSettings,
  "heartbeatSeconds" | "heartbeatWriteSeconds" | "reconcileSeconds" | "registration"
>;

/** As long as a rush of new placements lasts, and far less than anyone waits for evenness. */
const countSeconds = 10;

/** Creates the work on every kind of key, each within its time; the same in one process and in functions. */
export function createReconcilers(options: ReconcilersOptions): Work {
  const { hub, queue, connections, credentials, clock, metrics, settings, sync, onEvent, tell } = options;
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
      fingerprint: (object) => factsFingerprint(factsOf(object)),
      mayConcern: (placement, { before, after }) =>
        mayConcern(placement, before && factsOf(before), after && factsOf(after)),
      workloadsOn: workloads?.onCluster,
      alsoConcerned: sync && createAffectedByOrigin(sync.workloads),
      onEvent,
      tell,
      onProbe: (_key, { outcome: kind, tookMs }) => {
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
    countSeconds,
    followers: workloads && {
      fingerprint: workloads.fingerprint,
      concerned: workloads.concernedByPlacement,
      records: workloads.recordsUnder,
      wake: (keys) => fanOut.send(keys.map((key) => ({ key, reason: "fan-out" }))),
    },
  });
  const placement = placementReconciler(
    options.cache === undefined ? placements : withCountedDeals(placements, options.cache),
  );
  const works: Readonly<Record<ReconciledKind, Work<ObjectKey>>> = {
    ClusterRegistration: async (item, signal) => {
      const next = await registration(item, signal);
      return sync?.attend === undefined ? next : earliest(next, await sync.attend(item, signal));
    },
    WorkloadPlacement: ({ key }, signal) => placement(key, signal),
  };
  const workload: Work<WorkloadKey> = sync?.work ?? (async () => done);
  return withinTime(
    ({ key, ...rest }, signal) =>
      key.kind === "Workload" ? workload({ key, ...rest }, signal) : works[key.kind]({ key, ...rest }, signal),
    options,
  );
}

/**
 * A world of placements in which the cache counts as it goes: nobody need look at ten thousand placements to deal out one,
 * and a decision counts from the moment it is made.
 */
function withCountedDeals(world: PlacementWorld, cache: ObjectCache): PlacementWorld {
  return {
    ...world,
    deal: async (key, _seen, decideUnder) => {
      const plan = decideUnder(cache.load(key));
      cache.reserve(key, plan.status.selectedClusters ?? []);
      return plan;
    },
  };
}

/** Cuts off work that takes too long; that is trouble which may pass, and nothing unforeseen. */
function withinTime(work: Work, { clock, settings }: Pick<ReconcilersOptions, "clock" | "settings">): Work {
  return async (item, signal) => {
    const deadline = createDeadline(clock, { signal, timeoutMs: settings.reconcileSeconds * 1000 });
    try {
      return await work(item, deadline.signal);
    } catch (error) {
      if (!deadline.expired) throw error;
      const { kind, name } = item.key;
      const message = `reconcile ${kind} "${name}": not done within ${settings.reconcileSeconds} s`;
      throw new ControllerError("unreachable", message, { cause: error });
    } finally {
      deadline.end();
    }
  };
}
