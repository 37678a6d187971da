import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BuildResult } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleFunctions, type FunctionName, functionNames } from "../../scripts/bundles.ts";

/** All that is read before the first invocation. What a function imports is paid for by every start of it. */
const mostKilobytes: Readonly<Record<FunctionName, number>> = {
  // The one that puts workloads on clusters, which is some 80 KB of our own code, and some 20 KB for what is born there.
  reconcile: 590,
  // It tells workloads of their clusters, of types that operators have added too.
  probe: 480,
  heartbeat: 360,
  resync: 360,
  health: 360,
  forward: 250,
};

let folder: string;
let built: BuildResult<{ metafile: true }>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-functions-"));
  built = await bundleFunctions(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The packages and files of ours that are in a bundle. */
function insideOf(name: FunctionName): readonly string[] {
  const output = Object.entries(built.metafile.outputs).find(([file]) => file.endsWith(`/${name}/index.mjs`))?.[1];
  return Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([file]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? file);
}

describe.each(functionNames)("the bundle of %s", (name) => {
  test("is one file with its map, small enough, without a source", async () => {
    expect((await readdir(join(folder, name))).toSorted()).toEqual(["index.mjs", "index.mjs.map"]);
    const { size } = await stat(join(folder, name, "index.mjs"));
    expect(Math.round(size / 1024)).toBeLessThanOrEqual(mostKilobytes[name]);
    const map = JSON.parse(await readFile(join(folder, name, "index.mjs.map"), "utf8")) as object;
    expect(map).not.toHaveProperty("sourcesContent");
  });

  test("loads by itself in a fresh process, does nothing then, and has a handler", async () => {
    const script = `const m = await import(${JSON.stringify(join(folder, name, "index.mjs"))}); console.log(typeof m.handler);`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", script],
      // No region, no credentials, nothing of ours: all that is wrong is said by the first invocation.
      { cwd: folder, env: { AWS_REGION: "eu-west-1" } },
    );
    expect([stdout, stderr]).toEqual(["function\n", ""]);
  });

  test("has nothing in it that only long-lived processes need", () => {
    const inside = insideOf(name);
    const unwanted =
      /^(undici|@kubernetes\/client-node|commander|@aws-sdk\/(credential-provider-(?!env)|nested-clients|token-providers)|@smithy\/credential-provider-imds|lib\/(embedded|cli\/(?!version))\b)/;
    expect(inside.filter((part) => unwanted.test(part))).toEqual([]);
  });
});

test("who only forwards needs neither the hub nor any reconciler", () => {
  const inside = insideOf("forward");
  expect(
    inside.filter((part) =>
      /^(js-yaml|lib\/(placement|registration|clusters\/(?!endpoint-rules|carried-address))\b)/.test(part),
    ),
  ).toEqual([]);
});
