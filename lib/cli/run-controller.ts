import { access, constants } from "node:fs/promises";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createUndiciTransport } from "@tmc/kube/undici-transport.ts";
import {
  type ControllerOptions,
  createController,
  createSharingController,
  type SharingController,
} from "../controller/controller.ts";
import type { ControllerConfig } from "../controller/flags.ts";
import { keepMemoryLean } from "../controller/lean-memory.ts";
import type { ControllerSettings } from "../engine/settings.ts";
import { tmcVersion } from "../model/version.ts";
import { createHealth, healthRoutes } from "../observe/health.ts";
import { type HttpServer, metricsRoutes, startHttp } from "../observe/http.ts";
import { createLog, type Log } from "../observe/log.ts";
import { createMetrics } from "../observe/metrics.ts";
import { readProcessGauges } from "../observe/recorders.ts";
import type { KnownQueues } from "../queue/queue-stats.ts";
import { isSharedByTenants, tenantRateOf } from "../queue/tenant-rate-limit.ts";
import { learnWorkloads } from "../relay/discover-workload-types.ts";
import { formatExportAddress } from "../upstream/export/address.ts";
import { openFileHub } from "../upstream/open-hub.ts";
import type { CliIo } from "./cli-io.ts";
import { readCustomTypes } from "./custom-type-files.ts";
import type { OpenedQueue } from "./shared-queue.ts";

/** Runs a controller with its metrics and health until it is asked to end, and lets it finish what is under way. */
export async function runController(io: CliIo, config: ControllerConfig): Promise<void> {
  keepMemoryLean();
  const { clock } = io;
  const interrupted = io.untilInterrupted();
  const log = createLog({ level: config.logLevel, write: io.err, clock });
  const metrics = createMetrics();
  const health = createHealth({ clock });
  readProcessGauges(metrics, { process, nowMs: clock.now(), version: tmcVersion(), nodeVersion: process.version });
  /** Each shard has an address of its own; who we are is the same everywhere. */
  const open = (server?: string): Promise<KubeClient> => openHub(config.kcpKubeconfig, { server, clock, log });
  const client = await open();
  const servers: HttpServer[] = [];
  const { queues } = config;
  const custom = (await Promise.all(config.crds.map(readCustomTypes))).flat();
  const queue = queues === undefined ? undefined : await openQueue(io, config, { queues, log, client });
  const end = new AbortController();
  let controller: SharingController | undefined;
  const start = async (): Promise<void> => {
    const check = health.register("types");
    const { apiExport } = config;
    const random = Math.random;
    const customWorkloads = await learnWorkloads({
      client,
      apiExport,
      named: custom,
      clock,
      random,
      log,
      signal: end.signal,
    });
    if (end.signal.aborted) return;
    check.remove();
    const options: ControllerOptions = {
      client,
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
    await warnOfUnreadable(config.clusterKubeconfigs, log);
    const [metricsPort, healthPort] = servers.map(({ port }) => port);
    const served = { workspaces: config.workspaces, export: config.apiExport && formatExportAddress(config.apiExport) };
    log.info("controller starts", { version: tmcVersion(), ...served, metricsPort, healthPort });
    // A hub that is away is asked until it is there; whoever is tired of that ends it.
    const started = start();
    const isInterrupted = await Promise.race([started.then(() => false), interrupted.then(() => true)]);
    if (isInterrupted)
      started.catch(() => {}); // it was told to stop waiting
    else await interrupted;
    log.info("controller drains");
  } finally {
    end.abort();
    await controller?.stop();
    await Promise.all(servers.map((server) => server.close()));
    await client.close();
    queue?.close();
  }
  log.info("controller ended");
}

/** What of the options decides how a controller works. */
export function settingsOf(config: ControllerConfig): Partial<ControllerSettings> {
  const { resyncSeconds, workers, syncWorkers, tenantConcurrency, tenantShare, tenantEventsPerSecond } = config;
  const { heartbeatSeconds, brake, allowPrivateEndpoints } = config;
  return {
    resyncSeconds,
    workers,
    syncWorkers,
    tenantConcurrency,
    ...(tenantShare === undefined ? {} : { tenantShare }),
    tenantEventsPerSecond,
    heartbeatSeconds,
    syncSettings: { brake },
    allowPrivateEndpoints,
  };
}

async function openQueue(
  io: CliIo,
  config: ControllerConfig,
  { queues, log, client }: Readonly<{ queues: KnownQueues; log: Log; client: KubeClient }>,
): Promise<OpenedQueue> {
  // Only now: AWS's client takes memory that a controller without it does not need.
  const { openSharedQueue } = await import("./shared-queue.ts");
  const tenantRate = tenantRateOf({ perSecond: config.tenantEventsPerSecond, isShared: isSharedByTenants(config) });
  return openSharedQueue(io, queues, { log, tenantRate }).catch(async (error: unknown) => {
    await client.close();
    throw error;
  });
}

/** A token that somebody renews in the file is in use within this time, and at once when the old one is refused. */
const rereadMs = 60_000;

function openHub(
  path: string,
  { server, clock, log }: Readonly<{ server: string | undefined; clock: CliIo["clock"]; log: Log }>,
): Promise<KubeClient> {
  return openFileHub({
    path,
    place: `--kcp-kubeconfig "${path}"`,
    server,
    openTransport: createUndiciTransport,
    clock,
    rememberMs: rereadMs,
    onRenewed: () => log.info("kubeconfig renewed", { path, server }),
    onTrouble: (error) => log.warn("kubeconfig cannot be read", { path, error }),
  });
}

/** A missing file may yet come, and must not keep the other clusters from being served: the registration says so too. */
async function warnOfUnreadable(kubeconfigs: ReadonlyMap<string, string>, log: Log): Promise<void> {
  for (const [name, path] of kubeconfigs) {
    await access(path, constants.R_OK).catch(() => log.warn("kubeconfig cannot be read", { name, path }));
  }
}
