import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const names = ["kube", "embedded"] as const;

type Manifest = Readonly<{ dependencies: Readonly<Record<string, string>> }>;

/** A project outside the clone in which both built packages are installed, with their declared dependencies and nothing else. */
let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "tmc-packages-"));
  for (const name of names) await installPackage(name);
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module", private: true }));
});
afterAll(() => rm(project, { recursive: true, force: true }));

async function installPackage(name: string): Promise<void> {
  const built = join(root, "packages", name, "dist");
  const { stdout } = await run("npm", ["pack", built, "--json", "--pack-destination", project]);
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const target = join(project, "node_modules/@tmc", name);
  await mkdir(target, { recursive: true });
  await run("tar", ["--extract", "--strip-components=1", "--file", join(project, filename), "--directory", target]);
  const { dependencies } = JSON.parse(await readFile(join(target, "package.json"), "utf8")) as Manifest;
  for (const dependency of Object.keys(dependencies).filter((each) => !each.startsWith("@tmc/"))) {
    const link = join(project, "node_modules", dependency);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", dependency), link).catch((error: unknown) => {
      // Both packages depend on js-yaml.
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    });
  }
}

/** The TypeScript examples in the README of a built package. */
async function examplesOf(name: string): Promise<readonly string[]> {
  const page = await readFile(join(project, "node_modules/@tmc", name, "README.md"), "utf8");
  return [...page.matchAll(/^```ts\n(?<code>.*?)^```$/gms)].map(({ groups }) => groups?.code ?? "");
}

describe.each(names)("the npm package @tmc/%s", (name) => {
  it("contains JavaScript with declarations, and no TypeScript sources", async () => {
    const { stdout } = await run("npm", ["pack", join(root, "packages", name, "dist"), "--json", "--dry-run"]);
    const [{ files }] = JSON.parse(stdout) as [{ files: readonly { path: string }[] }];
    const paths = files.map(({ path }) => path);
    expect(paths.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(paths.filter((path) => path.endsWith(".js")).length).toBeGreaterThan(10);
  });

  it("runs the examples of its README outside the clone", async () => {
    const examples = await examplesOf(name);
    expect(examples.length).toBeGreaterThan(0);
    for (const code of examples) {
      // Fails with the output of the example if its exit code is not 0.
      await run(process.execPath, ["--input-type=module-typescript", "--eval", code], {
        cwd: project,
        timeout: 30_000,
      });
    }
  });

  it("type-checks the examples of its README with its declarations", async () => {
    const examples = await examplesOf(name);
    await Promise.all(examples.map((code, at) => writeFile(join(project, `${name}-${at}.ts`), code)));
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "esnext.disposable"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
    };
    const config = join(project, `tsconfig.${name}.json`);
    await writeFile(config, JSON.stringify({ compilerOptions, include: [`${name}-*.ts`] }));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "--project", config]).catch((error) => error);
    expect(stdout).toBe("");
  });
});
