import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { group } from "../api/group.ts";
import { readinessOf } from "../model/condition.ts";
import { type ObjectKey, type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { Health } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { recordReadiness } from "../observe/recorders.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import type { RelayListener, RelayTrouble, Watched } from "./listener.ts";
import type { Relay } from "./relay.ts";

export type Observers = Readonly<{ log: Log; metrics: Metrics; health: Health }>;

/** Puts what the relay sees into the cache, the log, the metrics and the health of the process. */
export function observeRelay(
  { log, metrics, health }: Observers,
  cache: ObjectCache,
  options: Readonly<{
    pathOf: (logicalCluster: string) => string;
    onSecretChanged: (registration: ObjectKey) => void;
    relay: () => Relay;
    /** What is kept of workloads, where they are looked after. */
    workloads?: Pick<WorkloadCache, "drop"> | undefined;
  }>,
): Readonly<{ listener: RelayListener; end: () => void }> {
  const { pathOf, onSecretChanged, relay, workloads } = options;
  /** What is kept from us, and no failure: a tenant need not let us see it. */
  const withheld = new Map<string, string>();
  /** What failed last and has not been heard of since. */
  const troubles = new Map<string, string>();
  const placeOf = ({ what, logicalCluster: cluster }: Pick<RelayTrouble, "what" | "logicalCluster">): string =>
    [what, pathOf(cluster)].filter((part) => part !== "").join(" in ");
  const end = (what: Watched, logicalCluster: string): void => {
    if (troubles.size > 0) troubles.delete(placeOf({ what, logicalCluster }));
  };

  const endCheck = health.ask("hub", () => {
    const unlisted = relay()
      .unlisted()
      .map((logicalCluster) => pathOf(logicalCluster) || "the cluster");
    const words = [...troubles].map(([place, why]) => `${place}: ${why}`);
    if (unlisted.length > 0) words.unshift(`not listed yet: ${unlisted.join(", ")}`);
    return { ok: words.length === 0, detail: [...words, ...withheld.values()].join("; ") };
  });
  const endGauges = metrics.onScrape(() => {
    metrics.set("tmc_relay_dirty_keys", {}, relay().unsent);
    metrics.set("tmc_relay_rate_limited_keys", {}, relay().limited);
    metrics.set("tmc_relay_oldest_dirty_seconds", {}, relay().oldestUnsentSeconds());
    for (const kind of reconciledKinds) setReadiness(metrics, cache, kind);
  });

  return {
    listener: {
      listed: (kind, logicalCluster, objects) => {
        cache.takeList(kind, logicalCluster, objects);
      },
      relisted: (kind) => metrics.add("tmc_relay_relists_total", { kind }),
      changed: (kind, logicalCluster, object) => {
        metrics.add("tmc_relay_events_total", { kind, event: "modified" });
        cache.takeSeen(kind, logicalCluster, object);
      },
      deleted: (kind, logicalCluster, { metadata }) => {
        metrics.add("tmc_relay_events_total", { kind, event: "deleted" });
        cache.takeGone({ logicalCluster, kind, name: metadata.name ?? "" }, metadata.resourceVersion);
      },
      restarted: (kind) => metrics.add("tmc_relay_watch_restarts_total", { kind }),
      workloadEvent: (event) => metrics.add("tmc_relay_events_total", { kind: "Workload", event }),
      absent: ({ what, logicalCluster, error }) => {
        const place = placeOf({ what, logicalCluster });
        withheld.delete(place);
        if (error === undefined) return;
        const fields = { logicalCluster, workspace: pathOf(logicalCluster), what, error };
        if (error.status !== 403) {
          log.debug("type is not served", fields);
          return;
        }
        withheld.set(place, `PermissionClaimNotAccepted: ${place} cannot be seen`);
        log.warn("type cannot be seen", fields);
      },
      alive: end,
      ended: end,
      released: (logicalCluster) => {
        log.info("tenant released", { logicalCluster });
        cache.drop(logicalCluster);
        workloads?.drop(logicalCluster);
      },
      secretChanged: onSecretChanged,
      trouble: (trouble) => {
        const { what, logicalCluster, retryInMs } = trouble;
        const error = explained(trouble, pathOf(logicalCluster));
        const fields = {
          logicalCluster,
          workspace: pathOf(logicalCluster),
          what,
          retryInSeconds: retryInMs / 1000,
          error,
        };
        const fault = faultOf(error);
        // Secrets may be none of our business in a workspace; registrations that need one say so themselves.
        if (what !== "Secret")
          troubles.set(placeOf(trouble), error instanceof Error ? error.message : "unknown failure");
        if (fault === "expired") log.debug("watch expired", fields);
        else if (fault === undefined) log.error("relay failed", fields);
        else log.warn(what === "queue" ? "queue refused keys" : "watch failed", fields);
      },
    },
    end: () => {
      endCheck();
      endGauges();
    },
  };
}

/** The options that have kinds of others watched. */
const foreignSources: Readonly<Partial<Record<RelayTrouble["what"], string>>> = {
  SyncTarget: "synctarget",
  ControlPlane: "controlplaneregistration",
  ControlPlaneEndpoint: "controlplaneendpoint and controlplaneregistration",
  ControlPlaneRegistration: "controlplaneregistration",
};

/** A 404 for a whole kind means that nobody serves it there: the words say what to do about that. */
function explained({ what, error }: RelayTrouble, workspace: string): unknown {
  const kind = reconciledKinds.find((each) => each === what);
  if (!(error instanceof ApiError) || error.status !== 404) return error;
  const source = foreignSources[what];
  if (source !== undefined) {
    const words = `${workspace || "the cluster"} does not serve ${what}, and its clusters are not decided about: leave out --cluster-source ${source}`;
    return new ControllerError("not-found", words, { cause: error });
  }
  if (kind === undefined) return error;
  // Behind an address of all tenants it is nobody's fault: none of them has the type yet, or any more.
  if (workspace.includes("/")) return error;
  const remedy = workspace === "" ? "install its CRDs there" : "bind the APIExport that offers it in that workspace";
  const where = workspace === "" ? "the cluster" : workspace;
  return new ControllerError("not-found", `${where} does not serve ${group} ${what}: ${remedy}`, { cause: error });
}

function setReadiness(metrics: Metrics, cache: ObjectCache, kind: ReconciledKind): void {
  const counts = { true: 0, false: 0, unknown: 0 };
  let objects = 0;
  for (const logicalCluster of cache.clusters()) {
    for (const object of cache.list(kind, logicalCluster)) {
      objects += 1;
      counts[readinessOf(object)] += 1;
    }
  }
  metrics.set("tmc_relay_objects", { kind }, objects);
  recordReadiness(metrics, kind, counts);
}
