import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandName } from "../../lib/cli/names.ts";
import { tmcVersion } from "../../lib/model/version.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-bin-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("the entry file of the command line", () => {
  /** Runs the entry file in a Node that says that it has another version. */
  const runWith = (version: string) => {
    const pretend = `Object.defineProperty(process.versions, "node", { value: "${version}" })`;
    const args = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`, join(root, "bin/tmc.ts"), "-V"];
    return run(process.execPath, args).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );
  };

  it.each(["18.20.8", "20.20.2", "22.18.0"])("says in one line that Node %s is too old", async (version) => {
    const stderr = `tmc requires Node 22.19 or later; this is v${version}\n`;
    expect(await runWith(version)).toEqual({ code: 1, stdout: "", stderr });
  });

  it.each(["22.19.0", "24.0.0"])("runs with Node %s", async (version) => {
    expect(await runWith(version)).toEqual({ code: 0, stdout: `${tmcVersion()}\n`, stderr: "" });
  });

  it("has no static imports as a bundle either, which an older Node would load before the first line", async () => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: { tmc: "bin/tmc.ts" },
      outdir: folder,
      bundle: true,
      splitting: true,
      packages: "external",
      platform: "node",
      format: "esm",
      write: false,
      metafile: true,
    });
    const [, entry] = Object.entries(metafile.outputs).find(([file]) => file.endsWith("/tmc.js")) ?? [];
    expect(entry?.imports.filter(({ kind }) => kind !== "dynamic-import")).toEqual([]);
    expect(entry?.imports.length).toBeGreaterThan(0);
  });
});

describe("the launcher ./tmc of a clone", () => {
  it("runs the command in the working directory, and prints nothing of its own", async () => {
    const { stdout, stderr } = await run(join(root, "tmc"), ["explain", "-f", "no-such-file.yaml"], {
      cwd: folder,
    }).catch((error: unknown) => error as { stdout: string; stderr: string });
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: expect.stringContaining("tmc: ") });
    expect(await run(join(root, "tmc"), ["-V"], { cwd: folder })).toEqual({ stdout: `${tmcVersion()}\n`, stderr: "" });
  });

  it("can be called by a symbolic link", async () => {
    await symlink(join(root, "tmc"), join(folder, "absolute"));
    await symlink("absolute", join(folder, "relative"));
    expect((await run(join(folder, "relative"), ["-V"])).stdout).toBe(`${tmcVersion()}\n`);
  });

  it("is the name of the command in the hints of a clone, and tmc in those of an installation", async () => {
    expect([commandName(), commandName(true)]).toEqual(["./tmc", "tmc"]);
    expect(await readFile(join(root, "tmc"), "utf8")).toMatch(/^#!\/bin\/sh\n/);
  });
});
