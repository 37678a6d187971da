import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeTmcPackage } from "../../scripts/tmc-package.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const built = join(root, "dist/package");

/** Upper limit of the unpacked package, which npx downloads before the first command. */
const mostBytes = 5 * 1024 * 1024;

type Manifest = Readonly<Record<string, unknown>>;
type Packed = Readonly<{ filename: string; unpackedSize: number; files: readonly { path: string }[] }>;

let folder: string;
let tarball: string;
let packed: Packed;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-package-"));
  const { stdout } = await npm("pack", built, "--json", "--pack-destination", folder);
  const [entry] = JSON.parse(stdout) as readonly Packed[];
  if (entry === undefined) throw new Error(`npm pack ${built} printed no package`);
  packed = entry;
  tarball = join(folder, packed.filename);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a program with the Node of this process, an empty npm cache, and a home and working directory of its own. */
async function run(program: string, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH ?? ""].join(delimiter),
    HOME: folder,
    npm_config_cache: join(folder, "cache"),
    npm_config_update_notifier: "false",
  };
  return promisify(execFile)(program, [...args], { cwd: folder, env });
}
const npm = (...args: readonly string[]) => run("npm", ...args);

async function readManifest(file: string): Promise<Manifest> {
  return JSON.parse(await readFile(file, "utf8")) as Manifest;
}

describe("the npm package of the command line", () => {
  it("contains the program, its README and the licenses, without source maps, functions or the relay", () => {
    const files = packed.files.map(({ path }) => path).toSorted();
    expect(files.filter((path) => !/^[\w-]+\.js$/.test(path))).toEqual([
      "LICENSE",
      "README.md",
      "THIRD-PARTY-LICENSES",
      "package.json",
    ]);
    expect(files).toContain("tmc.js");
    expect(files).not.toContain("relay.js");
  });

  it("is at most 5 MB unpacked", () => {
    expect(packed.unpackedSize).toBeLessThanOrEqual(mostBytes);
  });

  it("has the version of the project, both commands, and no dependencies or scripts", async () => {
    const [manifest, project] = await Promise.all([
      readManifest(join(built, "package.json")),
      readManifest(join(root, "package.json")),
    ]);
    const { gitHead: _, ...rest } = manifest;
    expect(rest).toEqual({
      name: "tmc",
      version: project.version,
      description: project.description,
      license: "Apache-2.0",
      type: "module",
      engines: { node: ">=22.19" },
      bin: { tmc: "tmc.js", "kubectl-tmc": "tmc.js" },
      files: ["*.js", "THIRD-PARTY-LICENSES"],
    });
  });

  it("names the commit that it was built from", async () => {
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "HEAD"], { cwd: root });
    const { gitHead } = await readManifest(join(built, "package.json"));
    expect(String(gitHead).replace("-dirty", "")).toBe(stdout.trim());
  });

  it("names a repository only if the build gets one", async () => {
    await writeTmcPackage(join(folder, "named"), "git+https://example.com/tmc.git");
    expect(await readManifest(join(folder, "named/package.json"))).toMatchObject({
      repository: { type: "git", url: "git+https://example.com/tmc.git" },
    });
  });

  it("lists the license of each bundled package, none of which requires a newer Node", async () => {
    const text = await readFile(join(built, "THIRD-PARTY-LICENSES"), "utf8");
    const names = [...text.matchAll(/^(?<name>\S+) \d+\.\d+\.\d+\S* \((?<license>\S+)\)$/gm)].map(
      ({ groups }) => groups,
    );
    expect(names.map((each) => each?.name)).toEqual(expect.arrayContaining(["undici", "commander", "js-yaml"]));
    expect(new Set(names.map((each) => each?.license))).toEqual(new Set(["Apache-2.0", "MIT"]));
    for (const { name = "" } of names.map((each) => each ?? {})) {
      const { engines } = await readManifest(join(root, "node_modules", name, "package.json"));
      const [, major = 0, minor = 0] = />=\s*(\d+)(?:\.(\d+))?/.exec(JSON.stringify(engines ?? {})) ?? [];
      expect([name, Number(major) * 100 + Number(minor) <= 2219]).toEqual([name, true]);
    }
  });
});

describe("the installed npm package", () => {
  const installed = (command: string): string => join(folder, "prefix/bin", command);
  beforeAll(async () => {
    await mkdir(join(folder, "prefix"));
    await npm("install", "--global", "--offline", "--prefix", join(folder, "prefix"), tarball);
  });

  it("consists of one package", async () => {
    const { stdout } = await npm("ls", "--global", "--all", "--parseable", "--prefix", join(folder, "prefix"));
    expect(stdout.trim().split("\n").slice(1)).toEqual([join(folder, "prefix/lib/node_modules/tmc")]);
  });

  it.each(["tmc", "kubectl-tmc"])("prints the version and the commands as %s", async (command) => {
    const { version } = await readManifest(join(root, "package.json"));
    expect((await run(installed(command), "--version")).stdout).toContain(String(version));
    const { stdout, stderr } = await run(installed(command), "--help");
    expect(stdout).toContain("tmc local");
    expect(stderr).toBe("");
  });

  it("runs tmc local until everything is ready", async () => {
    const { stdout } = await run(installed("tmc"), "local", "--once", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({ clusters: [{ name: "east" }, { name: "west" }] });
  });

  it("reads a kubeconfig with the bundled part of the library", async () => {
    const missing = await run(installed("tmc"), "cluster", "list", "--kubeconfig", "none.kubeconfig").catch(
      (error) => error,
    );
    expect(String(missing.stderr)).toMatch(/^tmc: kubeconfig "none\.kubeconfig".*\n$/);
  });

  it("runs with npx without an installation", async () => {
    const { stdout } = await run(
      "npx",
      "--offline",
      "--yes",
      "--package",
      tarball,
      "kubectl-tmc",
      "manifests",
      "--format",
      "crd",
    );
    expect(stdout).toContain("kind: CustomResourceDefinition");
  });
});

it("npm pack refuses to pack the clone, whose package.json has the dependencies of the development", async () => {
  const failure: unknown = await promisify(execFile)("npm", ["pack", "--dry-run"], { cwd: root }).catch(
    (error) => error,
  );
  expect(String(Object(failure).stderr)).toContain("npm run build:package && npm pack ./dist/package");
});
