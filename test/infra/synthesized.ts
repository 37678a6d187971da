import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { addStacks } from "../../infra/add-stacks.ts";
import { addChecks } from "../../infra/checks.ts";
import { functionNames } from "../../infra/names.ts";
import { type GivenSettings, parseSettings } from "../../infra/settings.ts";

type Json = Readonly<Record<string, unknown>>;
/** A resource of a template, with its logical id. */
export type Resource = Readonly<{ id: string; type: string; deletion: string | undefined; properties: Json }>;

/** The stacks of a deployment as they would be sent to AWS. */
export type Synthesized = Readonly<{
  core: Template;
  relay: Template;
  observability: Template;
  /** Lookups that the synth would need. */
  missing: readonly unknown[];
  stackNames: readonly string[];
  /** Rule names of all unsuppressed findings, including warnings. */
  findings: readonly string[];
}>;

/** A relay image by name, so that no Dockerfile is needed. */
const image = { "relay.image": "registry.example/tmc/relay:1.2.3" };

/** Settings of every deployment in tests; the rest has its defaults. */
export const leastSettings = { stage: "test", workspaces: "root:org:team" } as const;

/**
 * Synthesizes the stacks, with functions of one line. With `checks`, unsuppressed findings make it throw; the checks take
 * longer than everything else, so they are off by default.
 */
export function synthesize(given: GivenSettings = {}, { checks = false } = {}): Synthesized {
  const folder = mkdtempSync(join(tmpdir(), "tmc-infra-"));
  try {
    const app = new App({
      context: contextOfProject(),
      outdir: join(folder, "out"),
      autoSynth: false,
      builtinCloudFormationValidation: checks,
    });
    const isExternal = given["relay.mode"] === "external";
    const settings = parseSettings({ ...leastSettings, ...(isExternal ? {} : image), ...given });
    const stacks = addStacks(app, { settings, bundles: bundlesIn(folder), imageFolder: folder });
    if (checks) addChecks(app);
    const assembly = app.synth();
    return {
      core: Template.fromStack(stacks.core),
      relay: Template.fromStack(stacks.relay),
      observability: Template.fromStack(stacks.observability),
      missing: assembly.manifest.missing ?? [],
      findings: findingsIn(assembly.directory),
      stackNames: assembly.stacks.map(({ stackName }) => stackName).toSorted(),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Findings in the report that a synth with checks leaves in its folder. */
export function findingsIn(folder: string): readonly string[] {
  const path = join(folder, "validation-report.json");
  const report = existsSync(path) ? objectOf(JSON.parse(readFileSync(path, "utf8"))) : {};
  return listOf(report.pluginReports).flatMap((each) =>
    listOf(objectOf(each).violations).map((violation) => String(objectOf(violation).ruleName)),
  );
}

/** The feature flags under which the project is deployed. */
function contextOfProject(): Record<string, unknown> {
  const { context }: { context: Record<string, unknown> } = JSON.parse(
    readFileSync(join(import.meta.dirname, "..", "..", "cdk.json"), "utf8"),
  );
  return context;
}

function bundlesIn(folder: string): string {
  const bundles = join(folder, "functions");
  for (const name of functionNames) {
    mkdirSync(join(bundles, name), { recursive: true });
    writeFileSync(join(bundles, name, "index.mjs"), `export const handler = async () => "${name}";\n`);
  }
  return bundles;
}

/** Resources of a template, all or those of one type. */
export function resourcesOf(template: Template, type?: string): readonly Resource[] {
  const all: Readonly<Record<string, Json>> = template.toJSON().Resources ?? {};
  return Object.entries(all)
    .map(([id, resource]) => ({
      id,
      type: String(resource.Type),
      deletion: typeof resource.DeletionPolicy === "string" ? resource.DeletionPolicy : undefined,
      properties: objectOf(resource.Properties),
    }))
    .filter((resource) => type === undefined || resource.type === type);
}

/** A value of a template that has to be an object; an empty one where there is none. */
export const objectOf = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {});

/** A value of a template that may be one or several. */
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** Text of a value of a template: references to resources become their names where they have one, else their ids. */
export function textOf(value: unknown, templates: readonly Template[]): string {
  if (typeof value !== "object" || value === null) return String(value);
  const [[call, argument] = ["", undefined]] = Object.entries(value);
  if (call === "Fn::Join")
    return listOf(listOf(argument)[1])
      .map((part) => textOf(part, templates))
      .join("");
  if (call === "Ref" && String(argument).startsWith("AWS::")) return `<${String(argument).slice(5)}>`;
  if (call === "Ref") return nameOf(String(argument), templates);
  if (call === "Fn::GetAtt") return nameOf(String(listOf(argument)[0]), templates);
  if (call === "Fn::ImportValue") return textOf(exported(String(argument), templates), templates);
  throw new Error(`template: ${call} is not known to this test`);
}

function nameOf(id: string, templates: readonly Template[]): string {
  const found = templates.flatMap((template) => resourcesOf(template)).find((resource) => resource.id === id);
  const { QueueName, FunctionName, LogGroupName } = found?.properties ?? {};
  return String(QueueName ?? FunctionName ?? LogGroupName ?? id);
}

function exported(name: string, templates: readonly Template[]): unknown {
  const outputs = templates.flatMap((template) => Object.values(objectOf(template.toJSON().Outputs)).map(objectOf));
  return outputs.find((output) => objectOf(output.Export).Name === name)?.Value;
}
