import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { type CallAws, createCallAws } from "../../credentials/aws-call.ts";
import type { AwsCredentials } from "../../credentials/aws-sign.ts";
import { createCloudCredentials } from "../../credentials/cloud-credentials.ts";
import { pooledTransports } from "../../credentials/pooled-transport.ts";
import type { SecretsManager } from "../../credentials/secrets-manager.ts";
import { createHealthChecks, healthRoutes } from "../../observe/health.ts";
import { type HttpServer, metricsRoutes, startHttp } from "../../observe/http.ts";
import { createLog, type Log, parseLogLevel } from "../../observe/log.ts";
import { createMetrics, type Metrics } from "../../observe/metrics.ts";
import { type ProcessFacts, registerProcessGauges, upstreamRequestRecorder } from "../../observe/recorders.ts";
import { createSqsQueue } from "../../queue/sqs.ts";
import type { SqsClient } from "../../queue/sqs-client.ts";
import { awaitAnswer } from "../../upstream/await-workspace.ts";
import { formatExportAddress } from "../../upstream/export/address.ts";
import { ensureHubIdentity } from "../../upstream/hub-record.ts";
import { openFileHub, openSecretHub } from "../../upstream/open-hub.ts";
import {
  logRelayMetrics,
  putRelayMetrics,
  type SendRelayMetrics,
  startMetricsReport,
} from "../observe/report-metrics.ts";
import { discoverWorkloadTypes } from "../watch/discover-workload-types.ts";
import { createRelayService, type RelayService, type RelayServiceOptions } from "./relay-service.ts";
import { type RelaySettings, readRelaySettings } from "./relay-settings.ts";

/** The environment of a relay process. Tests pass their own. */
export type RelayHost = Readonly<{
  variables: Readonly<Record<string, string | undefined>>;
  version: string;
  nodeVersion: string;
  process: ProcessFacts;
  clock: Clock;
  random: () => number;
  /** Writes one log line, which includes its line break. */
  write: (line: string) => void;
  /** Resolves on SIGTERM or SIGINT. */
  untilInterrupted: () => Promise<void>;
  /** AWS clients are opened when they are needed. */
  openSqs: () => SqsClient;
  openSecretsManager: () => SecretsManager;
  openAwsCredentials: () => AwsCredentials;
  /** @default signed requests over `node:https` */
  callAws?: CallAws | undefined;
}>;

/** ECS and Kubernetes kill a process 30 seconds after SIGTERM by default. */
const drainMs = 25_000;

/** Runs the relay until the process is interrupted, then sends the remaining keys; returns the exit code. */
export async function runRelay(host: RelayHost): Promise<number> {
  const { variables, clock } = host;
  const interrupted = host.untilInterrupted();
  const level = parseLogLevel(variables.TMC_LOG_LEVEL ?? "") ?? 2;
  const log = createLog({ level, write: host.write, clock });
  const cleanups: (() => unknown)[] = [];
  try {
    const settings = readRelaySettings(variables);
    const metrics = createMetrics();
    const health = createHealthChecks({ clock });
    const upstreamCheck = health.register("hub");
    // Fails until the checks of the service are registered: before, the process must not count as ready.
    const startCheck = health.register("started");
    const startedMs = clock.monotonicMs();
    cleanups.push(registerProcessGauges(metrics, { ...host, nowMs: startedMs }));
    let service: RelayService | undefined;
    // A relay that waits for the upstream before it has a service is blind too.
    const blindSeconds = (): number => service?.blindSeconds() ?? (clock.monotonicMs() - startedMs) / 1000;
    cleanups.push(metrics.onScrape(() => metrics.set("tmc_relay_blind_seconds", {}, blindSeconds())));
    const send = metricsSender(host, settings);
    if (send !== undefined)
      cleanups.push(
        startMetricsReport({ clock, log }, send, () => ({
          stage: settings.stage,
          atMs: clock.now(),
          dirtySeconds: service?.oldestUnsentSeconds() ?? 0,
          blindSeconds: blindSeconds(),
        })),
      );
    const [metricsPort, healthPort] = await listen(settings, cleanups, metricsRoutes(metrics), healthRoutes(health));
    const open = (server?: string): Promise<KubeClient> => openHub(host, settings, { metrics, server });
    const client = await open();
    upstreamCheck.pass();
    cleanups.push(() => client.close());
    const queue = createSqsQueue({
      sqs: host.openSqs(),
      // The relay sends neither delayed messages nor dead letters.
      urls: { work: settings.workQueueUrl, delay: "", deadLetters: "" },
      clock,
      random: host.random,
    });
    const { workspaces, stage, tenantEventsPerSecond, sync } = settings;
    const ending = new AbortController();
    void interrupted.then(() => ending.abort());
    const discovery = {
      ...host,
      client,
      apiExport: settings.apiExport,
      typesFromFiles: [],
      log,
      signal: ending.signal,
    };
    const customWorkloads = sync
      ? await discoverWorkloadTypes(discovery).catch((error: unknown) => {
          // The process was interrupted while upstream was unreachable: the service below ends at once.
          if (ending.signal.aborted) return [];
          throw error;
        })
      : [];
    const apiExport = settings.apiExport && { address: settings.apiExport, openEndpoint: open };
    const created = createRelayService({
      ...host,
      client,
      workspaces,
      apiExport,
      queue,
      tenantEventsPerSecond,
      sync,
      customWorkloads,
      targetClusters: settings.watchClusters ? targetClusterAccess(host, settings, { client, log }) : undefined,
      log,
      metrics,
      health,
    });
    service = created;
    const served = { workspaces, export: settings.apiExport && formatExportAddress(settings.apiExport) };
    log.info("relay starting", { stage, version: host.version, ...served, metricsPort, healthPort });
    try {
      // `start` waits for an unreachable upstream; an interrupt ends the wait.
      await Promise.race([created.start().then(() => startCheck.pass()), interrupted]);
      await interrupted;
    } finally {
      log.info("relay draining", { keys: created.unsent });
      const unsent = await created.stop(drainMs);
      if (unsent > 0) log.warn("keys not sent; the next relay lists everything", { keys: unsent });
    }
    log.info("relay stopped");
    return 0;
  } catch (error) {
    log.error("relay failed", { error });
    return 1;
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  }
}

async function listen(
  { metricsPort, healthPort }: RelaySettings,
  cleanups: (() => unknown)[],
  metrics: ReturnType<typeof metricsRoutes>,
  health: ReturnType<typeof healthRoutes>,
): Promise<readonly number[]> {
  const ports: number[] = [];
  const open = async (name: string, port: number, routes: typeof metrics): Promise<void> => {
    const server: HttpServer = await startHttp({ name, port, routes });
    cleanups.push(() => server.close());
    ports.push(server.port);
  };
  await open("TMC_METRICS_PORT", metricsPort, metrics);
  await open("TMC_HEALTH_PORT", healthPort, health);
  return ports;
}

async function openHub(
  host: RelayHost,
  { kubeconfig }: RelaySettings,
  { metrics, server }: Readonly<{ metrics: Metrics; server: string | undefined }>,
): Promise<KubeClient> {
  const { clock, random } = host;
  const connection = { openTransport: createUndiciTransport, clock, random, server };
  const client =
    "path" in kubeconfig
      ? await openFileHub({ ...connection, path: kubeconfig.path })
      : await openSecretHub({ ...connection, secret: kubeconfig.secret, secretsManager: host.openSecretsManager() });
  return countedClient(client, upstreamRequestRecorder(metrics));
}

function targetClusterAccess(
  host: RelayHost,
  { stage, hubId, workspaces, apiExport, credentialProviders: providers, allowedEndpoints }: RelaySettings,
  { client, log }: Readonly<{ client: KubeClient; log: Log }>,
): NonNullable<RelayServiceOptions["targetClusters"]> {
  const { clock, random } = host;
  const rules = { allowedRanges: allowedEndpoints };
  const onWait = (error: unknown, retryInMs: number): void =>
    log.warn("upstream is unreachable", { retryInSeconds: retryInMs / 1000, error });
  return {
    findHubId: async (signal) => {
      const ensure = (): Promise<string> => ensureHubIdentity({ client, part: { workspaces, apiExport }, signal });
      return hubId ?? (await awaitAnswer(client, ensure, { clock, random, signal, onWait }));
    },
    openTransport: pooledTransports(rules),
    openCredentials: (hub, id) =>
      createCloudCredentials({
        hub,
        rules,
        providers,
        secretsManager: host.openSecretsManager(),
        scope: { stage, hubId: id },
        awsCredentials: host.openAwsCredentials(),
        clock,
        random,
      }),
  };
}

function metricsSender(host: RelayHost, { cloudWatch }: RelaySettings): SendRelayMetrics | undefined {
  if (cloudWatch.by === "none") return undefined;
  if (cloudWatch.by === "log") return logRelayMetrics(host.write);
  const callAws = host.callAws ?? createCallAws({ clock: host.clock });
  return putRelayMetrics({ callAws, credentials: host.openAwsCredentials(), region: cloudWatch.region });
}
