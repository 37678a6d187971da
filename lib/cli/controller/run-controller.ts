import { randomUUID } from "node:crypto";
import { access, constants, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { inClusterContext } from "@tmc/kube/kubeconfig/in-cluster.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { createController, createSharingController, type SharingController } from "../../controller/controller.ts";
import type { ControllerConfig, LeaderElectionConfig } from "../../controller/flags.ts";
import { keepMemoryLean } from "../../controller/lean-memory.ts";
import type { ControllerOptions } from "../../controller/parts.ts";
import { createLeaderElection, graceAfterLossMs, type LeaderElection } from "../../engine/leader-election.ts";
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
import { type CliIo, CommandExit } from "../cli-io.ts";
import type { OpenSharedQueue } from "../queue/shared-queue.ts";
import { readCustomTypes } from "./custom-type-files.ts";

/**
 * Runs a controller with its metrics and health endpoints until it is interrupted, then lets running reconciles finish. With a
 * leader election it waits for the Lease before; when it loses the Lease it fails, and `exit` ends it if it is not done before
 * the Lease expires.
 */
export async function runController(
  io: CliIo,
  config: ControllerConfig,
  exit: (code: number) => void = (code) => process.exit(code),
): Promise<void> {
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
  let cancelExit = (): void => {};
  const { queues } = config;
  const customTypes = (await Promise.all(config.crds.map(readCustomTypes))).flat();
  const queue = queues === undefined ? undefined : await openQueue(io, config, { queues, log, client });
  const shutdown = new AbortController();
  let controller: SharingController | undefined;
  let election: OpenElection | undefined;
  const start = async (): Promise<void> => {
    if (election !== undefined && !(await election.acquire(shutdown.signal))) return;
    if (election !== undefined) metrics.set("tmc_leader", {}, 1);
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
    if (config.leaderElection !== undefined) {
      const opened = await openElection(io, config.leaderElection, log);
      election = opened;
      metrics.set("tmc_leader", {}, 0);
      // A replica that waits is ready: otherwise a rolling update would wait for it without end.
      const detail = (): string => (opened.holder === "" ? "no leader is known" : `the leader is ${opened.holder}`);
      health.registerCallback("leader-election", () => ({ ok: true, detail: detail() }));
    }
    const [metricsPort, healthPort] = servers.map(({ port }) => port);
    const served = { workspaces: config.workspaces, export: config.apiExport && formatExportAddress(config.apiExport) };
    log.info("controller starting", { version: tmcVersion(), ...served, metricsPort, healthPort });
    // While kcp is unavailable, the start is retried until it succeeds or the process is interrupted.
    const started = start();
    const lost = election?.lost.then(() => "lost" as const);
    const ends = [interrupted.then(() => "interrupted" as const), ...(lost === undefined ? [] : [lost])];
    const firstEnd = await Promise.race([started.then(() => undefined), ...ends]);
    if (firstEnd !== undefined) started.catch(() => {}); // fails because of the abort below
    const end = firstEnd ?? (await Promise.race(ends));
    log.info("controller stopping");
    if (end === "lost" && config.leaderElection !== undefined) {
      // Another replica may begin when the Lease expires; nothing of this one may run then.
      cancelExit = clock.after(graceAfterLossMs(config.leaderElection.durationSeconds) / 2, () => exit(1));
      throw new CommandExit(1, "the Lease of the leader election is lost");
    }
  } finally {
    shutdown.abort();
    await controller?.stop();
    cancelExit();
    await election?.close();
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

type OpenElection = LeaderElection & Readonly<{ close: () => Promise<void> }>;

/** Opens the cluster with the Lease: the one in which this process runs, or that of a kubeconfig. */
async function openElection(io: CliIo, config: LeaderElectionConfig, log: Log): Promise<OpenElection> {
  const { clock } = io;
  const { kubeconfig, name, durationSeconds } = config;
  const source =
    kubeconfig === undefined
      ? "--leader-elect: without --leader-elect-kubeconfig"
      : `--leader-elect-kubeconfig "${kubeconfig}"`;
  const read = async () => {
    if (kubeconfig === undefined) return inClusterContext({ env: io.env, clock });
    const text = await readFile(kubeconfig, "utf8");
    return parseKubeconfig(text, { allow: "files", directory: dirname(kubeconfig), clock });
  };
  const { endpoint, namespace } = await read().catch((error: unknown) => {
    throw new ControllerError("invalid", `${source}: ${error instanceof Error ? error.message : String(error)}`);
  });
  const client = createKubeClient({
    endpoint,
    transport: createUndiciTransport(endpoint),
    clock,
    random: Math.random,
  });
  const election = createLeaderElection({
    client,
    namespace: config.namespace ?? namespace ?? "default",
    name,
    identity: `${hostname()}_${randomUUID()}`,
    durationSeconds,
    clock,
    log,
  });
  return Object.assign(election, {
    close: async () => {
      await election.release();
      await client.close();
    },
  });
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
