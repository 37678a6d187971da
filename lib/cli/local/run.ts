import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { isClaimed, type WorkloadType } from "../../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { type Controller, createController } from "../../controller/controller.ts";
import { createLog } from "../../observe/log.ts";
import { customWorkloadsOf } from "../../relay/watch/discover-workload-types.ts";
import { namespaceResource, recordResource } from "../../upstream/watched-resources.ts";
import { showBoard } from "../board/board.ts";
import type { BoardState } from "../board/board-lines.ts";
import { canShowBoard, isUtf8 } from "../board/terminal-renderer.ts";
import { type CliIo, usesColor } from "../cli-io.ts";
import { readCustomTypes } from "../controller/custom-type-files.ts";
import { formatDocument } from "../output.ts";
import { createActions } from "./actions.ts";
import { demoWorkspace, type LocalEnvironment, startEmbeddedEnvironment } from "./environment.ts";
import { createEventLog, type EventLog, type LocalEvent, watchRecords, workloadEvent } from "./events.ts";
import { type KubeconfigFiles, openDirectory, writeKubeconfigs } from "./kubeconfigs.ts";
import { startRealEnvironment } from "./real-environment.ts";
import {
  createSamplePlacements,
  createSampleRegistrations,
  createSampleWorkloads,
  samplePlacements,
  sampleWorkloads,
} from "./samples.ts";
import {
  findMissing,
  formatSnapshot,
  snapshotDocument,
  snapshotWorkloads,
  type WorkspaceSnapshot,
} from "./snapshot.ts";
import { formatHints, formatWelcome } from "./welcome.ts";

export type LocalOptions = Readonly<{
  dir?: string;
  once?: true;
  real?: true;
  crd?: readonly string[];
  /** In seconds. */
  evictAfter?: number;
  output: "text" | "json";
}>;

/** Shorter intervals than in production, so that heartbeats are visible. */
const settings = { heartbeatSeconds: 5, heartbeatWriteSeconds: 5, resyncSeconds: 30 };
const pollIntervalMs = 10;
/**
 * Maximum time until everything is ready: from the start, or for real servers from when they are running. Embedded servers
 * need a second, and on a busy machine ten times as long.
 */
const settleSeconds = 60;
/** Maximum time that the samples wait for Ready clusters: a user may disconnect one before it is Ready. */
const samplesWaitSeconds = { embedded: 10, real: settleSeconds } as const;

/** The running environment, as the output functions need it. */
type RunningEnvironment = Readonly<{
  environment: LocalEnvironment;
  files: KubeconfigFiles;
  controller: Controller;
  eventLog: EventLog;
  startedMs: number;
  deadlineMs: number;
  signal: AbortSignal;
}>;

/** Starts the local environment, shows it until an interrupt (with `once`: until it is ready), and stops it. */
export async function runLocal(io: CliIo, options: LocalOptions): Promise<void> {
  const { clock } = io;
  const startedMs = clock.monotonicMs();
  const custom = (await Promise.all((options.crd ?? []).map(readCustomTypes))).flat();
  const customWorkloads = customWorkloadsOf(custom);
  const interruption = new AbortController();
  const interrupted = io.untilInterrupted().then(() => interruption.abort());
  const temporary =
    options.dir === undefined && options.once === true ? await mkdtemp(join(tmpdir(), "tmc-")) : undefined;
  const dir = options.dir ?? temporary ?? ".tmc";
  const isReal = options.real === true;
  try {
    // Before the servers start, which takes a while.
    const lock = await openDirectory(dir);
    // The process may exit at once, for example when the reader of its output has ended.
    const atExit = [lock.release];
    const cancelAtExit = io.atExit(() => runAll(atExit));
    try {
      const environment = isReal
        ? await startRealEnvironment((line) => io.err(`${line}\n`), interruption.signal, custom)
        : await startEmbeddedEnvironment({ custom });
      try {
        const files = await writeKubeconfigs(environment, dir);
        atExit.push(files.remove);
        await runEnvironment(io, options, {
          environment,
          files,
          customWorkloads,
          interrupted,
          startedMs: isReal ? clock.monotonicMs() : startedMs,
          signal: interruption.signal,
        });
      } finally {
        await environment.stop();
      }
    } finally {
      cancelAtExit();
      runAll(atExit);
    }
  } catch (error) {
    if (!interruption.signal.aborted) throw error; // after an interrupt, the error is a consequence of the abort
  } finally {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  }
  if (options.once !== true && options.output === "text") {
    io.out("Stopped. Nothing is running any more, and nothing was kept.\n");
  }
}

/** Runs tasks, the last one first. */
function runAll(tasks: readonly (() => void)[]): void {
  for (const task of tasks.toReversed()) task();
}

async function runEnvironment(
  io: CliIo,
  options: LocalOptions,
  context: Readonly<{
    environment: LocalEnvironment;
    files: KubeconfigFiles;
    customWorkloads: readonly WorkloadType[];
    interrupted: Promise<void>;
    startedMs: number;
    signal: AbortSignal;
  }>,
): Promise<void> {
  const { environment, files, customWorkloads, interrupted, startedMs, signal } = context;
  const { clock } = io;
  const workspace = environment.client.at(`/clusters/${demoWorkspace}`);
  const clusterNames = environment.clusters.map(({ name }) => name);
  await createSampleRegistrations(workspace, clusterNames, { evictAfterSeconds: options.evictAfter });
  let onEvent = (_: LocalEvent): void => {};
  const warnings = createLog({
    level: 1,
    format: "text",
    clock,
    write: (line) => {
      // Removes the time and the severity, because the event has its own.
      const message = line.trim().replace(/^\S+ \S+ +/, "");
      // The event log derives events of clusters from their objects.
      if (!message.startsWith("cluster changed")) eventLog.append({ tone: "bad", subject: "controller", message });
    },
  });
  const controller = createController({
    client: environment.client,
    // These servers exist as long as this process, and no other hub uses its clusters.
    hubId: "local",
    workspaces: [demoWorkspace],
    clusterKubeconfigs: files.clusters,
    customWorkloads,
    settings,
    clock,
    log: warnings,
  });
  const eventLog = createEventLog(controller.cache, clock, (event) => onEvent(event));
  const stopWatching = watchRecords({
    list: () => readSnapshot(controller).syncRecords,
    clock,
    onChange: (before, after) => {
      const event = workloadEvent(before, after, (name) =>
        readSnapshot(controller).placements.find(({ metadata }) => metadata.name === name),
      );
      if (event !== undefined) eventLog.append(event);
    },
  });
  const deadlineMs = startedMs + settleSeconds * 1000;
  const running: RunningEnvironment = { environment, files, controller, eventLog, startedMs, deadlineMs, signal };
  try {
    await controller.start();
    // The placements are created when the clusters are Ready, so that their first decision can select clusters.
    const unready = (): readonly string[] =>
      findMissing(readSnapshot(controller), { clusters: clusterNames, placements: [], workloads: [] });
    const waitSeconds = options.real === true ? samplesWaitSeconds.real : samplesWaitSeconds.embedded;
    const samples = waitUntilComplete(unready, { clock, deadlineMs: startedMs + waitSeconds * 1000, signal })
      .then(() => createSamplePlacements(workspace))
      .then(() => createSampleWorkloads(workspace))
      .catch((error: unknown) => {
        if (!signal.aborted) warnings.warn("cannot create the samples", { error });
      });
    if (options.once === true) await printOnce(io, options, running);
    else {
      const subscribe: Subscribe = (listener) => {
        onEvent = listener;
      };
      if (options.output === "json" || io.terminal === undefined || !canShowBoard(io.env)) {
        printEvents(io, options, running, subscribe);
        await interrupted;
      } else await runBoard(io, running, subscribe, interrupted);
    }
    await samples;
  } finally {
    stopWatching();
    eventLog.stop();
    await controller.stop();
  }
}

async function printOnce(io: CliIo, { output }: LocalOptions, running: RunningEnvironment): Promise<void> {
  const { environment, controller, startedMs, deadlineMs, signal } = running;
  const { clock } = io;
  const expected = {
    clusters: environment.clusters.map(({ name }) => name),
    placements: samplePlacements.map(({ metadata }) => metadata.name ?? ""),
    workloads: sampleWorkloads,
  };
  const missing = await waitUntilComplete(
    () => {
      const remaining = findMissing(readSnapshot(controller), expected);
      // Work that is still queued can change the result.
      return remaining.length === 0 && !controller.isSettled() ? ["controller: busy"] : remaining;
    },
    { clock, deadlineMs, signal },
  );
  const tookMs = clock.monotonicMs() - startedMs;
  if (output === "json") {
    const run = { workspace: demoWorkspace, kcp: environment.kcpUrl, tookMs, missing };
    io.out(formatDocument(snapshotDocument(readSnapshot(controller), run), "json"));
  } else {
    io.out(formatSnapshot(readSnapshot(controller), clock.now()));
    if (missing.length === 0) io.out(`\nEverything is settled after ${(tookMs / 1000).toFixed(2)} s.\n`);
  }
  if (missing.length > 0) throw new Error(`not ready after ${(tookMs / 1000).toFixed(0)} s: ${missing.join("; ")}`);
}

/** Polls until nothing is missing or the deadline passes; returns what is missing then. */
async function waitUntilComplete(
  missing: () => readonly string[],
  { clock, deadlineMs, signal }: Readonly<{ clock: Clock; deadlineMs: number; signal: AbortSignal }>,
): Promise<readonly string[]> {
  for (;;) {
    const remaining = missing();
    if (remaining.length === 0 || clock.monotonicMs() >= deadlineMs) return remaining;
    if (!(await delay(clock, pollIntervalMs, signal))) return remaining;
  }
}

/** Replaces each character beyond ASCII. */
function toAscii(text: string): string {
  return text.replaceAll("…", "...").replaceAll(/[^\n\x20-\x7e]/gu, "?");
}

type Subscribe = (listener: (event: LocalEvent) => void) => void;

function printEvents(io: CliIo, { output }: LocalOptions, running: RunningEnvironment, subscribe: Subscribe): void {
  const { environment, files, eventLog, startedMs } = running;
  const print = ({ timeMs, tone, subject, message }: LocalEvent): void => {
    const time = new Date(timeMs).toISOString();
    if (output === "json") io.out(`${JSON.stringify({ time, tone, subject, text: message })}\n`);
    else io.out(`${time.slice(11, 19)}  ${subject}: ${isUtf8(io.env) ? message : toAscii(message)}\n`);
  };
  if (output === "text") {
    io.out(
      formatWelcome(environment, formatHints(files, { folder: io.directory }), io.clock.monotonicMs() - startedMs),
    );
  }
  for (const event of eventLog.events) print(event);
  subscribe(print);
}

async function runBoard(
  io: CliIo,
  running: RunningEnvironment,
  subscribe: Subscribe,
  interrupted: Promise<void>,
): Promise<void> {
  const { terminal } = io;
  if (terminal === undefined) return;
  const { environment, files, controller, eventLog, startedMs } = running;
  const actions = createActions({
    environment,
    workspace: environment.client.at(`/clusters/${demoWorkspace}`),
    clock: io.clock,
    appendEvent: (subject, message) => eventLog.append({ tone: "plain", subject, message }),
  });
  const keysThat = (matches: (key: string) => boolean): string =>
    actions
      .map(({ key }) => key)
      .filter(matches)
      .join("/");
  const isLower = (key: string): boolean => key === key.toLowerCase();
  const bindings = [
    { key: "q", description: "quit", label: "quit" },
    { key: "h", description: "switch between help and events", label: "help" },
    { key: keysThat(isLower), description: "drain or uncordon a cluster", label: "drain" },
    { key: keysThat((key) => !isLower(key)), description: "disconnect or reconnect a cluster", label: "disconnect" },
  ].filter(({ key }) => key !== "");
  const state = (help: boolean): BoardState => ({
    workspace: demoWorkspace,
    upstream: `${environment.kcpName} ${environment.kcpUrl}`,
    startedMs: io.clock.now() - (io.clock.monotonicMs() - startedMs),
    registrations: readSnapshot(controller).registrations,
    placements: readSnapshot(controller).placements,
    workloads: snapshotWorkloads(readSnapshot(controller)),
    events: eventLog.events,
    queue: {
      depth: controller.queue.depth,
      inFlight: controller.queue.inFlight,
      delayed: controller.queue.delayed,
      failing: controller.queue.failing,
      deadLetters: controller.queue.deadLetters().length,
    },
    hints: formatHints(files, { folder: io.directory }),
    bindings,
    help,
  });
  const board = showBoard({
    output: terminal.output,
    input: terminal.input,
    color: usesColor(io.env),
    clock: io.clock,
    state,
    onKey: (key) => {
      const action = actions.find((each) => each.key === key);
      action?.run().catch((error: unknown) => {
        eventLog.append({
          tone: "bad",
          subject: "board",
          message: error instanceof Error ? error.message : String(error),
        });
      });
    },
    onQuit: terminal.interrupt,
    atExit: io.atExit,
  });
  subscribe(board.requestDraw);
  const stopListening = controller.cache.onChange(board.requestDraw);
  try {
    await interrupted;
  } finally {
    stopListening();
    board.end();
  }
}

const none: readonly never[] = [];

function readSnapshot({ cache, workloads, logicalClusters }: Controller): WorkspaceSnapshot {
  const cluster = logicalClusters[0]?.name ?? "";
  const types = (workloads?.types ?? none).filter((type) => !isClaimed(type));
  return {
    // The server validates objects, so a list of a kind contains objects of its type.
    registrations: cache.list("ClusterRegistration", cluster) as readonly unknown[] as readonly ClusterRegistration[],
    placements: cache.list("WorkloadPlacement", cluster) as readonly unknown[] as readonly WorkloadPlacement[],
    syncRecords: (workloads?.list(recordResource.type, cluster) ??
      none) as readonly unknown[] as readonly WorkloadSync[],
    workloads: types.flatMap((type) =>
      (workloads?.list(type.type, cluster) ?? none).map((object) => ({ type, object })),
    ),
    namespaces: workloads?.list(namespaceResource.type, cluster) ?? none,
  };
}
