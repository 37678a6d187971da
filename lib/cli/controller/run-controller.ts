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
import type { WorkloadType } from "../../api/workload-kinds.ts";
import { createController, createSharingController, type SharingController } from "../../controller/controller.ts";
import type { ControllerConfig, LeaderElectionConfig } from "../../controller/flags.ts";
import { keepMemoryLean } from "../../controller/lean-memory.ts";
import type { ControllerOptions } from "../../controller/parts.ts";
import { sharedSettings, watchSettings } from "../../controller/settings-lease.ts";
import { createLeaderElection, graceAfterLossMs, type LeaderElection } from "../../engine/leader-election.ts";
import type { ControllerSettings } from "../../engine/settings.ts";
import { tmcVersion } from "../../model/version.ts";
import { createHealthChecks, type HealthChecks, healthRoutes } from "../../observe/health.ts";
import { type HttpServer, metricsRoutes, startHttp } from "../../observe/http.ts";
import { createLog, type Log } from "../../observe/log.ts";
import { createMetrics } from "../../observe/metrics.ts";
import { registerProcessGauges } from "../../observe/recorders.ts";
import type { KnownQueues } from "../../queue/queue-stats.ts";
import { isMultiTenant, tenantRateOf } from "../../queue/tenant-rate-limit.ts";
import { discoverWorkloadTypes, whenTypesChange } from "../../relay/watch/discover-workload-types.ts";
import type { CustomType } from "../../upstream/custom-types.ts";
import { formatExportAddress } from "../../upstream/export/address.ts";
import { hubRecordWorkspace } from "../../upstream/hub-record.ts";
import { clientOf } from "../../upstream/logical-cluster.ts";
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
  await assertReadable(config.clusterKubeconfigs);
  const { clock } = io;
  const interrupted = io.untilInterrupted();
  const log = createLog({
    level: config.logLevel,
    format: config.logFormat ?? (io.isErrTerminal === true ? "text" : "json"),
    write: io.err,
    clock,
  });
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
  const stop = new AbortController();
  let election: OpenElection | undefined;
  void interrupted.then(() => {
    log.info("controller stopping");
    stop.abort();
  });
  const optionsWith = (customWorkloads: readonly WorkloadType[]): ControllerOptions => ({
    client,
    hubId: config.hubId,
    ignoresHubControllers: config.ignoresHubControllers,
    workspaces: config.workspaces,
    apiExport: config.apiExport && { address: config.apiExport, openEndpoint: open },
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
  });
  const home = clientOf(client, hubRecordWorkspace(config));
  const serve = (signal: AbortSignal): Promise<void> =>
    serveTypes(
      { config, client, home, customTypes, clock, log, health },
      (types) => {
        const options = optionsWith(types);
        return queue === undefined ? createController(options) : createSharingController(options, queue);
      },
      signal,
    );
  try {
    servers.push(await startHttp({ name: "--metrics-port", port: config.metricsPort, routes: metricsRoutes(metrics) }));
    servers.push(await startHttp({ name: "--health-port", port: config.healthPort, routes: healthRoutes(health) }));
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
    if (election === undefined || config.leaderElection === undefined) await serve(stop.signal);
    else {
      const { durationSeconds } = config.leaderElection;
      await serveAsLeader({ election, durationSeconds, stop, clock, exit }, async (signal) => {
        metrics.set("tmc_leader", {}, 1);
        await serve(signal);
      });
    }
  } finally {
    await election?.close();
    await Promise.all(servers.map((server) => server.close()));
    await client.close();
    queue?.close();
  }
  log.info("controller stopped");
}

type TypeServing = Readonly<{
  config: ControllerConfig;
  client: KubeClient;
  /** A client for the workspace with the identity of the hub. */
  home: KubeClient;
  customTypes: readonly CustomType[];
  clock: CliIo["clock"];
  log: Log;
  health: HealthChecks;
}>;

/** Runs a controller until the signal; when the export has another type, a controller that serves it replaces the first one. */
async function serveTypes(
  { config, client, home, customTypes, clock, log, health }: TypeServing,
  create: (types: readonly WorkloadType[]) => SharingController,
  signal: AbortSignal,
): Promise<void> {
  const { apiExport, resyncSeconds } = config;
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const fileTypes = customTypes.map(({ schema }) => schema.metadata.name);
  const recorder = { client: home, settings: sharedSettings(config, fileTypes), clock };
  while (!signal.aborted) {
    const check = health.register("types");
    const watch = new AbortController();
    let controller: SharingController | undefined;
    let stopSettings = async (): Promise<void> => {};
    try {
      const random = Math.random;
      const discovery = { client, apiExport, typesFromFiles: customTypes, clock, random, log, signal };
      // While kcp is unavailable, both are retried until they succeed or the process is interrupted.
      const types = await discoverWorkloadTypes(discovery);
      if (signal.aborted) return;
      check.remove();
      controller = create(types);
      const started = controller.start();
      started.catch(() => {}); // after an interrupt, the error is a consequence of the abort
      await Promise.race([started, aborted]);
      if (signal.aborted) return;
      stopSettings = watchSettings(recorder, log);
      const watched = { client, clock, log, known: types, periodSeconds: resyncSeconds, signal: watch.signal };
      await Promise.race(apiExport === undefined ? [aborted] : [aborted, whenTypesChange({ ...watched, apiExport })]);
      if (!signal.aborted) log.info("the export has new workload types; the controller starts again with them");
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      check.remove();
      watch.abort();
      await controller?.stop();
      await stopSettings();
    }
  }
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

type Leadership = Readonly<{
  election: LeaderElection;
  durationSeconds: number;
  /** Ends the process when it is interrupted, or when the Lease is lost. */
  stop: AbortController;
  clock: CliIo["clock"];
  exit: (code: number) => void;
}>;

/** Waits for the Lease and serves while this process holds it; fails if the Lease is lost. */
async function serveAsLeader(
  { election, durationSeconds, stop, clock, exit }: Leadership,
  serve: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!(await election.acquire(stop.signal))) return;
  let isLost = false;
  let cancelExit = (): void => {};
  void election.lost.then(() => {
    isLost = true;
    stop.abort();
    // Another replica may begin when the Lease expires; nothing of this one may run then.
    cancelExit = clock.after(graceAfterLossMs(durationSeconds) / 2, () => exit(1));
  });
  try {
    await serve(stop.signal);
  } finally {
    cancelExit();
  }
  if (isLost) throw new CommandExit(1, "the Lease of the leader election is lost");
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

/** A wrong path would make the cluster not Ready for everybody: the status of its registration is shared. */
async function assertReadable(kubeconfigs: ReadonlyMap<string, string>): Promise<void> {
  const checked = await Promise.all(
    [...kubeconfigs].map(async ([name, path]) =>
      access(path, constants.R_OK).then(
        () => undefined,
        () => `${name}=${path}`,
      ),
    ),
  );
  const unreadable = checked.filter((each) => each !== undefined);
  if (unreadable.length > 0)
    throw new ControllerError("invalid", `--cluster-kubeconfigs: cannot be read: ${unreadable.join(", ")}`);
}
