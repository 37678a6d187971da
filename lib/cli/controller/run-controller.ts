import { access, constants } from "node:fs/promises";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { createController, createSharingController, type SharingController } from "../../controller/controller.ts";
import type { ControllerConfig } from "../../controller/flags.ts";
import { keepMemoryLean } from "../../controller/lean-memory.ts";
import type { ControllerOptions } from "../../controller/parts.ts";
import type { ControllerSettings } from "../../engine/settings.ts";
import { tmcVersion } from "../../model/version.ts";
import { createHealthChecks, healthRoutes } from "../../observe/health.ts";
import { type HttpServer, metricsRoutes, startHttp } from "../../observe/http.ts";
import { createLog, type Log } from "../../observe/log.ts";
import { createMetrics } from "../../observe/metrics.ts";
import { registerProcessGauges } from "../../observe/recorders.ts";
import type { KnownQueues } from "../../queue/queue-stats.ts";
import { isMultiTenant, tenantRateOf } from "../../queue/tenant-rate-limit.ts";
import { discoverWorkloadTypes } from "../../relay/watch/discover-workload-types.ts";
import { formatExportAddress } from "../../upstream/export/address.ts";
import { openFileHub } from "../../upstream/open-hub.ts";
import type { CliIo } from "../cli-io.ts";
import type { OpenSharedQueue } from "../queue/shared-queue.ts";
import { readCustomTypes } from "./custom-type-files.ts";

/** Runs a controller with its metrics and health endpoints until it is interrupted, then lets running reconciles finish. */
export async function runController(io: CliIo, config: ControllerConfig): Promise<void> {
  keepMemoryLean();
  const { clock } = io;
  const interrupted = io.untilInterrupted();
  const log = createLog({ level: config.logLevel, write: io.err, clock });
  const metrics = createMetrics();
  const health = createHealthChecks({ clock });
  registerProcessGauges(metrics, { process, nowMs: clock.now(), version: tmcVersion(), nodeVersion: process.version });
  // Each kcp shard has its own URL; the credentials are the same for all.
  const open = (server?: string): Promise<KubeClient> => openUpstream(config.kcpKubeconfig, { server, clock, log });
  const client = await open();
  const servers: HttpServer[] = [];
  const { queues } = config;
  const customTypes = (await Promise.all(config.crds.map(readCustomTypes))).flat();
  const queue = queues === undefined ? undefined : await openQueue(io, config, { queues, log, client });
  const shutdown = new AbortController();
  let controller: SharingController | undefined;
  const start = async (): Promise<void> => {
    const check = health.register("types");
    const { apiExport } = config;
    const random = Math.random;
    const customWorkloads = await discoverWorkloadTypes({
      client,
      apiExport,
      typesFromFiles: customTypes,
      clock,
      random,
      log,
      signal: shutdown.signal,
    });
    if (shutdown.signal.aborted) return;
    check.remove();
    const options: ControllerOptions = {
      client,
      hubId: config.hubId,
      ignoresHubControllers: config.ignoresHubControllers,
      workspaces: config.workspaces,
      apiExport: apiExport && { address: apiExport, openEndpoint: open },
      clusterKubeconfigs: config.clusterKubeconfigs,
      clusterSources: config.clusterSources,
      customWorkloads,
      shard: config.clusterSources.shard,
      settings: settingsOf(config),
      announcedAs: `tmc ${tmcVersion()}`,
      clock,
      log,
      metrics,
      health,
    };
    controller = queue === undefined ? createController(options) : createSharingController(options, queue);
    await controller.start();
  };
  try {
    servers.push(await startHttp({ name: "--metrics-port", port: config.metricsPort, routes: metricsRoutes(metrics) }));
    servers.push(await startHttp({ name: "--health-port", port: config.healthPort, routes: healthRoutes(health) }));
    await warnUnreadable(config.clusterKubeconfigs, log);
    const [metricsPort, healthPort] = servers.map(({ port }) => port);
    const served = { workspaces: config.workspaces, export: config.apiExport && formatExportAddress(config.apiExport) };
    log.info("controller starting", { version: tmcVersion(), ...served, metricsPort, healthPort });
    // While kcp is unavailable, the start is retried until it succeeds or the process is interrupted.
    const started = start();
    const isInterrupted = await Promise.race([started.then(() => false), interrupted.then(() => true)]);
    if (isInterrupted)
      started.catch(() => {}); // fails because of the abort below
    else await interrupted;
    log.info("controller stopping");
  } finally {
    shutdown.abort();
    await controller?.stop();
    await Promise.all(servers.map((server) => server.close()));
    await client.close();
    queue?.close();
  }
  log.info("controller stopped");
}

/** Returns the controller settings in the configuration. */
export function settingsOf(config: ControllerConfig): Partial<ControllerSettings> {
  const { resyncSeconds, workers, syncWorkers, tenantConcurrency, tenantShare, tenantEventsPerSecond } = config;
  const { heartbeatSeconds, deletionGuard, allowPrivateEndpoints, allowedEndpoints } = config;
  return {
    resyncSeconds,
    workers,
    syncWorkers,
    tenantConcurrency,
    ...(tenantShare === undefined ? {} : { tenantCpuShare: tenantShare }),
    tenantEventsPerSecond,
    heartbeatSeconds,
    syncSettings: { deletionGuard },
    allowPrivateEndpoints,
    allowedEndpoints,
  };
}

async function openQueue(
  io: CliIo,
  config: ControllerConfig,
  { queues, log, client }: Readonly<{ queues: KnownQueues; log: Log; client: KubeClient }>,
): Promise<OpenSharedQueue> {
  // Imported on demand: the AWS SDK needs memory that a controller with an in-memory queue can save.
  const { openSharedQueue } = await import("../queue/shared-queue.ts");
  const tenantRate = tenantRateOf({ perSecond: config.tenantEventsPerSecond, isShared: isMultiTenant(config) });
  return openSharedQueue(io, queues, { log, tenantRate }).catch(async (error: unknown) => {
    await client.close();
    throw error;
  });
}

/** A kubeconfig file is read again after this time, and immediately when the server rejects its token. */
const kubeconfigMaxAgeMs = 60_000;

function openUpstream(
  path: string,
  { server, clock, log }: Readonly<{ server: string | undefined; clock: CliIo["clock"]; log: Log }>,
): Promise<KubeClient> {
  return openFileHub({
    path,
    source: `--kcp-kubeconfig "${path}"`,
    server,
    openTransport: createUndiciTransport,
    clock,
    ttlMs: kubeconfigMaxAgeMs,
    onRenewed: () => log.info("kubeconfig renewed", { path, server }),
    onFailure: (error) => log.warn("kubeconfig cannot be read", { path, error }),
  });
}

/** Only warns: the file may be created later, and the other clusters must be served. The registration shows the failure too. */
async function warnUnreadable(kubeconfigs: ReadonlyMap<string, string>, log: Log): Promise<void> {
  for (const [name, path] of kubeconfigs) {
    await access(path, constants.R_OK).catch(() => log.warn("kubeconfig cannot be read", { name, path }));
  }
}
