import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { countedClient } from "@tmc/kube/counted-client.ts";
import { createUndiciTransport } from "@tmc/kube/undici-transport.ts";
import type { AwsCredentials } from "../credentials/aws-sign.ts";
import { createCloudCredentials } from "../credentials/cloud-credentials.ts";
import { pooledTransports } from "../credentials/pooled-transport.ts";
import type { SecretsManager } from "../credentials/secrets-manager.ts";
import { createHealth, healthRoutes } from "../observe/health.ts";
import { type HttpServer, metricsRoutes, startHttp } from "../observe/http.ts";
import { createLog, parseLogLevel } from "../observe/log.ts";
import { createMetrics, type Metrics } from "../observe/metrics.ts";
import { hubRequestRecorder, type ProcessFacts, readProcessGauges } from "../observe/recorders.ts";

import { createSqsQueue } from "../queue/sqs.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { formatExportAddress } from "../upstream/export/address.ts";
import { openFileHub, openSecretHub } from "../upstream/open-hub.ts";
import { formatDirtyLine } from "./dirty-keys-log.ts";
import { learnWorkloads } from "./discover-workload-types.ts";
import type { RelayedClusters } from "./downstream-watch.ts";
import { createRelayService, type RelayService } from "./service.ts";
import { type RelaySettings, readRelaySettings } from "./service-settings.ts";

/** What the relay has of the machine it runs on. */
export type RelayHost = Readonly<{
  variables: Readonly<Record<string, string | undefined>>;
  version: string;
  nodeVersion: string;
  process: ProcessFacts;
  clock: Clock;
  random: () => number;
  /** Takes one line of the log, its end included. */
  write: (line: string) => void;
  /** Resolves when the process is asked to end. */
  untilInterrupted: () => Promise<void>;
  /** Clients of AWS; each is asked for when it is needed. */
  openSqs: () => SqsClient;
  openSecretsManager: () => SecretsManager;
  openAwsCredentials: () => AwsCredentials;
}>;

/** What stops the process stops it after thirty seconds at the earliest, in ECS and in Kubernetes. */
const flushMs = 25_000;
const dirtyLineMs = 60_000;

/** Runs the relay until it is asked to end, and sends what is left; answers the exit code. */
export async function runRelay(host: RelayHost): Promise<number> {
  const { variables, clock } = host;
  const interrupted = host.untilInterrupted();
  const level = parseLogLevel(variables.TMC_LOG_LEVEL ?? "") ?? 2;
  const log = createLog({ level, write: host.write, clock });
  const ends: (() => unknown)[] = [];
  try {
    const settings = readRelaySettings(variables);
    const metrics = createMetrics();
    const health = createHealth({ clock });
    const opened = health.register("hub");
    ends.push(readProcessGauges(metrics, { ...host, nowMs: clock.now() }));
    const [metricsPort, healthPort] = await listen(settings, ends, metricsRoutes(metrics), healthRoutes(health));
    const open = (server?: string): Promise<KubeClient> => openHub(host, settings, { metrics, server });
    const client = await open();
    opened.pass();
    ends.push(() => client.close());
    const queue = createSqsQueue({
      sqs: host.openSqs(),
      // It only ever sends at once.
      urls: { work: settings.workQueueUrl, delay: "", deadLetters: "" },
      clock,
      random: host.random,
    });
    const { workspaces, stage, tenantEventsPerSecond, sync } = settings;
    const ending = new AbortController();
    void interrupted.then(() => ending.abort());
    const learning = { ...host, client, apiExport: settings.apiExport, named: [], log, signal: ending.signal };
    const customWorkloads = sync
      ? await learnWorkloads(learning).catch((error: unknown) => {
          // Somebody was tired of waiting for the hub: what follows ends at once.
          if (ending.signal.aborted) return [];
          throw error;
        })
      : [];
    const apiExport = settings.apiExport && { address: settings.apiExport, openEndpoint: open };
    const service = createRelayService({
      ...host,
      client,
      workspaces,
      apiExport,
      queue,
      tenantEventsPerSecond,
      sync,
      customWorkloads,
      clusters: settings.watchClusters ? relayedClusters(host, settings) : undefined,
      log,
      metrics,
      health,
    });
    if (variables.ECS_CONTAINER_METADATA_URI_V4 !== undefined) ends.push(writeDirtyLines(host, stage, service));
    const served = { workspaces, export: settings.apiExport && formatExportAddress(settings.apiExport) };
    log.info("relay starts", { stage, version: host.version, ...served, metricsPort, healthPort });
    try {
      // A hub that is away is asked until it is there; whoever is tired of that ends it.
      await Promise.race([service.start(), interrupted]);
      await interrupted;
    } finally {
      log.info("relay drains", { keys: service.unsent });
      const left = await service.stop(flushMs);
      if (left > 0) log.warn("keys left unsent; the next relay lists everything", { keys: left });
    }
    log.info("relay ended");
    return 0;
  } catch (error) {
    log.error("relay failed", { error });
    return 1;
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

async function listen(
  { metricsPort, healthPort }: RelaySettings,
  ends: (() => unknown)[],
  metrics: ReturnType<typeof metricsRoutes>,
  health: ReturnType<typeof healthRoutes>,
): Promise<readonly number[]> {
  const ports: number[] = [];
  const open = async (name: string, port: number, routes: typeof metrics): Promise<void> => {
    const server: HttpServer = await startHttp({ name, port, routes });
    ends.push(() => server.close());
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
  const way = { openTransport: createUndiciTransport, clock, random, server };
  const client =
    "path" in kubeconfig
      ? await openFileHub({ ...way, path: kubeconfig.path })
      : await openSecretHub({ ...way, secret: kubeconfig.secret, secretsManager: host.openSecretsManager() });
  return countedClient(client, hubRequestRecorder(metrics));
}

function relayedClusters(
  host: RelayHost,
  { credentialProviders: providers, allowedEndpoints }: RelaySettings,
): RelayedClusters {
  const { clock, random } = host;
  const rules = { allowedRanges: allowedEndpoints };
  return {
    openTransport: pooledTransports(rules),
    openCredentials: (hub) =>
      createCloudCredentials({
        hub,
        rules,
        providers,
        secretsManager: host.openSecretsManager(),
        awsCredentials: host.openAwsCredentials(),
        clock,
        random,
      }),
  };
}

function writeDirtyLines({ clock, write }: RelayHost, stage: string, service: RelayService): () => void {
  const tick = (): void => {
    write(`${formatDirtyLine({ stage, atMs: clock.now(), oldestSeconds: service.oldestUnsentSeconds() })}\n`);
    cancel = clock.after(dirtyLineMs, tick);
  };
  let cancel = clock.after(dirtyLineMs, tick);
  return () => cancel();
}
