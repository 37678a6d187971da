import { workKinds } from "../model/key.ts";
import { reasons } from "../model/work-item.ts";
import { outcomes } from "../queue/queue-event.ts";

/**
 * What a label may say: one of a closed list, an HTTP status code, or words of our own choosing that are few by nature.
 * Anything else is counted as "other", so that no input can grow the number of series.
 */
export type LabelValues = readonly string[] | "http-code" | Readonly<{ few: number }>;

export type MetricDefinition = Readonly<{
  type: "counter" | "gauge" | "histogram";
  /** One sentence, for the scrape and for the docs. */
  help: string;
  unit: "" | "seconds" | "bytes";
  labels: Readonly<Record<string, LabelValues>>;
  /** Upper bounds of a histogram's buckets. */
  buckets?: readonly number[];
  /** Can be split by tenant, where that is switched on. */
  byTenant?: boolean;
}>;

/** From a decision in memory to a probe that times out. */
const workSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

const kind = workKinds;
/** What is done to a copy of a workload; those that are written are named by why. */
const copyDeeds = ["new", "changed", "drifted", "adopted", "removed", "released", "held"] as const;
const readiness = ["true", "false", "unknown"] as const;
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;

/** Every metric that TMC has. What is not here cannot be recorded: the functions that record are typed by it. */
export const catalogue = {
  tmc_build_info: {
    type: "gauge",
    help: "Always 1; the labels say what runs.",
    unit: "",
    labels: { version: { few: 2 }, node: { few: 2 } },
  },

  tmc_reconcile_total: {
    type: "counter",
    help: "Reconciles that ended, by how.",
    unit: "",
    labels: { kind, outcome: outcomes },
    byTenant: true,
  },
  tmc_reconcile_duration_seconds: {
    type: "histogram",
    help: "Time that a reconcile took, its requests included.",
    unit: "seconds",
    labels: { kind, outcome: outcomes },
    buckets: workSeconds,
  },

  tmc_sync_actions_total: {
    type: "counter",
    help: "Copies on clusters that were written, removed, let go of or held back, by why.",
    unit: "",
    labels: { action: copyDeeds },
  },
  tmc_upsync_actions_total: {
    type: "counter",
    help: "Objects that were made, changed or removed in workspaces because of what was born on clusters.",
    unit: "",
    labels: { action: ["created", "changed", "removed"] },
  },
  tmc_upsync_objects: {
    type: "gauge",
    help: "Objects that were born on clusters and are watched there.",
    unit: "",
    labels: {},
  },
  tmc_sync_copies: { type: "gauge", help: "Copies of workloads that are watched on clusters.", unit: "", labels: {} },
  tmc_sync_watches: {
    type: "gauge",
    help: "Watches on clusters, and those of them that have not been open for too long to be believed.",
    unit: "",
    labels: { state: ["open", "down"] },
  },

  tmc_queue_depth: { type: "gauge", help: "Keys that wait for a worker.", unit: "", labels: {} },
  tmc_queue_in_flight: { type: "gauge", help: "Keys that are being worked on.", unit: "", labels: {} },
  tmc_queue_delayed_keys: { type: "gauge", help: "Keys that wait for a time.", unit: "", labels: {} },
  tmc_queue_failing_keys: {
    type: "gauge",
    help: "Keys that have failed since they last succeeded and will be tried again.",
    unit: "",
    labels: {},
  },
  tmc_queue_dead_letters: {
    type: "gauge",
    help: "Keys that were given up and not yet sent again.",
    unit: "",
    labels: {},
  },
  tmc_queue_oldest_age_seconds: {
    type: "gauge",
    help: "How long the key that waits longest for a worker has waited.",
    unit: "seconds",
    labels: {},
  },
  tmc_queue_adds_total: {
    type: "counter",
    help: "Keys added, by why; those that were waiting already are counted as collapsed too.",
    unit: "",
    labels: { reason: reasons },
    byTenant: true,
  },
  tmc_queue_coalesced_total: {
    type: "counter",
    help: "Keys added that were waiting already.",
    unit: "",
    labels: {},
  },
  tmc_queue_retries_total: {
    type: "counter",
    help: "Reconciles that failed and will be tried again, by the sort of failure.",
    unit: "",
    labels: { sort: ["conflict", "trouble", "unforeseen"] },
  },
  tmc_queue_dead_lettered_total: {
    type: "counter",
    help: "Keys that were set aside after something unforeseen.",
    unit: "",
    labels: {},
  },
  tmc_queue_wait_seconds: {
    type: "histogram",
    help: "Time from a key's add, or the time it was due, to the beginning of its work.",
    unit: "seconds",
    labels: {},
    buckets: workSeconds,
  },

  tmc_relay_events_total: {
    type: "counter",
    help: "Events that watches of the hub told.",
    unit: "",
    labels: { kind, event: ["added", "modified", "deleted", "bookmark"] },
  },
  tmc_relay_keys_total: {
    type: "counter",
    help: "Keys sent because something that matters to a reconciler changed.",
    unit: "",
    labels: { kind },
    byTenant: true,
  },
  tmc_relay_dirty_keys: {
    type: "gauge",
    help: "Keys that changed and that the queue has not taken yet.",
    unit: "",
    labels: {},
  },
  tmc_relay_rate_limited_keys: {
    type: "gauge",
    help: "Those of them that wait because their tenant is over its limit of keys per second.",
    unit: "",
    labels: {},
  },
  tmc_relay_oldest_dirty_seconds: {
    type: "gauge",
    help: "How long the key that waits longest for the queue has waited; keys over a tenant's limit do not wait for it.",
    unit: "seconds",
    labels: {},
  },
  tmc_relay_objects: { type: "gauge", help: "Objects whose fingerprint is known.", unit: "", labels: { kind } },
  tmc_relay_watch_restarts_total: {
    type: "counter",
    help: "Watches that ended and were begun again where they left off.",
    unit: "",
    labels: { kind },
  },
  tmc_relay_relists_total: {
    type: "counter",
    help: "Lists that had to be read whole, the first included.",
    unit: "",
    labels: { kind },
  },

  tmc_upstream_requests_total: {
    type: "counter",
    help: "Requests to the hub, by verb and status code; code none where nothing answered.",
    unit: "",
    labels: { verb: verbs, code: "http-code" },
  },
  tmc_upstream_request_duration_seconds: {
    type: "histogram",
    help: "Time that requests to the hub took; watches are not in it.",
    unit: "seconds",
    labels: { verb: ["get", "list", "create", "update", "patch", "delete"] },
    buckets: workSeconds,
  },
  tmc_upstream_writes_total: {
    type: "counter",
    help: "Writes to the hub, by what was written.",
    unit: "",
    labels: { kind, part: ["status", "finalizers", "record", "record-status", "event", "workload"] },
  },

  tmc_probe_total: {
    type: "counter",
    help: "Probes of clusters, by how they ended.",
    unit: "",
    labels: { outcome: ["healthy", "unhealthy", "unreachable", "unauthorized", "timeout", "not-configured"] },
  },
  tmc_probe_duration_seconds: {
    type: "histogram",
    help: "Time that probes of clusters took.",
    unit: "seconds",
    labels: { outcome: ["healthy", "unhealthy", "unreachable", "unauthorized", "timeout", "not-configured"] },
    buckets: workSeconds,
  },

  tmc_clusters: { type: "gauge", help: "Registered clusters, by readiness.", unit: "", labels: { ready: readiness } },
  tmc_placements: { type: "gauge", help: "Placements, by readiness.", unit: "", labels: { ready: readiness } },
  tmc_fanout_enqueued_total: {
    type: "counter",
    help: "Placements that were woken because a cluster's facts changed.",
    unit: "",
    labels: {},
  },

  process_cpu_seconds_total: { type: "counter", help: "Processor time of this process.", unit: "seconds", labels: {} },
  process_resident_memory_bytes: { type: "gauge", help: "Memory of this process.", unit: "bytes", labels: {} },
  process_start_time_seconds: {
    type: "gauge",
    help: "When this process started, in seconds since 1970.",
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

type ValueOf<Values> = Values extends readonly (infer Word)[] ? Word : string;

/** The labels of a metric, as whoever records it gives them; none but `{}` for a metric without labels. */
export type LabelsOf<Name extends MetricName> = (keyof Catalogue[Name]["labels"] extends never
  ? Readonly<Record<string, never>>
  : Readonly<{ [Label in keyof Catalogue[Name]["labels"]]: ValueOf<Catalogue[Name]["labels"][Label]> }>) &
  (Catalogue[Name] extends { byTenant: true } ? Readonly<{ tenant?: string | undefined }> : unknown);
