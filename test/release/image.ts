import { execFile } from "node:child_process";
import { chmod, copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type SupervisedProcess, startSupervised } from "../real/supervised-process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Targets of the Dockerfile that become images. */
export const imageTargets = ["relay", "controller"] as const;
export type ImageTarget = (typeof imageTargets)[number];

/** What the Dockerfile says of a target, together with the stages that it is based on. */
export type Image = Readonly<{
  /** The reference of the first base. */
  base: string;
  copies: readonly Readonly<{ from: string; to: string }>[];
  env: Readonly<Record<string, string>>;
  workdir: string;
  user: string;
  ports: readonly string[];
  entrypoint: readonly string[];
  command: readonly string[];
  healthCheck: readonly string[];
}>;

type Instruction = Readonly<{ name: string; rest: string }>;

/** The instructions of the stages of a Dockerfile, by the name of the stage, in the order of the file. */
export function parseStages(text: string): ReadonlyMap<string, readonly Instruction[]> {
  const stages = new Map<string, Instruction[]>();
  let stage: Instruction[] = [];
  for (const line of text.replaceAll(/\\\n\s*/g, "").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, name = "", rest = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (name === "FROM") {
      stage = [];
      stages.set(/ AS (\S+)$/.exec(rest)?.[1] ?? "", stage);
    }
    stage.push({ name, rest: rest.replace(/ AS \S+$/, "") });
  }
  return stages;
}

/** Returns the image of a target. An instruction that this function does not know is an error: nothing is left out. */
export function parseImage(text: string, target: string): Image {
  const stages = parseStages(text);
  const own = stages.get(target);
  if (own === undefined) throw new Error(`Dockerfile: no target ${target}`);
  const from = own.find(({ name }) => name === "FROM")?.rest ?? "";
  const image: Image = stages.has(from)
    ? parseImage(text, from)
    : {
        base: from,
        copies: [],
        env: {},
        workdir: "/",
        user: "0:0",
        ports: [],
        entrypoint: [],
        command: [],
        healthCheck: [],
      };
  return own.reduce(withInstruction, image);
}

function withInstruction(image: Image, { name, rest }: Instruction): Image {
  switch (name) {
    case "FROM":
    case "STOPSIGNAL":
      return image;
    case "ENV": {
      const [variable = "", value = ""] = rest.split("=");
      return { ...image, env: { ...image.env, [variable]: value } };
    }
    case "WORKDIR":
      return { ...image, workdir: rest };
    case "USER":
      return { ...image, user: rest };
    case "EXPOSE":
      return { ...image, ports: rest.split(" ") };
    case "COPY": {
      const [source = "", destination = "", ...others] = rest.split(" ");
      if (others.length > 0 || source.startsWith("--")) throw new Error(`Dockerfile: unexpected COPY ${rest}`);
      return { ...image, copies: [...image.copies, { from: source, to: destination }] };
    }
    case "ENTRYPOINT":
      // As Docker does: a new entry point has none of the arguments of the base.
      return { ...image, entrypoint: argumentsOf(rest), command: [] };
    case "CMD":
      return { ...image, command: argumentsOf(rest) };
    case "HEALTHCHECK":
      return { ...image, healthCheck: argumentsOf(rest.slice(rest.indexOf("CMD ") + 4)) };
    default:
      throw new Error(`Dockerfile: unexpected instruction ${name}`);
  }
}

/** The arguments of a command in exec form. */
const argumentsOf = (text: string): readonly string[] => (JSON.parse(text) as readonly unknown[]).map(String);

export const readDockerfile = (): Promise<string> => readFile(join(root, "Dockerfile"), "utf8");

/** An image whose root file system is a folder. */
export type AssembledImage = Readonly<{
  image: Image;
  folder: string;
  /** The path of a file inside the image. */
  path(file: string): string;
  /** Runs a command to its end. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<{ stdout: string; stderr: string }>;
  /** Starts the entry point with arguments, which replace those of CMD. */
  start(
    args: readonly string[],
    options: Readonly<{ logFile: string; env?: Readonly<Record<string, string>> }>,
  ): SupervisedProcess;
}>;

/**
 * Assembles the root file system of a target in a folder: of the base Node, the shared libraries that it needs, and its users; then
 * what COPY copies. `files` are mounted into a container, such as a kubeconfig.
 *
 * As root, programs run in this file system alone, mounted read-only, as the user of the image. Other users cannot change the root
 * directory: there, the programs run in the folder, which they may not write to, and see the files of the machine as well.
 */
export async function assembleImage(
  target: ImageTarget,
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<AssembledImage> {
  const image = parseImage(await readDockerfile(), target);
  const isolated = process.getuid?.() === 0;
  for (const each of [process.execPath, ...(isolated ? await sharedLibraries(process.execPath) : [])]) {
    const to = join(folder, each === process.execPath ? "/usr/local/bin/node" : each);
    await mkdir(dirname(to), { recursive: true });
    await copyFile(each, to);
  }
  const users = "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\n";
  for (const [path, content] of Object.entries({ "/etc/passwd": users, ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  for (const { from, to } of image.copies) await cp(join(root, from), join(folder, to), { recursive: true });
  for (const each of ["home/node", "proc", "tmp"]) await mkdir(join(folder, each), { recursive: true });
  await chmod(folder, 0o755);
  if (!isolated) await promisify(execFile)("chmod", ["-R", "a-w", folder]);

  const path = (file: string): string => (isolated ? file : join(folder, file));
  const command = (args: readonly string[], env: Readonly<Record<string, string>> = {}): readonly string[] => {
    // A container has no environment variables of the machine. The PATH is that of the base.
    const folders = ["/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    const PATH = [path("/usr/local/bin"), ...folders].join(":");
    const variables = { PATH, HOME: path("/home/node"), TMPDIR: path("/tmp"), ...image.env, ...env };
    const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const own = args.map((each) => (each.startsWith(`${image.workdir}/`) ? path(each) : each));
    const isolation = isolated ? ["unshare", "--mount", "sh", "-ec", isolate, "sh", folder, image.user] : [];
    return ["--ignore-environment", ...assignments, ...isolation, ...own];
  };
  return {
    image,
    folder,
    path,
    run: (args, env) => promisify(execFile)("env", command(args, env)),
    start: (args, { logFile, env }) =>
      startSupervised({ name: target, command: "env", args: command([...image.entrypoint, ...args], env), logFile }),
  };
}

/** Runs a command as a user in a folder that is mounted read-only as the root, with the processes of the machine. */
const isolate = `
folder=$1 user=$2
shift 2
mount --bind "$folder" "$folder"
mount --rbind /proc "$folder/proc"
mount -o remount,ro,bind "$folder"
exec chroot --userspec="$user" "$folder" "$@"
`;

async function sharedLibraries(program: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)("ldd", [program]);
  return [...stdout.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, file = ""]) => file);
}
