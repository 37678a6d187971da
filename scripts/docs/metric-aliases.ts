import type { MetricName } from "../../lib/observe/catalogue.ts";

/** The equivalent of a metric name of another TMC implementation: metrics of this one, or why there are none. */
export type Alias = Readonly<{ metrics: readonly MetricName[] } | { none: string }>;

const same = (...metrics: readonly MetricName[]): Alias => ({ metrics });
const syncErrors = same("tmc_reconcile_total", "tmc_queue_retries_total");
const migration: Alias = { none: "none: workloads move by placement decisions, which `tmc_sync_actions_total` shows" };
const recovery: Alias = { none: "none: the queue retries failed reconciles, see `tmc_queue_retries_total`" };
const aggregation: Alias = { none: "none: statuses are aggregated as part of the reconcile of a workload" };
const virtualWorkspace: Alias = { none: "none: the virtual workspaces belong to kcp, which has its own metrics" };
const rateOf = (name: MetricName): Alias => ({ none: `rate of \`${name}\`` });
const kcpMetric: Alias = { none: "a metric of kcp" };
const exampleMetric: Alias = { none: "a metric of an example application" };
const readinessCheck: Alias = { none: "`/readyz` reports each check" };
const inPlacementStatus: Alias = { none: "in the status of the placement; it would need one series per placement" };
const inClusterStatus: Alias = { none: "in the status of the registration; it would need one series per cluster" };

/** Metric names of other implementations, in the order of their documents. */
export const aliases: Readonly<Record<string, Alias>> = {
  tmc_component_health: readinessCheck,
  tmc_component_uptime_seconds: same("process_start_time_seconds"),
  tmc_component_operations_total: same("tmc_reconcile_total"),
  tmc_component_errors_total: same("tmc_reconcile_total", "tmc_queue_retries_total"),
  tmc_component_operation_duration_seconds: same("tmc_reconcile_duration_seconds"),
  tmc_placements_total: same("tmc_placements"),
  tmc_placement_duration_seconds: same("tmc_reconcile_duration_seconds"),
  tmc_placement_errors_total: same("tmc_reconcile_total"),
  tmc_placement_retries_total: same("tmc_queue_retries_total"),
  tmc_placement_clusters: inPlacementStatus,
  tmc_sync_resources_total: same("tmc_sync_actions_total"),
  tmc_sync_duration_seconds: same("tmc_reconcile_duration_seconds"),
  tmc_sync_errors_total: syncErrors,
  tmc_sync_backlog_size: same("tmc_queue_depth"),
  tmc_sync_lag_seconds: same("tmc_queue_wait_seconds", "tmc_reconcile_duration_seconds"),
  tmc_migrations_total: migration,
  tmc_migration_duration_seconds: migration,
  tmc_migration_errors_total: migration,
  tmc_migration_rollbacks_total: migration,
  tmc_migration_data_size_bytes: migration,
  tmc_cluster_health: same("tmc_clusters"),
  tmc_cluster_connectivity: same("tmc_probe_total"),
  tmc_cluster_capacity_utilization: inClusterStatus,
  tmc_cluster_resources_total: same("tmc_sync_copies"),
  tmc_resource_aggregations_total: aggregation,
  tmc_resource_projections_total: same("tmc_sync_actions_total"),
  tmc_resource_conflicts_total: same("tmc_queue_retries_total"),
  tmc_resource_transformations_total: { none: "Events with the reason `Transformed`" },
  tmc_virtual_workspaces_total: virtualWorkspace,
  tmc_virtual_workspace_operation_duration_seconds: virtualWorkspace,
  tmc_virtual_workspace_errors_total: virtualWorkspace,
  tmc_recovery_attempts_total: recovery,
  tmc_recovery_successes_total: recovery,
  tmc_recovery_failures_total: recovery,
  tmc_recovery_duration_seconds: recovery,
  tmc_goroutines_total: {
    none: "none: TMC runs on Node.js; `tmc_queue_in_flight` has the number of concurrent reconciles",
  },
  tmc_memory_usage_bytes: same("process_resident_memory_bytes"),
  tmc_cpu_usage_percent: rateOf("process_cpu_seconds_total"),
  tmc_api_requests_total: same("tmc_upstream_requests_total"),
  tmc_api_request_duration_seconds: same("tmc_upstream_request_duration_seconds"),
  syncer_resources_synced_total: same("tmc_sync_actions_total"),
  syncer_sync_duration_seconds: same("tmc_reconcile_duration_seconds"),
  syncer_sync_errors_total: syncErrors,
  syncer_sync_backlog_size: same("tmc_queue_depth"),
  syncer_heartbeat_total: same("tmc_probe_total"),
  syncer_heartbeat_errors_total: same("tmc_probe_total"),
  syncer_connection_status: same("tmc_clusters"),
  syncer_resource_controllers: same("tmc_sync_watches"),
  syncer_uptime_seconds: same("process_start_time_seconds"),
  tmc_placement_decisions_total: same("tmc_reconcile_total"),
  tmc_placement_latency_seconds: same("tmc_queue_wait_seconds", "tmc_reconcile_duration_seconds"),
  tmc_cluster_health_score: same("tmc_clusters"),
  tmc_workload_sync_status: { none: "in the status of the WorkloadSync; it would need one series per workload" },
  tmc_cluster_resource_utilization_percent: inClusterStatus,
  tmc_controller_reconciles_total: same("tmc_reconcile_total"),
  tmc_controller_errors_total: same("tmc_reconcile_total"),
  tmc_cache_hit_rate_percent: { none: "none: compare `tmc_upstream_requests_total` with `tmc_reconcile_total`" },
  tmc_controllers_total: { none: "none: the number is constant" },
  tmc_controllers_healthy: readinessCheck,
  tmc_reconcile_total: same("tmc_reconcile_total"),
  tmc_errors_total: same("tmc_reconcile_total", "tmc_queue_retries_total"),
  tmc_error_recovery_attempts_total: same("tmc_queue_retries_total"),
  tmc_error_recovery_success_rate: rateOf("tmc_reconcile_total"),
  tmc_health_check_duration_seconds: same("tmc_probe_duration_seconds"),
  tmc_health_check_errors_total: same("tmc_probe_total"),
  tmc_health_checks_total: same("tmc_probe_total"),
  tmc_placement_requests_total: same("tmc_reconcile_total"),
  tmc_placement_clusters_selected: inPlacementStatus,
  tmc_placement_constraints_violated: {
    none: "in the status of the placement: the decision about each cluster names the field that rejected it",
  },
  tmc_placement_queue_size: same("tmc_queue_depth"),
  tmc_placement_success_rate: rateOf("tmc_reconcile_total"),
  tmc_active_recoveries_total: same("tmc_queue_failing_keys"),
  tmc_aggregated_resources_total: aggregation,
  tmc_projected_resources_total: same("tmc_sync_copies"),
  tmc_aggregation_duration_seconds: aggregation,
  tmc_projection_duration_seconds: same("tmc_reconcile_duration_seconds"),
  tmc_sync_operations_total: same("tmc_sync_actions_total"),
  kcp_api_requests_total: kcpMetric,
  kcp_syncer_sync_duration_seconds: same("tmc_reconcile_duration_seconds"),
  kcp_workspaces_total: kcpMetric,
  kcp_sync_targets_total: same("tmc_clusters"),
  kcp_resource_sync_errors_total: syncErrors,
  tmcapp_requests_total: exampleMetric,
  tmcapp_response_time_seconds: exampleMetric,
  tmcapp_active_connections: exampleMetric,
  syncer_connected: same("tmc_clusters"),
};
