import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePorts } from "../real/ports.ts";
import { eventually } from "../support/eventually.ts";
import { isShown, onlyReads, parsePage, type Step } from "./page.ts";
import { type Session, startSession } from "./session.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What the environments of a page are made of. */
export type PageServers = Readonly<{
  /** The program. */
  kubectl: string;
  /** Starts an empty kcp and two clusters, and writes kcp.kubeconfig, east.kubeconfig and west.kubeconfig into the folder. */
  startKcp(folder: string): Promise<Readonly<{ stop(): Promise<void> }>>;
  /** How long a read is repeated until it shows what the page does. */
  limitMs: number;
}>;

/** An output that the page does not show, and where in the page the shown one is. */
export type Difference = Readonly<{ line: number; command: string; shown: string; printed: string }>;

/** Reads a page of the repository. */
export const readPage = async (name: string): Promise<string> => readFile(join(root, name), "utf8");

/**
 * Runs every step of a page in order; returns how many commands there were. The first output that is not what the page shows is
 * an error, unless `onDifference` takes it.
 */
export async function runPage(
  name: string,
  servers: PageServers,
  onDifference?: (difference: Difference) => void,
): Promise<number> {
  const { steps, faults } = parsePage(await readPage(name));
  if (faults.length > 0) throw new Error(faults.map((fault) => `${name}:${fault}`).join("\n"));
  let session: Session | undefined;
  let runStep: RunStep | undefined;
  const stops: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  };
  try {
    for (const step of steps) {
      if (step.kind === "environment") {
        await stopAll();
        session = await startSession(servers.kubectl);
        stops.push(session.stop);
        if (step.name === "kcp") {
          const { stop } = await servers.startKcp(session.folder);
          stops.push(stop);
          await session.run("export KUBECONFIG=kcp.kubeconfig");
        }
        if (step.name === "local") await startLocal(session);
        runStep = await createRunStep(session, servers.limitMs, onDifference);
      } else {
        await runStep?.(step).catch((error: unknown) => {
          throw new Error(`${name}:${step.line}: ${error instanceof Error ? error.message : String(error)}`);
        });
      }
    }
  } finally {
    await stopAll();
  }
  return steps.filter(({ kind }) => kind === "command").length;
}

type RunStep = (step: Exclude<Step, { kind: "environment" }>) => Promise<void>;

async function createRunStep(
  session: Session,
  limitMs: number,
  onDifference: ((difference: Difference) => void) | undefined,
): Promise<RunStep> {
  // Other tests of the machine have controllers, too.
  const [metricsPort, healthPort] = await findFreePorts(2);
  const withFreePorts = (command: string): string =>
    command
      .replace(/\btmc controller (?!.*--help)/, `$&--metrics-port=${metricsPort} --health-port=${healthPort} `)
      .replace(/\blocalhost:8081\b/g, `localhost:${healthPort}`)
      .replace(/\blocalhost:8080\b/g, `localhost:${metricsPort}`);
  /** Repeats a read until its output is as shown. */
  const expectShown = async (
    step: Readonly<{ line: number; text: string }>,
    shown: string,
    read: (attempt: number) => Promise<string | undefined>,
  ): Promise<void> => {
    let attempt = 0;
    let printed = "";
    const end = performance.now() + limitMs;
    for (;;) {
      const output = await read(attempt);
      printed = output ?? printed;
      if (isShown(shown, printed)) return;
      attempt += 1;
      if (output === undefined || performance.now() > end) break;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    if (onDifference === undefined) {
      throw new Error(`$ ${step.text}\n\nthe page shows:\n${shown}\n\nit prints:\n${printed}`);
    }
    onDifference({ line: step.line, command: step.text, shown, printed });
  };
  return async (step) => {
    if (step.kind === "file") {
      await writeFile(join(session.folder, step.path), step.text);
      return;
    }
    if (step.kind === "manifest") {
      await writeFile(join(session.folder, "page-manifest.yaml"), step.text);
      const { code, output } = await session.run("kubectl apply --server-side --dry-run=server -f page-manifest.yaml");
      if (code !== 0) throw new Error(`the manifest is not accepted: ${output}`);
      return;
    }
    const command = withFreePorts(step.text);
    if (step.keepsRunning !== undefined) {
      const output = await session.start(command);
      const { keepsRunning, shown } = step;
      if (shown !== undefined && shown !== "") await expectShown(step, shown, output);
      await eventually(async () => {
        const text = await output();
        return text.includes(keepsRunning) ? undefined : `$ ${command} has not printed "${keepsRunning}": ${text}`;
      }, 60_000);
      return;
    }
    if (step.shown === undefined) {
      const { code, output } = await session.run(command);
      if (code !== 0) throw new Error(`$ ${command}\nexit code ${code}\n${output}`);
      return;
    }
    await expectShown(step, step.shown, async (attempt) =>
      attempt > 0 && !onlyReads(step.text) ? undefined : (await session.run(command)).output,
    );
  };
}

/** Starts `tmc local` beside the shell, as the pages tell a reader to. */
async function startLocal(session: Session): Promise<void> {
  const output = await session.start("tmc local");
  await eventually(async () => ((await output()).includes("are running") ? undefined : await output()), 60_000);
  await access(join(session.folder, ".tmc/kcp.kubeconfig"));
  await session.run("export KUBECONFIG=.tmc/kcp.kubeconfig");
}
