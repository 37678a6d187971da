import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { group } from "../../api/group.ts";
import { readinessOf } from "../../model/condition.ts";
import { type ObjectKey, type ReconciledKind, reconciledKinds } from "../../model/key.ts";
import type { HealthChecks } from "../../observe/health.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { recordReadiness } from "../../observe/recorders.ts";
import type { ObjectCache } from "../../upstream/object-cache.ts";
import type { WorkloadCache } from "../../upstream/workload-cache.ts";
import type { RelayFailure, RelayListener, Watched } from "../listener.ts";
import type { Relay } from "../relay.ts";

export type RelayObservers = Readonly<{ log: Log; metrics: Metrics; health: HealthChecks }>;

/** Reports a relay inside the controller to the cache, the log, the metrics and the health checks of the process. */
export function observeRelay(
  { log, metrics, health }: RelayObservers,
  cache: ObjectCache,
  options: Readonly<{
    pathOf: (logicalCluster: string) => string;
    onSecretChanged: (registration: ObjectKey) => void;
    relay: () => Relay;
    /** The cache of workloads, if workloads are synced. */
    workloads?: Pick<WorkloadCache, "drop"> | undefined;
  }>,
): Readonly<{ listener: RelayListener; end: () => void }> {
  const { pathOf, onSecretChanged, relay, workloads } = options;
  /** Types that TMC may not read, by watch. That is no failure: a tenant need not accept a permission claim. */
  const forbidden = new Map<string, string>();
  /** The last error of each watch that has not recovered since. */
  const failures = new Map<string, string>();
  const nameOf = ({ what, scope }: Pick<RelayFailure, "what" | "scope">): string =>
    [what, pathOf(scope)].filter((part) => part !== "").join(" in ");
  const clearFailure = (what: Watched, scope: string): void => {
    if (failures.size > 0) failures.delete(nameOf({ what, scope }));
  };

  const endCheck = health.registerCallback("hub", () => {
    const unlisted = relay()
      .unlisted()
      .map((logicalCluster) => pathOf(logicalCluster) || "the cluster");
    const messages = [...failures].map(([watch, message]) => `${watch}: ${message}`);
    if (unlisted.length > 0) messages.unshift(`not listed yet: ${unlisted.join(", ")}`);
    return { ok: messages.length === 0, detail: [...messages, ...forbidden.values()].join("; ") };
  });
  const endGauges = metrics.onScrape(() => {
    metrics.set("tmc_relay_dirty_keys", {}, relay().unsent);
    metrics.set("tmc_relay_rate_limited_keys", {}, relay().limited);
    metrics.set("tmc_relay_oldest_dirty_seconds", {}, relay().oldestUnsentSeconds());
    for (const kind of reconciledKinds) setReadiness(metrics, cache, kind);
  });

  return {
    listener: {
      listed: (kind, logicalCluster, objects, resourceVersion) => {
        cache.replace(kind, logicalCluster, objects, resourceVersion);
      },
      relisted: (kind) => metrics.add("tmc_relay_relists_total", { kind }),
      changed: (kind, logicalCluster, object) => {
        metrics.add("tmc_relay_events_total", { kind, event: "modified" });
        cache.upsert(kind, logicalCluster, object);
      },
      deleted: (kind, logicalCluster, { metadata }) => {
        metrics.add("tmc_relay_events_total", { kind, event: "deleted" });
        cache.remove({ logicalCluster, kind, name: metadata.name ?? "" }, metadata.resourceVersion);
      },
      restarted: (kind) => metrics.add("tmc_relay_watch_restarts_total", { kind }),
      workloadEvent: (event) => metrics.add("tmc_relay_events_total", { kind: "Workload", event }),
      absent: ({ what, scope, error }) => {
        const watch = nameOf({ what, scope });
        forbidden.delete(watch);
        if (error === undefined) return;
        const fields = { workspace: pathOf(scope), what, error };
        if (error.status !== 403) {
          log.debug("type is not served", fields);
          return;
        }
        forbidden.set(watch, `PermissionClaimNotAccepted: ${watch} is forbidden`);
        log.warn("type is forbidden", fields);
      },
      alive: clearFailure,
      ended: clearFailure,
      released: (logicalCluster) => {
        log.info("tenant released", { logicalCluster });
        cache.drop(logicalCluster);
        workloads?.drop(logicalCluster);
      },
      secretChanged: onSecretChanged,
      failed: (failure) => {
        const { what, scope, retryInMs } = failure;
        const error = withExplanation(failure, pathOf(scope));
        const fields = {
          workspace: pathOf(scope),
          what,
          retryInSeconds: retryInMs / 1000,
          error,
        };
        const fault = faultOf(error);
        // TMC may have no access to secrets in a workspace; a registration that needs one has a condition for it.
        if (what !== "Secret")
          failures.set(nameOf(failure), error instanceof Error ? error.message : "unknown failure");
        if (fault === "expired") log.debug("watch expired", fields);
        else if (fault === undefined) log.error("relay failed", fields);
        else log.warn(what === "queue" ? "queue rejected keys" : "watch failed", fields);
      },
    },
    end: () => {
      endCheck();
      endGauges();
    },
  };
}

/** The value of `--cluster-source` that makes the relay watch a foreign kind. */
const sourceOfKind: Readonly<Partial<Record<RelayFailure["what"], string>>> = {
  SyncTarget: "synctarget",
  ControlPlane: "controlplaneregistration",
  ControlPlaneEndpoint: "controlplaneendpoint and controlplaneregistration",
  ControlPlaneRegistration: "controlplaneregistration",
};

/** A 404 for a whole kind means that the server does not serve it: the error then says how to fix that. */
function withExplanation({ what, error }: RelayFailure, workspace: string): unknown {
  const kind = reconciledKinds.find((each) => each === what);
  if (!(error instanceof ApiError) || error.status !== 404) return error;
  const source = sourceOfKind[what];
  if (source !== undefined) {
    const message = `${workspace || "the cluster"} does not serve ${what}, so no placement is decided there: remove --cluster-source ${source}`;
    return new ControllerError("not-found", message, { cause: error });
  }
  if (kind === undefined) return error;
  // At an endpoint of all tenants a 404 is normal: no tenant is bound, so the endpoint does not serve the type.
  if (workspace.includes("/")) return error;
  const remedy = workspace === "" ? "install its CRDs there" : "bind the APIExport that offers it in that workspace";
  const where = workspace === "" ? "the cluster" : workspace;
  return new ControllerError("not-found", `${where} does not serve ${group} ${what}: ${remedy}`, { cause: error });
}

function setReadiness(metrics: Metrics, cache: ObjectCache, kind: ReconciledKind): void {
  const counts = { true: 0, false: 0, unknown: 0 };
  let objects = 0;
  for (const logicalCluster of cache.logicalClusters()) {
    for (const object of cache.list(kind, logicalCluster)) {
      objects += 1;
      counts[readinessOf(object)] += 1;
    }
  }
  metrics.set("tmc_relay_objects", { kind }, objects);
  recordReadiness(metrics, kind, counts);
}
