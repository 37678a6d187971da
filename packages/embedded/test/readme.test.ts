import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const packages = fileURLToPath(new URL("../..", import.meta.url));

/** The TypeScript examples of a page, in their order. */
async function examplesOf(name: string): Promise<readonly string[]> {
  const page = await readFile(`${packages}${name}/README.md`, "utf8");
  return [...page.matchAll(/^```ts\n(?<code>.*?)^```$/gms)].map(({ groups }) => groups?.code ?? "");
}

describe("the READMEs of the packages", () => {
  it.each([
    ["embedded", 2],
    ["kube", 1],
  ])("the examples of packages/%s/README.md run as they are", { timeout: 60_000 }, async (name, count) => {
    const examples = await examplesOf(name);
    expect(examples).toHaveLength(count);
    for (const code of examples) {
      // Fails with the output of the example if its exit code is not 0.
      await promisify(execFile)(process.execPath, ["--input-type=module-typescript", "--eval", code], {
        cwd: `${packages}embedded`,
        timeout: 30_000,
      });
    }
  });
});
