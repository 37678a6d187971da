import { globSync } from "node:fs";
import { access, constants, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "@tmc/kube/json.ts";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import { imageTargets } from "./image.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = globSync(".github/workflows/*.yaml", { cwd: root }).toSorted();

type Job = Readonly<{ needs?: string; permissions?: Readonly<Record<string, string>>; steps: readonly Step[] }>;
type Step = Readonly<{ uses?: string; run?: string; with?: Readonly<Record<string, unknown>> }>;
type Workflow = Readonly<{ text: string; on: unknown; permissions: unknown; jobs: Readonly<Record<string, Job>> }>;

async function readWorkflow(file: string): Promise<Workflow> {
  const text = await readFile(join(root, file), "utf8");
  // Written by us; the tests below read every field that matters.
  return { ...(load(text) as Omit<Workflow, "text">), text };
}
const workflows = new Map(await Promise.all(files.map(async (file) => [file, await readWorkflow(file)] as const)));
const stepsOf = ({ jobs }: Workflow): readonly Step[] => Object.values(jobs).flatMap(({ steps }) => steps);
const workflowOf = (name: string): Workflow => {
  const workflow = workflows.get(`.github/workflows/${name}.yaml`);
  if (workflow === undefined) throw new Error(`no workflow ${name}`);
  return workflow;
};

/** What a job may do besides reading the repository. */
const permissions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "ci/checks": { contents: "read" },
  "release/files": { contents: "read" },
  "release/images": { contents: "read", packages: "write" },
  "release/package": { "id-token": "write" },
  "release/release": { contents: "write", "id-token": "write", attestations: "write" },
};

describe("the workflows", () => {
  it("are a check of each change and a release by tag", () => {
    expect(files).toEqual([".github/workflows/ci.yaml", ".github/workflows/release.yaml"]);
    expect(workflowOf("ci").on).toEqual({ pull_request: null, push: { branches: ["main"] } });
    expect(workflowOf("release").on).toEqual({ push: { tags: ["v*"] } });
  });

  it("give each job its permissions alone", () => {
    const found = [...workflows].flatMap(([file, { permissions: general, jobs }]) => {
      expect(general).toEqual({});
      const name = file.replace(/^.*\/(.*)\.yaml$/, "$1");
      return Object.entries(jobs).map(([job, { permissions: own }]) => [`${name}/${job}`, own] as const);
    });
    expect(Object.fromEntries(found)).toEqual(permissions);
  });

  it.each(files)("%s names each action by a commit, with its version", (file) => {
    const { text } = workflowOf(file.replace(/^.*\/(.*)\.yaml$/, "$1"));
    const lines = text.split("\n").filter((line) => line.includes("uses:"));
    expect(lines.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
    // One version of an action in all workflows.
    const references = new Set([...workflows.values()].flatMap(stepsOf).flatMap(({ uses = [] }) => uses));
    expect(new Set([...references].map((each) => each.split("@")[0])).size).toBe(references.size);
  });

  it("keep no credentials in the clone, and put no text of an event into a shell", () => {
    for (const workflow of workflows.values()) {
      for (const step of stepsOf(workflow)) {
        if (step.uses?.startsWith("actions/checkout@"))
          expect(step.with).toMatchObject({ "persist-credentials": false });
        expect(step.run ?? "").not.toContain("${{");
      }
      expect(workflow.text).not.toMatch(/pull_request_target|secrets\./);
    }
  });

  it("run only scripts that exist", async () => {
    const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const scripts = isRecord(manifest) && isRecord(manifest.scripts) ? Object.keys(manifest.scripts) : [];
    const commands = [...workflows.values()].flatMap(stepsOf).flatMap(({ run = [] }) => run);
    const named = commands.flatMap((command) => [...command.matchAll(/\bnpm (?:run (?:--silent )?)?([\w:-]+)/g)]);
    const own = new Set(["ci", "publish", "pkg"]);
    const missing = named.map(([, script = ""]) => script).filter((each) => !own.has(each) && !scripts.includes(each));
    expect(named.length).toBeGreaterThan(3);
    expect(missing).toEqual([]);
    for (const command of commands.filter((each) => /^\.?\.?[\w/]*\/\w+$/.test(each))) {
      await access(join(root, command), constants.X_OK);
    }
    expect(commands).toContain(".ci/run");
  });

  it("publish what this repository builds, in the order images, package, release", () => {
    const { jobs, text } = workflowOf("release");
    const order = Object.entries(jobs).map(([name, { needs }]) => [name, needs]);
    expect(order).toEqual([
      ["files", undefined],
      ["images", "files"],
      ["package", "images"],
      ["release", "package"],
    ]);
    expect(jobs.images).toMatchObject({ strategy: { matrix: { target: [...imageTargets] } } });
    expect(text).toContain("--provenance --access public");
    // An empty host is the default registry of Docker, which would get the token of the run.
    expect(jobs.files?.steps.map(({ run }) => run)).toContain('test -n "$IMAGE_REGISTRY"');
  });
});
