import { access, constants, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type ControllerOptions, createController, createSharingController } from "../controller/controller.ts";
import { keepMemoryLean } from "../controller/lean-memory.ts";
import type { ControllerConfig } from "../controller/options.ts";
import { formatExportAddress } from "../kcp/export-address.ts";
import { endpointAt } from "../kcp/export-endpoints.ts";
import type { KubeClient } from "../kube/client.ts";
import { parseKubeconfig, type ResolvedContext } from "../kube/kubeconfig.ts";
import { createKubeClient } from "../kube/rest-client.ts";
import type { Endpoint } from "../kube/transport.ts";
import { createUndiciTransport } from "../kube/undici-transport.ts";
import { createHealth, healthRoutes } from "../observe/health.ts";
import { type HttpServer, metricsRoutes, startHttp } from "../observe/http.ts";
import { createLog, type Log } from "../observe/log.ts";
import { createMetrics } from "../observe/metrics.ts";
import { readProcessGauges } from "../observe/record-process.ts";
import type { KnownQueues } from "../queue/queue-stats.ts";
import type { CliIo } from "./cli-io.ts";
import type { OpenedQueue } from "./shared-queue.ts";
import { tmcVersion } from "./version.ts";

/** Runs a controller with its metrics and health until it is asked to end, and lets it finish what is under way. */
export async function runController(io: CliIo, config: ControllerConfig): Promise<void> {
  keepMemoryLean();
  const { clock } = io;
  const interrupted = io.untilInterrupted();
  const log = createLog({ level: config.logLevel, write: io.err, clock });
  const metrics = createMetrics();
  const health = createHealth({ clock });
  readProcessGauges(metrics, { process, nowMs: clock.now(), version: tmcVersion(), nodeVersion: process.version });
  const endpoint = await readHub(config.kcpKubeconfig, io);
  const open = (to: Endpoint): KubeClient =>
    createKubeClient({ endpoint: to, transport: createUndiciTransport(to), clock });
  const client = open(endpoint);
  const servers: HttpServer[] = [];
  const options: ControllerOptions = {
    client,
    workspaces: config.workspaces,
    apiExport: config.apiExport && {
      address: config.apiExport,
      // Each shard has an address of its own; who we are is the same everywhere.
      openEndpoint: (url) => open(endpointAt(endpoint, url)),
    },
    clusterKubeconfigs: config.clusterKubeconfigs,
    settings: {
      resyncSeconds: config.resyncSeconds,
      workers: config.workers,
      heartbeatSeconds: config.heartbeatSeconds,
      allowPrivateEndpoints: config.allowPrivateEndpoints,
    },
    clock,
    log,
    metrics,
    health,
  };
  const { queues } = config;
  const queue = queues === undefined ? undefined : await openQueue(io, { queues, log, client });
  const controller = queue === undefined ? createController(options) : createSharingController(options, queue);
  try {
    servers.push(await startHttp({ name: "--metrics-port", port: config.metricsPort, routes: metricsRoutes(metrics) }));
    servers.push(await startHttp({ name: "--health-port", port: config.healthPort, routes: healthRoutes(health) }));
    await warnOfUnreadable(config.clusterKubeconfigs, log);
    const [metricsPort, healthPort] = servers.map(({ port }) => port);
    const served = { workspaces: config.workspaces, export: config.apiExport && formatExportAddress(config.apiExport) };
    log.info("controller starts", { version: tmcVersion(), ...served, metricsPort, healthPort });
    // A hub that is away is asked until it is there; whoever is tired of that ends it.
    const isInterrupted = await Promise.race([controller.start().then(() => false), interrupted.then(() => true)]);
    if (!isInterrupted) await interrupted;
    log.info("controller drains");
  } finally {
    await controller.stop();
    await Promise.all(servers.map((server) => server.close()));
    await client.close();
    queue?.close();
  }
  log.info("controller ended");
}

async function openQueue(
  io: CliIo,
  { queues, log, client }: Readonly<{ queues: KnownQueues; log: Log; client: KubeClient }>,
): Promise<OpenedQueue> {
  // Only now: AWS's client takes memory that a controller without it does not need.
  const { openSharedQueue } = await import("./shared-queue.ts");
  return openSharedQueue(io, queues, log).catch(async (error: unknown) => {
    await client.close();
    throw error;
  });
}

async function readHub(path: string, { clock }: CliIo): Promise<Endpoint> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
    throw new Error(`--kcp-kubeconfig "${path}": ${code === "ENOENT" ? "there is no such file" : code}`, {
      cause: error,
    });
  });
  return readKubeconfig(path, text, clock).endpoint;
}

function readKubeconfig(path: string, text: string, clock: CliIo["clock"]): ResolvedContext {
  try {
    return parseKubeconfig(text, { allow: "files", directory: dirname(path), clock });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`--kcp-kubeconfig "${path}": ${why}`, { cause: error });
  }
}

/** A missing file may yet come, and must not keep the other clusters from being served: the registration says so too. */
async function warnOfUnreadable(kubeconfigs: ReadonlyMap<string, string>, log: Log): Promise<void> {
  for (const [name, path] of kubeconfigs) {
    await access(path, constants.R_OK).catch(() => log.warn("kubeconfig cannot be read", { name, path }));
  }
}
