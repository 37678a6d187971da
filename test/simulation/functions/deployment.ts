import type { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import { createForwardFunction } from "../../../lib/lambda/forward.ts";
import { createHeartbeatFunction } from "../../../lib/lambda/heartbeat.ts";
import type { Host } from "../../../lib/lambda/host.ts";
import { createProbeFunction } from "../../../lib/lambda/probe.ts";
import { createReconcileFunction } from "../../../lib/lambda/reconcile.ts";
import { createResyncFunction } from "../../../lib/lambda/resync.ts";
import type { ReconcileClients } from "../../../lib/lambda/upstream.ts";
import { createHealthChecks } from "../../../lib/observe/health.ts";
import { createLog } from "../../../lib/observe/log.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import type { SqsClient } from "../../../lib/queue/sqs-client.ts";
import { parseBody } from "../../../lib/queue/work-message.ts";
import { createRelayService } from "../../../lib/relay/service/relay-service.ts";
import { formatExportAddress } from "../../../lib/upstream/export/address.ts";
import { causes } from "../cause.ts";
import { simulatedHubId } from "../copies.ts";
import type { SimulationEnvironment } from "../environment.ts";
import { type ProcessOptions, scopeOf, simulatedExport } from "../process.ts";
import { createLife, type ProcessLife, runWork, type SimProcess } from "../process-life.ts";
import type { Sabotage } from "../sabotage.ts";
import type { Fault } from "../scenario.ts";
import { controllerToken, tenantPaths } from "../servers.ts";
import { createInvocations, type FunctionProcess, type FunctionSpec } from "./invocations.ts";
import { awsError, createQueues, queueUrls, urlOf } from "./queues.ts";

/** The deployed form in one run: queues, functions, schedules; relays are processes beside it. */
export interface Deployment {
  /** Starts a relay that sends to the queues. */
  startRelay(options: Pick<ProcessOptions, "name" | "skewMs" | "onExit">): SimProcess;
  /** What a fault of controllers does to the functions. */
  happen(fault: Fault): void;
  cease(): void;
  end(): void;
  readonly writes: number;
}

const stage = "sim";
const kcpSecret = "tmc/kcp";
const functionTimeoutMs = 20_000;
const resyncTimeoutMs = 300_000;
const plannerIntervalMs = 60_000;
/** Lambda repeats a failed asynchronous invocation after a minute, and then after two. */
const asyncRetriesMs = [60_000, 120_000] as const;

/** Creates the deployment of a run and starts its schedules. */
export function createDeployment(world: SimulationEnvironment, sabotage: Sabotage | undefined): Deployment {
  const { servers, monitor, weather, settings } = world;
  // Has the timers of the services; nothing runs in it.
  const aws = createLife({ world, name: "aws", skewMs: 0, onExit: () => {} });
  const { clock } = aws;
  let death: { left: number; readonly when: "before" | "after" } | undefined;

  const queues = createQueues({
    clock,
    dice: aws.dice.fork("queues"),
    weather: () => weather.queue,
    onSend: (queue, body) => {
      // The body of a change has a version, and servers go on counting from run to run.
      if (queue !== "work.fifo" && queue !== "delay") {
        world.log(`sent to ${queue}`);
        return true;
      }
      const item = parseBody(body);
      world.log(`sent to ${queue}: ${item.key.logicalCluster}/${item.key.kind}/${item.key.name}: ${item.reason}`);
      monitor.sent([item], causes.getStore());
      const isForwarded = causes.getStore()?.process.name.startsWith("forward-") === true;
      if (item.reason === "requeue" && !isForwarded) monitor.requeued(item);
      return sabotage?.keys === undefined || sabotage.keys([item], servers.tenants).length > 0;
    },
    onDeadLetter: (queue, body, cause) => {
      world.log(`dead letter of ${queue}: ${cause}`);
      // Two functions that die, or are throttled, are the cause for a heartbeat; the next one is planned already.
      if (queue !== "heartbeat") monitor.broken(0, `${queue} has a dead letter: ${cause}: ${body}`);
    },
  });
  const invocations = createInvocations(world, {
    queues,
    clock,
    dice: aws.dice.fork("invocations"),
    deathAt: () => {
      if (death === undefined) return undefined;
      death.left -= 1;
      if (death.left > 0) return undefined;
      const { when } = death;
      death = undefined;
      return when;
    },
  });

  const variables = {
    TMC_STAGE: stage,
    TMC_HUB_ID: simulatedHubId,
    TMC_LOG_LEVEL: "0",
    TMC_KCP_SECRET: kcpSecret,
    ...(world.throughExport
      ? { TMC_API_EXPORT: formatExportAddress(simulatedExport) }
      : { TMC_WORKSPACES: tenantPaths.join(",") }),
    TMC_WORK_QUEUE_URL: queueUrls.work,
    TMC_DELAY_QUEUE_URL: queueUrls.delay,
    TMC_DEAD_LETTERS_URL: queueUrls.deadLetters,
    TMC_HEARTBEAT_QUEUE_URL: urlOf("heartbeat"),
    TMC_RESYNC_QUEUE_URL: urlOf("resync"),
    TMC_HEARTBEAT_SECONDS: String(settings.heartbeatSeconds),
    TMC_RESYNC_SECONDS: String(settings.resyncSeconds),
  };
  /** A client for kcp in a process. */
  const clientOf = ({ kcpWire: transport, clock: own, dice }: ProcessLife): KubeClient =>
    createKubeClient({ endpoint: { server: servers.kcp.url }, transport, name: "kcp", clock: own, random: dice.next });
  const hostOf = ({ life, clock: own }: FunctionProcess): Host => ({
    variables,
    version: "1.2.3",
    clock: own,
    random: life.dice.next,
    write: () => {},
    uptimeMs: () => own.monotonicMs(),
    overrides: {
      settings,
      sync: settings.syncSettings,
      wrapWork: (work) => async (item, signal) => {
        world.log(`${life.name} works on ${item.key.logicalCluster}/${item.key.kind}/${item.key.name}: ${item.reason}`);
        monitor.works(item);
        return runWork(life, item, async () => {
          const next = await work(item, signal);
          await sabotage?.afterWork?.(item, clientOf(life), servers.tenants);
          sabotage?.onClusters?.(item, servers.clusters, servers.tenants);
          return sabotage?.next?.(item, next) ?? next;
        });
      },
    },
  });
  const clientsOf = ({ life, awake }: FunctionProcess): ReconcileClients => ({
    sqs: sqsOf(life, awake),
    secretsManager: secretsManagerOf(world),
    awsCredentials: async () => ({ accessKeyId: "AKIA", secretAccessKey: "key" }),
    openHubTransport: () => whileAwake(life.kcpWire, awake),
    openTransport: ({ server }, { key }) => {
      const wire = life.clusterWire(key, new URL(server).hostname.split(".", 1)[0] ?? "");
      return whileAwake(sabotage?.clusterTransport?.(wire) ?? wire, awake);
    },
  });
  /** A client of SQS whose process may die before or after each call. */
  const sqsOf = (life: ProcessLife, awake: () => Promise<void>): SqsClient => {
    const never = new Promise<never>(() => {});
    let dies: "before" | "after" | undefined;
    const dieIf = (when: "before" | "after"): Promise<void> | Promise<never> => {
      if (dies === when) life.kill();
      return life.alive ? awake() : never;
    };
    return queues.client({
      before: () => {
        dies = life.alive ? life.deathAtWrite() : undefined;
        return dieIf("before");
      },
      after: () => dieIf("after"),
    });
  };

  const define = (name: string, load: FunctionSpec["load"], timeoutMs = functionTimeoutMs): FunctionSpec => ({
    name,
    timeoutMs,
    load,
  });
  const reconcile = define("reconcile", (process) => createReconcileFunction(hostOf(process), clientsOf(process)));
  const forward = define("forward", (process) => createForwardFunction(hostOf(process), clientsOf(process)));
  const heartbeat = define("heartbeat", (process) => createHeartbeatFunction(hostOf(process), clientsOf(process)));
  const probe = define("probe", (process) => createProbeFunction(hostOf(process), clientsOf(process)));
  const resync = define(
    "resync",
    (process) => createResyncFunction(hostOf(process), clientsOf(process)),
    resyncTimeoutMs,
  );
  invocations.connect(reconcile, {
    queue: "work.fifo",
    batchSize: 10,
    // From a deployment with the least concurrency to one with the default.
    maxConcurrency: settings.workers === 1 ? 2 : settings.workers === 5 ? 20 : settings.workers,
    reportsFailures: true,
  });
  invocations.connect(forward, { queue: "delay", batchSize: 10, maxConcurrency: 5, reportsFailures: true });
  invocations.connect(probe, { queue: "heartbeat", batchSize: 1, maxConcurrency: 10, reportsFailures: false });
  invocations.connect(resync, { queue: "resync", batchSize: 1, maxConcurrency: 2, reportsFailures: false });

  const invokeOnSchedule = (spec: FunctionSpec, everyMs: number, retriesMs: readonly number[]): void => {
    const attempt = (retries: readonly number[]): void => {
      invocations.invoke(spec, {}).catch((error: unknown) => {
        world.log(`${spec.name} fails: ${error instanceof Error ? error.message : String(error)}`);
        const [next, ...others] = retries;
        if (next !== undefined) clock.after(next, () => attempt(others));
      });
    };
    const run = (): void => {
      attempt(retriesMs);
      clock.after(everyMs, run);
    };
    clock.after(aws.dice.next() * everyMs, run);
  };
  invokeOnSchedule(heartbeat, plannerIntervalMs, []);
  invokeOnSchedule(resync, settings.resyncSeconds * 1000, asyncRetriesMs);

  return {
    startRelay: ({ name, skewMs, onExit }) => startRelay(world, { name, skewMs, onExit, sqsOf, clientOf }),
    happen: (fault) => {
      switch (fault.kind) {
        case "kill":
          invocations.setSkew(fault.skewMs);
          invocations.killSome(0.5);
          return;
        case "kill-at-write":
          death = { left: fault.nth, when: fault.when };
          return;
        case "terminate":
          invocations.retire();
          return;
        default:
      }
    },
    cease: () => {
      death = undefined;
      invocations.setSkew(0);
      invocations.endSkewed();
    },
    end: () => {
      invocations.killSome(1);
      aws.kill();
    },
    get writes() {
      return invocations.writes;
    },
  };
}

/** Starts a relay in a process of its own. */
function startRelay(
  world: SimulationEnvironment,
  {
    name,
    skewMs,
    onExit,
    sqsOf,
    clientOf,
  }: Pick<ProcessOptions, "name" | "skewMs" | "onExit"> &
    Readonly<{
      sqsOf: (life: ProcessLife, awake: () => Promise<void>) => SqsClient;
      clientOf: (life: ProcessLife) => KubeClient;
    }>,
): SimProcess {
  const life = createLife({ world, name, skewMs, onExit: () => onExit(process) });
  const { clock, dice } = life;
  const process: SimProcess = Object.assign(life, {
    terminate: () => {
      world.log(`${name} is asked to end`);
      causes.run({ process }, () => {
        relay.stop(10_000).then(
          () => life.kill(),
          (error: unknown) => world.fail("a relay fails to stop", error),
        );
      });
    },
  });
  const relay = causes.run({ process }, () => {
    const client = clientOf(life);
    const made = createRelayService({
      client,
      ...scopeOf(world, client),
      queue: createSqsQueue({ sqs: sqsOf(life, async () => {}), urls: queueUrls, clock, random: dice.next }),
      sync: true,
      clock,
      random: dice.next,
      log: createLog({ level: 0, write: () => {}, clock }),
      metrics: createMetrics(),
      health: createHealthChecks({ clock }),
    });
    made.start().catch((error: unknown) => {
      if (!life.alive) return;
      world.log(`${name} cannot start: ${error instanceof Error ? error.message : String(error)}`);
      life.kill();
    });
    return made;
  });
  world.log(`${name} starts, ${skewMs} ms ahead`);
  return process;
}

/** A transport whose responses a frozen process gets when it runs again. */
function whileAwake(wire: Transport, awake: () => Promise<void>): Transport {
  return {
    send: async (request) => {
      const response = await wire.send(request);
      await awake();
      return response;
    },
    close: () => wire.close(),
  };
}

/** AWS Secrets Manager with the kubeconfig of the upstream, and the operator's credentials of each registration. */
function secretsManagerOf(world: SimulationEnvironment): ReconcileClients["secretsManager"] {
  const { servers, monitor } = world;
  const kubeconfig = JSON.stringify({ server: servers.kcp.url, token: controllerToken });
  const textOf = (secret: string): string | undefined => {
    if (secret === kcpSecret) return kubeconfig;
    const [logicalCluster = "", name = ""] = secret.split("/").slice(-2);
    const registration = monitor.truth.of(logicalCluster).registrations.get(name);
    if (registration === undefined) return undefined;
    const server = world.operatorServer({ logicalCluster, kind: "ClusterRegistration", name }, registration);
    return server && JSON.stringify({ server, token: world.operatorToken(logicalCluster) });
  };
  const send = async ({ input }: Readonly<{ input: Readonly<{ SecretId?: string }> }>): Promise<object> => {
    const text = textOf(input.SecretId ?? "");
    if (text === undefined) throw awsError("ResourceNotFoundException");
    return { SecretString: text };
  };
  // The client's type has an overload for each command; TMC sends only GetSecretValue.
  return { send: send as unknown as SecretsManagerClient["send"] };
}
