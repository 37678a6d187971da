import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { BuildError, ensureBuilt } from "./build.ts";
import { startCluster } from "./cluster.ts";
import { kcpVersionNote, kubernetesVersion } from "./components.ts";
import { startKcp } from "./kcp.ts";
import type { ServerGroup } from "./server-group.ts";

const print = (line: string) => process.stdout.write(`${line}\n`);
const demoPath = "root:demo";

/** A server that runs, and the kubeconfig that is written for it. */
type Running = Readonly<{ name: string; group: ServerGroup; kubeconfig: string }>;

/** Starts something, says every few seconds that it still does, and how long it took in the end. */
async function withProgress<T>(name: string, start: () => Promise<T>): Promise<T> {
  const began = Date.now();
  const seconds = () => `${((Date.now() - began) / 1000).toFixed(1)} s`;
  const timer = setInterval(() => print(`${name}: starting, ${seconds()}`), 5_000);
  try {
    const started = await start();
    print(`${name}: ready after ${seconds()}`);
    return started;
  } finally {
    clearInterval(timer);
  }
}

async function startAll(signal: AbortSignal, onStarted: (server: Running) => void): Promise<string> {
  const binaries = await ensureBuilt(print);
  const starts = [
    withProgress("kcp", async () => {
      const kcp = await startKcp({ binaries, signal });
      const contexts = { demo: demoPath, root: "root" };
      onStarted({ name: "kcp", group: kcp.group, kubeconfig: kcp.formatKubeconfig(contexts) });
      await kcp.createWorkspace(demoPath);
    }),
    ...["east", "west"].map((name) =>
      withProgress(name, async () => onStarted(await startCluster({ name, binaries, signal }))),
    ),
  ];
  const failed = (await Promise.allSettled(starts)).find((start) => start.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return binaries.kubectl;
}

function formatHelp(kubectl: string, folder: string): string {
  const file = (name: string) => relative(process.cwd(), join(folder, `${name}.kubeconfig`));
  return [
    "",
    kcpVersionNote,
    `Kubernetes ${kubernetesVersion}; nodes and pods are kwok's: they turn ready, nothing runs in them`,
    "",
    `  ${file("kcp")}    workspace ${demoPath} (context demo, the current one) and root (context root)`,
    `  ${file("east")}   ${file("west")}`,
    "",
    "Try, with the kubectl of the same version:",
    "",
    `  alias kubectl=${kubectl}`,
    `  kubectl --kubeconfig ${file("kcp")} --context root get workspaces`,
    `  kubectl --kubeconfig ${file("kcp")} create configmap hello --from-literal=from=kcp`,
    `  kubectl --kubeconfig ${file("east")} create deployment web --image=web --replicas=3`,
    `  kubectl --kubeconfig ${file("east")} get pods -o wide`,
    "",
    "Ctrl-C ends it all; nothing is kept.",
  ].join("\n");
}

/** Keeps a kcp with clusters east and west running until Ctrl-C; answers the exit code. */
async function runUntilInterrupted(folder: string): Promise<number> {
  const interrupt = new AbortController();
  const onSignal = () => {
    if (interrupt.signal.aborted) process.exit(130); // what still runs ends with us
    print("\nending; Ctrl-C again to end at once");
    interrupt.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);

  const servers: Running[] = [];
  let code = 0;
  try {
    const kubectl = await startAll(interrupt.signal, (server) => servers.push(server));
    await mkdir(folder, { recursive: true });
    for (const { name, kubeconfig } of servers) {
      await writeFile(join(folder, `${name}.kubeconfig`), kubeconfig, { mode: 0o600 });
    }
    print(formatHelp(kubectl, folder));
    const interrupted = Promise.withResolvers<undefined>();
    interrupt.signal.addEventListener("abort", () => interrupted.resolve(undefined));
    if (interrupt.signal.aborted) interrupted.resolve(undefined);
    const crash = await Promise.race([interrupted.promise, ...servers.map(waitForCrash)]);
    if (crash !== undefined) throw new Error(crash);
  } catch (error) {
    if (!interrupt.signal.aborted) {
      process.stderr.write(`${error instanceof BuildError ? error.message : String(error)}\n`);
      code = 1;
    }
  }
  await Promise.all(servers.map(({ group }) => group.stop()));
  await Promise.all(servers.map(({ name }) => rm(join(folder, `${name}.kubeconfig`), { force: true })));
  return code;
}

async function waitForCrash({ name, group }: Running): Promise<string> {
  return Promise.race(
    group.processes.map(async (member) => {
      await member.exit;
      return `${name}: ${member.name} ended by itself with ${member.ended()}`;
    }),
  );
}

const defaultFolder = fileURLToPath(new URL("../../.tmc/real", import.meta.url));
process.exitCode = await runUntilInterrupted(process.argv[2] ?? defaultFolder);
