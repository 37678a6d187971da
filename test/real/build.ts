import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, open, readdir, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { withLock } from "./build-lock.ts";
import {
  buildName,
  type Component,
  cacheFolder,
  helmComponent,
  kcpComponent,
  kcpVersionNote,
  kubeallComponent,
  kubernetesVersion,
  luaComponent,
} from "./components.ts";
import { readTail, startSupervised } from "./supervised-process.ts";

/** What both Go modules ask for in their `go` lines. */
const neededGo = { major: 1, minor: 26 } as const;
const progressMs = 5_000;

/** The programs the harness runs. */
export type Binaries = Readonly<{ kcp: string; kubeall: string; kubectl: string }>;
/** Something a person has to put right; its message is one line and says what. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

export type Print = (line: string) => void;
const printToStderr: Print = (line) => process.stderr.write(`${line}\n`);

/**
 * Gives the real programs, building those that are not in the cache yet. With everything there it takes a moment; two
 * processes that ask at once do the work once. The signal ends a build, with all its processes.
 */
export async function ensureBuilt(print: Print = printToStderr, signal?: AbortSignal): Promise<Binaries> {
  const goVersion = await readGoVersion();
  const cache = cacheFolder();
  await mkdir(cache, { recursive: true, mode: 0o700 });
  // In sequence: one Go build alone uses every core.
  const kubeall = await ensureComponent(kubeallComponent, { cache, goVersion, print, signal });
  const kcp = await ensureComponent(kcpComponent, { cache, goVersion, print, signal });
  return { kcp: join(kcp, "kcp"), kubeall: join(kubeall, "kubeall"), kubectl: join(kubeall, "kubectl") };
}

/** Gives the path of Helm, building it if it is not in the cache yet. */
export const ensureHelm = (): Promise<string> => ensureProgram(helmComponent);

/** Gives the path of a Lua interpreter, building it if it is not in the cache yet. */
export const ensureLua = (): Promise<string> => ensureProgram(luaComponent);

async function ensureProgram(component: Component): Promise<string> {
  const goVersion = await readGoVersion();
  const cache = cacheFolder();
  await mkdir(cache, { recursive: true, mode: 0o700 });
  return join(await ensureComponent(component, { cache, goVersion, print: printToStderr }), component.name);
}

/** Asks the Go on PATH for its version; fails with one line that says what is needed. */
export async function readGoVersion(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const needed = `Go ${neededGo.major}.${neededGo.minor} or newer on PATH (the official toolchain, https://go.dev/dl)`;
  // Outside the modules and without fetching another toolchain, or an old Go would fail over the `go` line instead.
  const env = { ...environment, GOTOOLCHAIN: "local", GOWORK: "off" };
  const answer = await promisify(execFile)("go", ["env", "GOVERSION", "GOOS", "GOARCH"], { cwd: tmpdir(), env }).catch(
    (cause: unknown) => {
      throw new BuildError(`the real kcp and Kubernetes, and Helm, are built with Go: needs ${needed}; found none`, {
        cause,
      });
    },
  );
  const goVersion = answer.stdout.trim().split("\n").join(" ");
  const match = /^go(\d+)\.(\d+)/.exec(goVersion);
  const [major, minor] = [Number(match?.[1]), Number(match?.[2])];
  if (major > neededGo.major || (major === neededGo.major && minor >= neededGo.minor)) return goVersion;
  throw new BuildError(`the real kcp and Kubernetes, and Helm, are built with Go: needs ${needed}; found ${goVersion}`);
}

type BuildContext = Readonly<{ cache: string; goVersion: string; print: Print; signal?: AbortSignal | undefined }>;

async function ensureComponent(component: Component, context: BuildContext): Promise<string> {
  const folder = join(context.cache, await buildName(component, context.goVersion));
  if (await exists(folder)) return folder;

  let lastSaid = 0;
  const sayWaiting = (holder: string) => {
    if (Date.now() - lastSaid < progressMs) return;
    lastSaid = Date.now();
    context.print(`${component.name}: waiting for the build that runs in process ${holder}`);
  };
  const { signal } = context;
  return withLock(
    join(context.cache, "build.lock"),
    sayWaiting,
    async () => {
      if (await exists(folder)) return folder;
      await removeUnfinished(context.cache);
      const fresh = await mkdtemp(`${folder}.building-`);
      try {
        await compile(component, join(fresh, component.name), context);
        for (const name of component.links) await symlink(component.name, join(fresh, name));
        await rename(fresh, folder);
        return folder;
      } finally {
        await rm(fresh, { recursive: true, force: true });
      }
    },
    signal,
  );
}

/** What builds that were cut off have left; under the lock nobody works on it. */
async function removeUnfinished(cache: string): Promise<void> {
  const names = (await readdir(cache)).filter((name) => name.includes(".building-"));
  await Promise.all(names.map((name) => rm(join(cache, name), { recursive: true, force: true })));
}

async function compile(component: Component, output: string, { print, signal }: BuildContext): Promise<void> {
  signal?.throwIfAborted();
  const started = Date.now();
  const seconds = () => `${Math.round((Date.now() - started) / 1000)} s`;
  const logFile = `${output}.log`;
  print(`${component.name}: building (some minutes the first time, seconds when only relinking)`);
  const flags = ["-v", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", component.ldflags];
  const build = startSupervised({
    name: `go build ${component.name}`,
    command: "go",
    args: ["build", ...flags, "-o", output, component.package],
    cwd: component.folder,
    env: { CGO_ENABLED: "0", GOFLAGS: "", GOTOOLCHAIN: "local", GOWORK: "off" },
    logFile,
  });
  const progress = createProgress(logFile);
  const timer = setInterval(() => {
    void progress().then((step) => print(`${component.name}: ${seconds()}, ${step}`));
  }, progressMs);
  // Go ends at a signal, but not the compilers that it has started.
  const stop = () => void build.kill();
  signal?.addEventListener("abort", stop);
  const code = await build.exit.finally(() => clearInterval(timer));
  signal?.removeEventListener("abort", stop);
  signal?.throwIfAborted();
  if (code !== 0) {
    throw new Error(`real: build ${component.name}: go ended with ${build.ended()}\n${await readTail(logFile, 30)}`);
  }
  await rm(logFile);
  print(`${component.name}: built in ${seconds()}`);
}

/** Reads on in the output of `go build -v`: it names each module that it fetches and each package that it compiles. */
function createProgress(logFile: string): () => Promise<string> {
  let position = 0;
  let [modules, packages, last] = [0, 0, ""];
  return async () => {
    const file = await open(logFile, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(1 << 20), 0, 1 << 20, position);
      position += bytesRead;
      for (const line of buffer.toString("utf8", 0, bytesRead).split("\n")) {
        if (line.startsWith("go: downloading ")) modules += 1;
        else if (line !== "") [packages, last] = [packages + 1, line];
      }
    } finally {
      await file.close();
    }
    if (packages === 0)
      return modules === 0 ? "seeing what is compiled already, or linking" : `${modules} modules fetched`;
    const linking = /kcp\/cmd\/kcp$|\/cmd\/(?:helm|glua)$|^tmc\.kcp\.io\//.test(last);
    return linking ? `${packages} packages compiled, linking` : `${packages} packages compiled, at ${last}`;
  };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function main(): Promise<void> {
  try {
    const binaries = await ensureBuilt((line) => process.stdout.write(`${line}\n`));
    process.stdout.write(
      [
        `${binaries.kcp}`,
        `  ${kcpVersionNote}`,
        `${binaries.kubeall}`,
        `  Kubernetes ${kubernetesVersion}: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok`,
        "",
      ].join("\n"),
    );
  } catch (error) {
    process.stderr.write(`${error instanceof BuildError ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
