import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isRecord } from "@tmc/kube/json.ts";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPage } from "../docs/run-page.ts";
import { ensureLua } from "../real/build.ts";

let lua: string;
let folder: string;
let checks: readonly (readonly [key: string, script: string])[];
beforeAll(async () => {
  lua = await ensureLua();
  folder = await mkdtemp(join(tmpdir(), "tmc-lua-"));
  const [, block = ""] = /^```yaml\n(.*?)^```$/ms.exec(await readPage("docs/gitops.md")) ?? [];
  const config = load(block);
  const data = isRecord(config) && isRecord(config.data) ? config.data : {};
  checks = Object.entries(data).map(([key, script]) => [key, String(script)]);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Lua's notation of a value of JSON. */
function luaOf(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(luaOf).join(",")}}`;
  if (!isRecord(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `[${JSON.stringify(key)}]=${luaOf(each)}`)
    .join(",")}}`;
}

/** Runs a check as Argo CD does: the object is the global `obj`, and the script returns the health. */
async function healthOf(script: string, object: unknown): Promise<string> {
  const file = join(folder, "check.lua");
  const body = `obj = ${luaOf(object)}\nlocal hs = (function()\n${script}\nend)()\nprint(hs.status .. ": " .. hs.message)\n`;
  await writeFile(file, body);
  return (await promisify(execFile)(lua, [file])).stdout.trim();
}

const ready = (status: string, observedGeneration?: number) => ({
  type: "Ready",
  status,
  message: "as reported",
  ...(observedGeneration !== undefined && { observedGeneration }),
});
const metadata = { name: "east", generation: 2 };

describe("the health checks for Argo CD in docs/gitops.md", () => {
  it.each([
    ["without a status", { metadata }, "Progressing: TMC has not reported a status yet"],
    ["without conditions", { metadata, status: { capacity: {} } }, "Progressing: TMC has not reported a status yet"],
    ["that is Ready", { metadata, status: { conditions: [ready("True", 2)] } }, "Healthy: as reported"],
    [
      "that is Ready beside another condition",
      { metadata, status: { conditions: [{ type: "CredentialsCurrent", status: "False" }, ready("True")] } },
      "Healthy: as reported",
    ],
    ["that is not Ready", { metadata, status: { conditions: [ready("False", 2)] } }, "Degraded: as reported"],
    [
      "whose change TMC has not seen",
      { metadata, status: { conditions: [ready("True", 1)] } },
      "Progressing: as reported",
    ],
    ["whose state is unknown", { metadata, status: { conditions: [ready("Unknown", 2)] } }, "Progressing: as reported"],
  ])("an object %s", async (_, object, health) => {
    expect(checks).toHaveLength(2);
    for (const [key, script] of checks) expect([key, await healthOf(script, object)]).toEqual([key, health]);
  });
});
