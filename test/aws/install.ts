import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BuildError, type Print } from "../real/build.ts";
import { withLock } from "../real/build-lock.ts";
import { cacheFolder } from "../real/components.ts";

const run = promisify(execFile);
const requirements = fileURLToPath(new URL("tools/requirements.txt", import.meta.url));
/** The emulator starts from here. */
export const launcher = fileURLToPath(new URL("tools/launcher.py", import.meta.url));

/** The oldest Python that the emulator runs on. */
const neededPython = { major: 3, minor: 10 } as const;

const printToStderr: Print = (line) => process.stderr.write(`${line}\n`);

/**
 * Gives the Python that has the pinned emulator, installing it into an environment of its own where that is not there
 * yet. Every package is checked against its hash; two processes that ask at once do the work once.
 */
export async function ensureInstalled(print: Print = printToStderr): Promise<string> {
  const version = await readPythonVersion();
  const cache = cacheFolder();
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const hash = createHash("sha256").update(await readFile(requirements));
  const folder = join(cache, `ministack-${hash.update(version).digest("hex").slice(0, 16)}`);
  const python = join(folder, "bin", "python");
  if (await exists(folder)) return python;
  await withLock(
    join(cache, "aws.lock"),
    () => {},
    async () => {
      if (await exists(folder)) return;
      print("ministack: installing (some ten seconds, once)");
      // An environment may be moved as long as its own scripts are not used, which name the folder they were made in.
      const fresh = await mkdtemp(`${folder}.building-`);
      try {
        await run("python3", ["-m", "venv", fresh], { cwd: tmpdir() });
        const flags = ["--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", requirements];
        await run(join(fresh, "bin", "python"), ["-m", "pip", "install", ...flags], { cwd: tmpdir() });
        await rename(fresh, folder);
      } finally {
        await rm(fresh, { recursive: true, force: true });
      }
    },
  );
  return python;
}

/** Asks the Python on PATH for its version; fails with one line that says what is needed. */
export async function readPythonVersion(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const needed = `Python ${neededPython.major}.${neededPython.minor} or newer on PATH, with venv`;
  const answer = await run("python3", ["--version"], { cwd: tmpdir(), env: environment }).catch((cause: unknown) => {
    throw new BuildError(`the local AWS endpoint runs on Python: needs ${needed}; found none`, { cause });
  });
  const version = answer.stdout.trim();
  const match = /^Python (\d+)\.(\d+)/.exec(version);
  const [major, minor] = [Number(match?.[1]), Number(match?.[2])];
  if (major > neededPython.major || (major === neededPython.major && minor >= neededPython.minor)) return version;
  throw new BuildError(`the local AWS endpoint runs on Python: needs ${needed}; found ${version}`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
