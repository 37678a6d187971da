import { execFile } from "node:child_process";
import { access, appendFile, chmod, cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureBuilt, readGoVersion } from "./build.ts";
import { buildName, cacheFolder, kcpComponent, kubeallComponent } from "./components.ts";

const run = promisify(execFile);
const buildScript = fileURLToPath(new URL("build.ts", import.meta.url));
const oneLineNeed =
  /^the real kcp and Kubernetes, and Helm, are built with Go: needs Go 1\.26 or newer on PATH \(.*\); found (.*)$/;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-build-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A PATH on which `go` is a script that claims this version. */
async function putGoOnPath(version: string): Promise<NodeJS.ProcessEnv> {
  const go = join(folder, "go");
  await writeFile(go, `#!/bin/sh\nprintf '%s\\nlinux\\namd64\\n' ${version}\n`);
  await chmod(go, 0o755);
  return { PATH: `${folder}:/usr/bin:/bin` };
}

describe("real:build", () => {
  it("fails with one line that names the required Go version when Go is missing", async () => {
    const failure: unknown = await run(process.execPath, [buildScript], { env: { PATH: folder } }).catch((e) => e);
    expect(failure).toMatchObject({ code: 1, stdout: "" });
    const stderr = String(Object(failure).stderr);
    expect(stderr.trimEnd()).toMatch(oneLineNeed);
    expect(stderr).toContain("found none");
  });

  it.each(["go1.25.9", "go1.9", "devel"])("says in one line what is needed when Go is %s", async (version) => {
    const failure: unknown = await readGoVersion(await putGoOnPath(version)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(oneLineNeed.exec(Object(failure).message)?.[1]).toContain(version);
  });

  it.each(["go1.26.0", "go1.26rc1", "go1.30.2", "go2.0"])("takes %s", async (version) => {
    expect(await readGoVersion(await putGoOnPath(version))).toBe(`${version} linux amd64`);
  });

  it("reuses built programs when nothing has changed", async () => {
    await ensureBuilt();
    const began = performance.now();
    const lines: string[] = [];
    const binaries = await ensureBuilt((line) => lines.push(line));
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(lines).toEqual([]);
    for (const path of Object.values(binaries)) await access(path);
  });

  it("builds the pinned versions", async () => {
    const { kubectl, kcp } = await ensureBuilt();
    expect((await run(kubectl, ["version", "--client"])).stdout).toContain("Client Version: v1.36.3");
    const { stdout, stderr } = await run(kcp, ["--version"]);
    expect(stdout + stderr).toContain("v1.35.1+kcp-v0.31.2");
  });
});

describe("the name of a build", () => {
  it.each(["go.sum", "go.mod", "main.go"])("changes with %s", async (file) => {
    await cp(kubeallComponent.folder, folder, { recursive: true });
    const component = { ...kubeallComponent, folder };
    const before = await buildName(component, "go1.26.1");
    expect(before).toBe(await buildName(kubeallComponent, "go1.26.1"));
    expect(await readdir(folder)).toContain(file);
    await appendFile(join(folder, file), "\n");
    expect(await buildName(component, "go1.26.1")).not.toBe(before);
  });

  it("changes with the Go version and with the linker's flags", async () => {
    const names = await Promise.all([
      buildName(kcpComponent, "go1.26.1"),
      buildName(kcpComponent, "go1.26.2"),
      buildName({ ...kcpComponent, ldflags: "-s" }, "go1.26.1"),
    ]);
    expect(new Set(names).size).toBe(3);
  });
});

describe("the cache", () => {
  it.each([
    ["where TMC_REAL_CACHE says", { TMC_REAL_CACHE: "/a", XDG_CACHE_HOME: "/b" }, /^\/a$/],
    ["below XDG_CACHE_HOME", { XDG_CACHE_HOME: "/b" }, /^\/b\/tmc-real$/],
    ["below ~/.cache otherwise", { TMC_REAL_CACHE: "", XDG_CACHE_HOME: "" }, /\/\.cache\/tmc-real$/],
  ])("is %s", (_, environment, expected) => {
    expect(cacheFolder(environment)).toMatch(expected);
  });
});
