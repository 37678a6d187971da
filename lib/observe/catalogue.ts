import { clusterWarningReasons } from "../model/event.ts";
import { workKinds } from "../model/key.ts";
import { workReasons } from "../model/work-item.ts";
import { reconcileOutcomes } from "../queue/queue-event.ts";

/**
 * The values of a label: a closed list, an HTTP status code, or at most `few` different values. Everything else is counted as
 * "other", so that no input can increase the number of series.
 */
export type LabelValues = readonly string[] | "http-code" | Readonly<{ few: number }>;

export type MetricDefinition = Readonly<{
  type: "counter" | "gauge" | "histogram";
  /** One sentence, for the HELP line and for docs/metrics.md. */
  help: string;
  unit: "" | "seconds" | "bytes";
  labels: Readonly<Record<string, LabelValues>>;
  /** Upper bounds of a histogram's buckets. */
  buckets?: readonly number[];
  /** Has a tenant label, where that is switched on. */
  byTenant?: boolean;
}>;

/** From a decision in memory up to a probe that times out. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

const kind = workKinds;
/** Actions on a copy of a workload. The first four are writes, named after their cause. */
const copyActions = ["new", "changed", "drifted", "adopted", "removed", "released", "held"] as const;
const readiness = ["true", "false", "unknown"] as const;
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;

/** Outcomes of a probe. A registration without credentials is not probed, so `not-configured` means invalid credentials. */
const probeOutcomes = ["healthy", "unhealthy", "not-configured"] as const;

/** Every metric of TMC. Others cannot be recorded, because the recording functions are typed by this catalogue. */
export const catalogue = {
  tmc_build_info: {
    type: "gauge",
    help: "Always 1; the labels have the versions.",
    unit: "",
    labels: { version: { few: 2 }, node: { few: 2 } },
  },
  tmc_leader: {
    type: "gauge",
    help: "With --leader-elect, 1 if this process holds the Lease, 0 if it waits.",
    unit: "",
    labels: {},
  },

  tmc_reconcile_total: {
    type: "counter",
    help: "Reconciles that ended, by kind and outcome.",
    unit: "",
    labels: { kind, outcome: reconcileOutcomes },
    byTenant: true,
  },
  tmc_reconcile_duration_seconds: {
    type: "histogram",
    help: "Duration of reconciles, including their requests.",
    unit: "seconds",
    labels: { kind, outcome: reconcileOutcomes },
    buckets: durationBuckets,
  },

  tmc_sync_actions_total: {
    type: "counter",
    help: "Copies on clusters that were written, removed, released or held, by action.",
    unit: "",
    labels: { action: copyActions },
  },
  tmc_upsync_actions_total: {
    type: "counter",
    help: "Objects that the upsync created, changed or removed upstream.",
    unit: "",
    labels: { action: ["created", "changed", "removed"] },
  },
  tmc_upsync_objects: {
    type: "gauge",
    help: "Upsynced objects that are watched on clusters.",
    unit: "",
    labels: {},
  },
  tmc_sync_copies: { type: "gauge", help: "Copies that are watched on clusters.", unit: "", labels: {} },
  tmc_orphaned_copies: {
    type: "gauge",
    help: "Copies on clusters that no sync record accounts for, as the registrations report them.",
    unit: "",
    labels: {},
  },
  tmc_sync_watches: {
    type: "gauge",
    help: "Watches on clusters; down are those that have been disconnected for too long to be trusted.",
    unit: "",
    labels: { state: ["open", "down"] },
  },

  tmc_queue_depth: { type: "gauge", help: "Keys that wait for a worker.", unit: "", labels: {} },
  tmc_queue_in_flight: { type: "gauge", help: "Keys that are being reconciled.", unit: "", labels: {} },
  tmc_queue_delayed_keys: { type: "gauge", help: "Keys with a delay that has not expired.", unit: "", labels: {} },
  tmc_queue_failing_keys: {
    type: "gauge",
    help: "Keys that failed, have not succeeded since, and will be retried.",
    unit: "",
    labels: {},
  },
  tmc_queue_dead_letters: {
    type: "gauge",
    help: "Dead-lettered keys that have neither succeeded nor been redriven since.",
    unit: "",
    labels: {},
  },
  tmc_queue_oldest_age_seconds: {
    type: "gauge",
    help: "How long the oldest waiting key has waited for a worker.",
    unit: "seconds",
    labels: {},
  },
  tmc_queue_adds_total: {
    type: "counter",
    help: "Keys added to the queue, by reason, including coalesced ones.",
    unit: "",
    labels: { reason: workReasons },
    byTenant: true,
  },
  tmc_queue_coalesced_total: {
    type: "counter",
    help: "Keys added that were waiting already and were coalesced.",
    unit: "",
    labels: {},
  },
  tmc_queue_retries_total: {
    type: "counter",
    help: "Reconciles that failed and will be retried, by kind of failure.",
    unit: "",
    labels: { failure: ["conflict", "transient", "unexpected"] },
  },
  tmc_queue_dead_lettered_total: {
    type: "counter",
    help: "Keys and unreadable messages that were dead-lettered.",
    unit: "",
    labels: {},
  },
  tmc_queue_wait_seconds: {
    type: "histogram",
    help: "Time from when a key was added, or was due, to the start of its reconcile.",
    unit: "seconds",
    labels: {},
    buckets: durationBuckets,
  },

  tmc_relay_events_total: {
    type: "counter",
    help: "Events of upstream watches.",
    unit: "",
    labels: { kind, event: ["added", "modified", "deleted", "bookmark"] },
  },
  tmc_relay_keys_total: {
    type: "counter",
    help: "Keys sent because an object changed in a way that matters to a reconciler.",
    unit: "",
    labels: { kind },
    byTenant: true,
  },
  tmc_relay_dirty_keys: {
    type: "gauge",
    help: "Changed keys that the queue has not accepted yet.",
    unit: "",
    labels: {},
  },
  tmc_relay_rate_limited_keys: {
    type: "gauge",
    help: "Changed keys that wait because their tenant exceeds its rate limit.",
    unit: "",
    labels: {},
  },
  tmc_relay_oldest_dirty_seconds: {
    type: "gauge",
    help: "How long the oldest changed key has waited for the queue, without keys over a tenant's rate limit.",
    unit: "seconds",
    labels: {},
  },
  tmc_relay_blind_seconds: {
    type: "gauge",
    help: "How long the relay has not seen every change upstream, because it starts or a watch fails; 0 while all watches work.",
    unit: "seconds",
    labels: {},
  },
  tmc_relay_objects: { type: "gauge", help: "Objects whose hash the relay keeps.", unit: "", labels: { kind } },
  tmc_relay_watch_restarts_total: {
    type: "counter",
    help: "Watches that ended and were resumed at their last resource version.",
    unit: "",
    labels: { kind },
  },
  tmc_relay_relists_total: {
    type: "counter",
    help: "Full lists, including the first one.",
    unit: "",
    labels: { kind },
  },

  tmc_upstream_requests_total: {
    type: "counter",
    help: "Requests to the upstream, by verb and status code; code none if there was no response.",
    unit: "",
    labels: { verb: verbs, code: "http-code" },
  },
  tmc_upstream_request_duration_seconds: {
    type: "histogram",
    help: "Duration of requests to the upstream, without watches.",
    unit: "seconds",
    labels: { verb: ["get", "list", "create", "update", "patch", "delete"] },
    buckets: durationBuckets,
  },
  tmc_upstream_writes_total: {
    type: "counter",
    help: "Writes to the upstream, by kind and part.",
    unit: "",
    labels: { kind, part: ["status", "finalizers", "record", "record-status", "event", "workload"] },
  },

  tmc_probe_total: {
    type: "counter",
    help: "Probes of clusters, by outcome.",
    unit: "",
    labels: { outcome: probeOutcomes },
  },
  tmc_probe_duration_seconds: {
    type: "histogram",
    help: "Duration of probes of clusters, by outcome.",
    unit: "seconds",
    labels: { outcome: probeOutcomes },
    buckets: durationBuckets,
  },

  tmc_clusters: { type: "gauge", help: "Registered clusters, by readiness.", unit: "", labels: { ready: readiness } },
  tmc_cluster_warnings_total: {
    type: "counter",
    help: "Warnings of registered clusters, by reason, each counted once when it begins.",
    unit: "",
    labels: { reason: clusterWarningReasons },
  },
  tmc_unread_workspaces: {
    type: "gauge",
    help: "Workspaces, or endpoints of all tenants, that the last run of the heartbeat function could not list.",
    unit: "",
    labels: {},
  },
  tmc_resync_left: {
    type: "gauge",
    help: "Lists whose keys a resync of the resync function has not sent, because it ran out of time or a list failed; 0 after a complete resync.",
    unit: "",
    labels: {},
  },
  tmc_placements: { type: "gauge", help: "Placements, by readiness.", unit: "", labels: { ready: readiness } },
  tmc_mass_failure_suspected_total: {
    type: "counter",
    help: "Reconciles of placements that held an eviction, because most clusters stopped responding at about the same time. A held placement is reconciled about once a minute.",
    unit: "",
    labels: {},
  },
  tmc_fanout_enqueued_total: {
    type: "counter",
    help: "Placements and workloads that were enqueued because a cluster changed, and workloads that were enqueued because a placement changed.",
    unit: "",
    labels: {},
  },

  process_cpu_seconds_total: { type: "counter", help: "CPU time of this process.", unit: "seconds", labels: {} },
  process_resident_memory_bytes: { type: "gauge", help: "Resident memory of this process.", unit: "bytes", labels: {} },
  process_start_time_seconds: {
    type: "gauge",
    help: "Start time of this process, as Unix time in seconds.",
    unit: "seconds",
    labels: {},
  },
} as const satisfies Record<string, MetricDefinition>;

type Catalogue = typeof catalogue;
export type MetricName = keyof Catalogue;
type NamesOf<Type extends MetricDefinition["type"]> = {
  [Name in MetricName]: Catalogue[Name]["type"] extends Type ? Name : never;
}[MetricName];
export type CounterName = NamesOf<"counter">;
export type GaugeName = NamesOf<"gauge">;
export type HistogramName = NamesOf<"histogram">;

type ValueOf<Values> = Values extends readonly (infer Value)[] ? Value : string;

/** The labels with which a metric is recorded; `{}` for a metric without labels. */
export type LabelsOf<Name extends MetricName> = (keyof Catalogue[Name]["labels"] extends never
  ? Readonly<Record<string, never>>
  : Readonly<{ [Label in keyof Catalogue[Name]["labels"]]: ValueOf<Catalogue[Name]["labels"][Label]> }>) &
  (Catalogue[Name] extends { byTenant: true } ? Readonly<{ tenant?: string | undefined }> : unknown);
