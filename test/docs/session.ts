import { execFileSync } from "node:child_process";
import { access, appendFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type SupervisedProcess, startSupervised } from "../real/supervised-process.ts";
import { eventually } from "../support/eventually.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const commandLimitMs = 120_000;

/** What a command printed on both streams, and its exit code. */
export type Ran = Readonly<{ code: number; output: string }>;

/** A shell in a folder that has the content of the clone, and in which the commands of a page run one after the other. */
export type Session = Readonly<{
  /** A page writes its files here; the files of the clone are links. */
  folder: string;
  run(command: string): Promise<Ran>;
  /** Starts a command that keeps running; returns a function that reads its output so far. */
  start(command: string): Promise<() => Promise<string>>;
  /** Ends everything that the session has started, and removes its files. */
  stop(): Promise<void>;
}>;

/** Runs one file after the other in the same shell; each has an output of its own, to which its background jobs keep writing. */
const driver = `
shopt -s expand_aliases
while IFS= read -r id <&3; do
  . "$1/$id.sh" > "$1/$id.out" 2>&1 3<&- </dev/null
  echo $? > "$1/$id.code.new"
  mv "$1/$id.code.new" "$1/$id.code"
done 3<> "$1/commands"
`;

export async function startSession(kubectl: string): Promise<Session> {
  const base = await mkdtemp(join(tmpdir(), "tmc-page-"));
  const [folder, programs, work] = ["clone", "bin", "work"].map((name) => join(base, name)) as [string, string, string];
  for (const each of [folder, programs, work]) await mkdir(each);
  await symlink(kubectl, join(programs, "kubectl"));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${join(root, "bin/tmc.ts")}' "$@"\n`;
  await writeFile(join(programs, "tmc"), program, { mode: 0o755 });
  // Not the launcher of the clone, which has a test of its own and would check the installed packages at each command.
  await symlink(join(programs, "tmc"), join(folder, "tmc"));
  for (const name of await readdir(root)) {
    const isLinked = !name.startsWith(".") && !name.endsWith(".kubeconfig") && name !== "tmc";
    if (isLinked) await symlink(join(root, name), join(folder, name));
  }
  await writeFile(join(work, "driver.sh"), driver);
  execFileSync("mkfifo", [join(work, "commands")]);
  const shell = startSupervised({
    name: "page",
    command: "bash",
    args: [join(work, "driver.sh"), work],
    logFile: join(work, "driver.log"),
    cwd: folder,
    env: {
      PATH: `${programs}:${process.env.PATH ?? ""}`,
      HOME: base,
      KUBECACHEDIR: join(base, "cache"),
      KUBECONFIG: undefined,
      // Reports of test coverage and options of the test runner are not for its children.
      NODE_OPTIONS: undefined,
      NODE_V8_COVERAGE: undefined,
    },
  });
  let count = 0;
  const send = async (command: string): Promise<string> => {
    count += 1;
    await writeFile(join(work, `${count}.sh`), `${command}\n`);
    await appendFile(join(work, "commands"), `${count}\n`);
    return join(work, String(count));
  };
  return {
    folder,
    run: async (command) => {
      const files = await send(command);
      await eventually(async () => waitFor(files, shell), commandLimitMs);
      const code = Number(await readFile(`${files}.code`, "utf8"));
      return { code, output: await readFile(`${files}.out`, "utf8") };
    },
    start: async (command) => {
      const log = join(work, `background-${count}.log`);
      await writeFile(log, "");
      await send(`{ ${command}\n} > '${log}' 2>&1 &`);
      return () => readFile(log, "utf8");
    },
    stop: async () => {
      await shell.kill();
      await rm(base, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function waitFor(files: string, shell: SupervisedProcess): Promise<string | undefined> {
  const exists = await access(`${files}.code`).then(
    () => true,
    () => false,
  );
  if (exists) return undefined;
  if (shell.ended() !== undefined) throw new Error(`the shell ended: ${shell.ended()}`);
  return `no end yet; printed so far: ${await readFile(`${files}.out`, "utf8").catch(() => "nothing")}`;
}
