import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { type Controller, createController } from "../../controller/controller.ts";
import { createLog } from "../../observe/log.ts";
import { recordLane } from "../../upstream/watched-resources.ts";
import { showBoard } from "../board/board.ts";
import type { BoardState } from "../board/render.ts";
import type { CliIo } from "../cli-io.ts";
import { formatDocument } from "../output.ts";
import { type Chronicle, createChronicle } from "./chronicle.ts";
import { factsDocument, formatFacts, type LocalFacts, missingIn, workloadsIn } from "./facts.ts";
import { followRecords } from "./follow-records.ts";
import { type KubeconfigFiles, writeKubeconfigs } from "./kubeconfigs.ts";
import { createLevers } from "./levers.ts";
import { type News, workloadNews } from "./news.ts";
import { demoWorkspace, type LocalParts, startEmbeddedParts } from "./parts.ts";
import { startRealParts } from "./real-parts.ts";
import {
  createSampleApplication,
  createSamplePlacements,
  createSampleRegistrations,
  samplePlacements,
  sampleWorkloads,
} from "./samples.ts";
import { formatWelcome, hintsFor } from "./welcome.ts";

export type LocalOptions = Readonly<{ dir?: string; once?: true; real?: true; output: "text" | "json" }>;

/** Quick enough that a person sees a heartbeat; a controller in earnest is calmer. */
const settings = { heartbeatSeconds: 5, heartbeatWriteSeconds: 5, resyncSeconds: 30 };
const lookEveryMs = 10;
/** How long everything may take to settle: counted from the start, and for real parts from when they run. */
const settleSeconds = { embedded: 10, real: 60 } as const;

/** Everything that runs, as those who show it see it. */
type Running = Readonly<{
  parts: LocalParts;
  files: KubeconfigFiles;
  controller: Controller;
  chronicle: Chronicle;
  beganMs: number;
  /** When everything should have settled. */
  untilMs: number;
  signal: AbortSignal;
}>;

/** Brings everything up, shows it until it is asked to end (or is settled, with `once`), and takes it down. */
export async function runLocal(io: CliIo, options: LocalOptions): Promise<void> {
  const { clock } = io;
  const beganMs = clock.now();
  const ending = new AbortController();
  const interrupted = io.untilInterrupted().then(() => ending.abort());
  const temporary =
    options.dir === undefined && options.once === true ? await mkdtemp(join(tmpdir(), "tmc-")) : undefined;
  const isReal = options.real === true;
  try {
    const parts = isReal
      ? await startRealParts((line) => io.err(`${line}\n`), ending.signal)
      : await startEmbeddedParts();
    try {
      const files = await writeKubeconfigs(parts, options.dir ?? temporary ?? ".tmc");
      try {
        await runParts(io, options, {
          parts,
          files,
          interrupted,
          beganMs: isReal ? clock.now() : beganMs,
          signal: ending.signal,
        });
      } finally {
        await files.remove();
      }
    } finally {
      await parts.stop();
    }
  } catch (error) {
    if (!ending.signal.aborted) throw error; // otherwise it only failed because it was to end
  } finally {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  }
  if (options.once !== true && options.output === "text") {
    io.out("stopped; nothing is left running, and nothing was kept\n");
  }
}

async function runParts(
  io: CliIo,
  options: LocalOptions,
  given: Readonly<{
    parts: LocalParts;
    files: KubeconfigFiles;
    interrupted: Promise<void>;
    beganMs: number;
    signal: AbortSignal;
  }>,
): Promise<void> {
  const { parts, files, interrupted, beganMs, signal } = given;
  const { clock } = io;
  const workspace = parts.client.at(`/clusters/${demoWorkspace}`);
  const clusterNames = parts.clusters.map(({ name }) => name);
  await createSampleRegistrations(workspace, clusterNames);
  let onNews = (_: News): void => {};
  const warnings = createLog({
    level: 1,
    format: "text",
    clock,
    write: (line) => {
      // Without the time and the severity, which the news have themselves.
      const text = line.trim().replace(/^\S+ \S+ +/, "");
      // What its objects tell anyway is not told twice.
      if (!text.startsWith("cluster changed")) chronicle.note({ tone: "bad", subject: "controller", text });
    },
  });
  const controller = createController({
    client: parts.client,
    workspaces: [demoWorkspace],
    clusterKubeconfigs: files.clusters,
    settings,
    clock,
    log: warnings,
  });
  const chronicle = createChronicle(controller.cache, clock, (news) => onNews(news));
  const stopFollowing = followRecords({
    list: () => factsOf(controller).records,
    clock,
    onChange: (before, after) => {
      const told = workloadNews(before, after);
      if (told !== undefined) chronicle.note(told);
    },
  });
  const untilMs = beganMs + (options.real === true ? settleSeconds.real : settleSeconds.embedded) * 1000;
  const running: Running = { parts, files, controller, chronicle, beganMs, untilMs, signal };
  try {
    await controller.start();
    // First the clusters, so that placements have something to choose from.
    const unready = (): readonly string[] =>
      missingIn(factsOf(controller), { clusters: clusterNames, placements: [], workloads: [] });
    const sampled = untilNothingIsMissing(unready, { clock, untilMs, signal })
      .then(() => createSamplePlacements(workspace))
      .then(() => createSampleApplication(workspace))
      .catch((error: unknown) => {
        if (!signal.aborted) warnings.warn("samples were not created", { error });
      });
    if (options.once === true) await showOnce(io, options, running);
    else {
      const show = (listener: (news: News) => void): void => {
        onNews = listener;
      };
      if (options.output === "json" || io.terminal === undefined) {
        showLines(io, options, running, show);
        await interrupted;
      } else await showOnBoard(io, running, show, interrupted);
    }
    await sampled;
  } finally {
    stopFollowing();
    chronicle.stop();
    await controller.stop();
  }
}

async function showOnce(io: CliIo, { output }: LocalOptions, running: Running): Promise<void> {
  const { parts, controller, beganMs, untilMs, signal } = running;
  const { clock } = io;
  const expected = {
    clusters: parts.clusters.map(({ name }) => name),
    placements: samplePlacements.map(({ metadata }) => metadata.name ?? ""),
    workloads: sampleWorkloads,
  };
  const missing = await untilNothingIsMissing(
    () => {
      const left = missingIn(factsOf(controller), expected);
      // A change may still be on its way from one object to another.
      return left.length === 0 && !controller.isSettled() ? ["the controller: still at work"] : left;
    },
    { clock, untilMs, signal },
  );
  const tookMs = clock.now() - beganMs;
  if (output === "json") {
    const run = { workspace: demoWorkspace, kcp: parts.kcpUrl, tookMs, missing };
    io.out(formatDocument(factsDocument(factsOf(controller), run), "json"));
  } else {
    io.out(formatFacts(factsOf(controller), clock.now()));
    if (missing.length === 0) io.out(`\nsettled after ${(tookMs / 1000).toFixed(2)} s\n`);
  }
  if (missing.length > 0) throw new Error(`not settled after ${(tookMs / 1000).toFixed(0)} s: ${missing.join("; ")}`);
}

/** Looks until nothing is missing or the time is over; answers what is missing then. */
async function untilNothingIsMissing(
  missing: () => readonly string[],
  { clock, untilMs, signal }: Readonly<{ clock: Clock; untilMs: number; signal: AbortSignal }>,
): Promise<readonly string[]> {
  for (;;) {
    const left = missing();
    if (left.length === 0 || clock.now() >= untilMs) return left;
    if (!(await delay(clock, lookEveryMs, signal))) return left;
  }
}

type Show = (listener: (news: News) => void) => void;

function showLines(io: CliIo, { output }: LocalOptions, running: Running, show: Show): void {
  const { parts, files, chronicle, beganMs } = running;
  const print = ({ atMs, tone, subject, text }: News): void => {
    const time = new Date(atMs).toISOString();
    if (output === "json") io.out(`${JSON.stringify({ time, tone, subject, text })}\n`);
    else io.out(`${time.slice(11, 19)}  ${subject}: ${text}\n`);
  };
  if (output === "text") {
    io.out(formatWelcome(parts, hintsFor(files, process.cwd()), io.clock.now() - beganMs));
  }
  for (const news of chronicle.news) print(news);
  show(print);
}

async function showOnBoard(io: CliIo, running: Running, show: Show, interrupted: Promise<void>): Promise<void> {
  const { terminal } = io;
  if (terminal === undefined) return;
  const { parts, files, controller, chronicle, beganMs } = running;
  const levers = createLevers({
    parts,
    workspace: parts.client.at(`/clusters/${demoWorkspace}`),
    clock: io.clock,
    note: (subject, text) => chronicle.note({ tone: "plain", subject, text }),
  });
  const letters = (wanted: (key: string) => boolean): string =>
    levers
      .map(({ key }) => key)
      .filter(wanted)
      .join("/");
  const isLower = (key: string): boolean => key === key.toLowerCase();
  const keys = [
    { key: "q", does: "quit", short: "quit" },
    { key: "h", does: "show this, or what happened lately", short: "help" },
    { key: letters(isLower), does: "drain a cluster, or let work back in", short: "drain" },
    { key: letters((key) => !isLower(key)), does: "cut a cluster off, or reconnect it", short: "cut off" },
  ].filter(({ key }) => key !== "");
  const state = (help: boolean): BoardState => ({
    workspace: demoWorkspace,
    kcpUrl: parts.kcpUrl,
    sinceMs: beganMs,
    clusters: factsOf(controller).clusters,
    placements: factsOf(controller).placements,
    workloads: workloadsIn(factsOf(controller)),
    news: chronicle.news,
    queue: {
      depth: controller.queue.depth,
      inFlight: controller.queue.inFlight,
      waiting: controller.queue.waiting,
      failing: controller.queue.failing,
      setAside: controller.queue.setAside().length,
    },
    hints: hintsFor(files, process.cwd()),
    keys,
    help,
  });
  const board = showBoard({
    output: terminal.output,
    input: terminal.input,
    color: !io.env.NO_COLOR,
    clock: io.clock,
    state,
    onKey: (key) => {
      const lever = levers.find((each) => each.key === key);
      lever?.pull().catch((error: unknown) => {
        chronicle.note({ tone: "bad", subject: "board", text: error instanceof Error ? error.message : String(error) });
      });
    },
    onQuit: terminal.interrupt,
    atExit: terminal.atExit,
  });
  show(board.changed);
  const stopListening = controller.cache.onChange(board.changed);
  try {
    await interrupted;
  } finally {
    stopListening();
    board.end();
  }
}

const none: readonly never[] = [];

function factsOf({ cache, workloads, clusters }: Controller): LocalFacts {
  const cluster = clusters[0]?.name ?? "";
  return {
    // What the server serves of each kind has that kind's form.
    clusters: cache.list("ClusterRegistration", cluster) as readonly unknown[] as readonly ClusterRegistration[],
    placements: cache.list("WorkloadPlacement", cluster) as readonly unknown[] as readonly WorkloadPlacement[],
    records: (workloads?.list(recordLane.type, cluster) ?? none) as readonly unknown[] as readonly WorkloadSync[],
  };
}
