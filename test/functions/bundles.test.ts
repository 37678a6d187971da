import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BuildResult } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleFunctions, type FunctionName, functionNames } from "../../scripts/bundles.ts";

/** Upper limits of the bundle sizes. Every cold start loads the whole bundle. */
const mostKilobytes: Readonly<Record<FunctionName, number>> = {
  // Contains sync, about 80 KB of TMC's code, and upsync, about 20 KB.
  reconcile: 690,
  // It enqueues the workloads of a cluster, including custom types.
  probe: 530,
  heartbeat: 390,
  resync: 400,
  health: 390,
  forward: 250,
};

let folder: string;
let built: BuildResult<{ metafile: true }>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-functions-"));
  built = await bundleFunctions(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The packages and TMC's files that a bundle contains. */
function insideOf(name: FunctionName): readonly string[] {
  const output = Object.entries(built.metafile.outputs).find(([file]) => file.endsWith(`/${name}/index.mjs`))?.[1];
  return Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([file]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? file);
}

describe.each(functionNames)("the bundle of %s", (name) => {
  test("is one file within its size limit, with a source map without sources", async () => {
    expect((await readdir(join(folder, name))).toSorted()).toEqual(["index.mjs", "index.mjs.map"]);
    const { size } = await stat(join(folder, name, "index.mjs"));
    expect(Math.round(size / 1024)).toBeLessThanOrEqual(mostKilobytes[name]);
    const map = JSON.parse(await readFile(join(folder, name, "index.mjs.map"), "utf8")) as object;
    expect(map).not.toHaveProperty("sourcesContent");
  });

  test("loads in a new process without side effects and exports a handler", async () => {
    const script = `const m = await import(${JSON.stringify(join(folder, name, "index.mjs"))}); console.log(typeof m.handler);`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", script],
      // No credentials and no TMC variables: the first invocation reports what is missing.
      { cwd: folder, env: { AWS_REGION: "eu-west-1" } },
    );
    expect([stdout, stderr]).toEqual(["function\n", ""]);
  });

  test("contains nothing that only long-lived processes need", () => {
    const inside = insideOf(name);
    const unwanted =
      /^(undici|@kubernetes\/client-node|commander|@aws-sdk\/(credential-provider-(?!env)|nested-clients|token-providers)|@smithy\/credential-provider-imds|lib\/(embedded|cli\/(?!version))\b)/;
    expect(inside.filter((part) => unwanted.test(part))).toEqual([]);
  });
});

test("the bundle of forward contains neither the upstream client nor a reconciler", () => {
  const inside = insideOf("forward");
  expect(
    inside.filter((part) =>
      /^(js-yaml|lib\/(placement|registration|clusters\/(?!endpoint-rules|carried-address))\b)/.test(part),
    ),
  ).toEqual([]);
});
