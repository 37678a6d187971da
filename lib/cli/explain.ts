import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { Argument, Command, InvalidArgumentError } from "commander";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { findCondition } from "../model/condition.ts";
import { clusterFacts } from "../placement/observed.ts";
import {
  type Explanation,
  explainFor,
  parseSupposedTaint,
  type SupposedTaint,
  type WhatIf,
} from "../placement/what-if.ts";
import { type CliIo, UsageError } from "./cli-io.ts";
import { collectWords, parseName } from "./names.ts";
import { type NamespaceOptions, namespaceOf, withNamespaceOption } from "./options.ts";
import { formatDocument, formatTable, type Output, outputOption } from "./output.ts";
import { findPlacement } from "./placement.ts";
import { parsePlacements } from "./placement-file.ts";
import { selectionsOf } from "./selection-view.ts";
import { readWorkload } from "./workload-read.ts";
import { parseWorkloadWords, workloadTitle } from "./workload-words.ts";
import { inWorkspace, type Workspace, type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

type ExplainOptions = WorkspaceOptions &
  Readonly<{
    filename?: string;
    withoutCluster?: readonly string[];
    withTaint?: readonly SupposedTaint[];
    workload?: string;
    output: Output;
  }> &
  NamespaceOptions;

const examples = `
Nothing is written, neither the placement nor its status. A placement that is there already keeps its clusters as it would
if the file were applied.

Examples:
  tmc explain web                                      why web is where it is
  tmc explain -f examples/workload-placement.yaml      where it would go, before it is applied
  tmc explain web --without-cluster east               what if east were gone
  tmc explain web --with-taint east:upgrade=:NoExecute what if east were tainted; without east: on all of them
  tmc explain --workload deploy/web -n shop            which placement governs a workload, and why no other does
`;

/** The command that says of every cluster why a placement is on it or not. */
export function explainCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(new Command("explain"))
      .summary("say why a placement is where it is, or where it would go")
      .description(
        "Explains a placement, saved or not: of every cluster whether it is chosen, why, and what would make it fit.",
      )
      .addArgument(new Argument("[name]", "the placement's name").argParser(parseName))
      .option("-f, --filename <file>", "a manifest with placements that need not be saved; - for standard input")
      .option("--without-cluster <name>", "suppose that a cluster were gone; may be given several times", collectWords)
      .option(
        "--with-taint <[cluster:]key=value:effect>",
        "suppose a taint, on one cluster or on all; may be given several times",
        collectTaint,
      )
      .option("--workload <kind/name>", "instead, say which placement governs a workload")
      .addOption(outputOption()),
  )
    .addHelpText("after", examples)
    .action((name: string | undefined, options: ExplainOptions) =>
      inWorkspace(io, options, async (workspace) => {
        if (options.workload !== undefined) {
          if (name !== undefined || options.filename !== undefined) {
            throw new UsageError("--workload stands alone: leave the placement out");
          }
          io.out(await explainWorkload(workspace, options.workload, options));
          return;
        }
        const explained = await explain(io, workspace, name, options);
        io.out(formatExplained(explained, options.output));
      }),
    );
}

type Explained = Readonly<{ placement: WorkloadPlacement; explanation: Explanation; supposed: string }>;

async function explain(
  io: CliIo,
  workspace: Workspace,
  name: string | undefined,
  options: ExplainOptions,
): Promise<readonly Explained[]> {
  const { filename, withoutCluster = [], withTaint = [] } = options;
  if (name === undefined && filename === undefined) throw new UsageError("name a placement, or a file with -f");
  const written = filename === undefined ? undefined : await readPlacements(io, filename);
  const [registrations, saved] = await Promise.all([workspace.clusters(), workspace.placements()]);
  const placements =
    written === undefined
      ? [await findPlacement(workspace, name ?? "")]
      : written.filter(({ metadata }) => name === undefined || metadata.name === name).map(overSaved(saved));
  if (placements.length === 0) throw new Error(`${filename}: has no placement "${name}" in it`);

  const whatIf: WhatIf = { withoutClusters: withoutCluster, withTaints: withTaint };
  return placements.map((placement) => {
    const explanation = explainOne(placement, { registrations, saved, nowMs: io.clock.now() }, whatIf);
    const { unknownClusters } = explanation;
    if (unknownClusters.length > 0) {
      const names = registrations.map(({ metadata }) => metadata.name ?? "").join(", ");
      throw new UsageError(
        `cluster "${unknownClusters.join('", "')}": is not registered; there are ${names || "none"}`,
      );
    }
    return { placement, explanation, supposed: formatWhatIf(whatIf) };
  });
}

async function explainWorkload(workspace: Workspace, word: string, options: ExplainOptions): Promise<string> {
  const namespace = namespaceOf(options, workspace);
  const read = await readWorkload(workspace, parseWorkloadWords(word), { namespace, metadataOnly: true });
  const { apiVersion, kind, workload, record, placements, governed, namespaceLabels } = read;
  const selections = selectionsOf({
    placements,
    workload: {
      apiVersion,
      kind,
      labels: workload?.metadata.labels,
      namespace,
      namespaceLabels: namespaceLabels ?? {},
    },
    recorded: record?.spec.placement,
    governed,
  });
  const { output } = options;
  const title = workloadTitle({ apiVersion, kind, name: read.named.name });
  if (output === "json" || output === "yaml") {
    return formatDocument(
      { workload: title, namespace, placement: governed?.placement.metadata.name ?? null, selections },
      output,
    );
  }
  const where = governed?.placement.status?.selectedClusters?.join(", ") || "no cluster";
  const verdict =
    governed === undefined ? "no placement governs it" : `${governed.placement.metadata.name} governs it: on ${where}`;
  if (selections.length === 0) return `${title}: there are no placements\n`;
  const rows = selections.map(({ placement, governs, selects, why }) => [
    placement,
    selects ? "yes" : "no",
    governs ? "yes" : "no",
    why,
  ]);
  return `${title}: ${verdict}\n\n${formatTable(["PLACEMENT", "SELECTS", "GOVERNS", "WHY"], rows)}`;
}

/** Explains one placement against what a workspace holds. */
export function explainOne(
  placement: WorkloadPlacement,
  facts: Readonly<{
    registrations: readonly ClusterRegistration[];
    saved: readonly WorkloadPlacement[];
    nowMs: number;
  }>,
  whatIf: WhatIf = {},
): Explanation {
  const load = new Map<string, number>();
  for (const { metadata, status } of facts.saved) {
    if (metadata.name === placement.metadata.name) continue;
    for (const cluster of status?.selectedClusters ?? []) load.set(cluster, (load.get(cluster) ?? 0) + 1);
  }
  return explainFor({ placement, clusters: facts.registrations.map(clusterFacts), load, nowMs: facts.nowMs }, whatIf);
}

async function readPlacements(io: CliIo, filename: string): Promise<readonly WorkloadPlacement[]> {
  if (filename === "-") return parsePlacements(await io.readInput(), "standard input");
  const text = await readFile(filename, "utf8").catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "is a folder" : "cannot be read";
    throw new Error(`${filename}: ${why}`, { cause: error });
  });
  return parsePlacements(text, filename);
}

/** A written placement as it would be if it were applied: with the status that the saved one of its name has. */
function overSaved(saved: readonly WorkloadPlacement[]): (written: WorkloadPlacement) => WorkloadPlacement {
  const byName = new Map(saved.map((placement) => [placement.metadata.name, placement]));
  return (written) => {
    const present = byName.get(written.metadata.name);
    if (present === undefined) return written;
    const { generation = 0 } = present.metadata;
    const isSame = isDeepStrictEqual(written.spec, present.spec);
    return {
      ...written,
      metadata: { ...written.metadata, generation: isSame ? generation : generation + 1 },
      ...(present.status === undefined ? {} : { status: present.status }),
    };
  };
}

function formatExplained(explained: readonly Explained[], output: Output): string {
  if (output === "json" || output === "yaml") {
    const documents = explained.map(documentOf);
    const [first] = documents;
    return formatDocument(documents.length === 1 && first !== undefined ? first : documents, output);
  }
  return explained.map((each) => tableOf(each, output === "wide")).join("\n");
}

function documentOf({ placement, explanation, supposed }: Explained): object {
  const { plan, decisions } = explanation;
  const ready = findCondition(plan.status.conditions, "Ready");
  return {
    placement: placement.metadata.name,
    strategy: plan.status.strategy,
    ...(supposed === "" ? {} : { supposing: supposed }),
    selectedClusters: plan.status.selectedClusters ?? [],
    ready: { status: ready?.status, reason: ready?.reason, message: ready?.message },
    decisions: decisions.map(({ cluster, selected, reason, message, hints, load, ...detail }) => ({
      cluster,
      selected,
      reason,
      message,
      ...detail,
      ...(load === undefined ? {} : { otherPlacements: load }),
      ...(selected ? {} : { wouldFitWith: hints }),
    })),
  };
}

function tableOf({ placement, explanation, supposed }: Explained, wide: boolean): string {
  const { plan, decisions } = explanation;
  const ready = findCondition(plan.status.conditions, "Ready");
  const head = `${placement.metadata.name}: ${ready?.message ?? "not decided"}${supposed === "" ? "" : ` (supposing ${supposed})`}\n`;
  const columns = ["CLUSTER", "SELECTED", "REASON", "EXPECTED", "ACTUAL", "SCORE", "WOULD FIT WITH"];
  const rows = decisions.map(({ cluster, selected, reason, rule, expected, actual, score, parts, load, hints }) => {
    const row = [
      cluster,
      selected ? "yes" : "no",
      reason,
      expected ?? "-",
      actual ?? "-",
      score === undefined ? "-" : String(score),
      selected || hints.length === 0 ? "-" : hints.join(" and "),
    ];
    if (!wide) return row;
    const scored = (parts ?? []).map(({ name, value }) => `${name} ${value > 0 ? "+" : ""}${value}`).join(", ");
    return [...row, rule ?? "-", scored === "" ? "-" : scored, load === undefined ? "-" : String(load)];
  });
  if (rows.length === 0) return head;
  return `${head}\n${formatTable(wide ? [...columns, "RULE", "SCORE PARTS", "OTHER PLACEMENTS"] : columns, rows)}`;
}

function formatWhatIf({ withoutClusters = [], withTaints = [] }: WhatIf): string {
  return [
    ...withoutClusters.map((name) => `${name} gone`),
    ...withTaints.map(({ taint: { key, value, effect }, cluster }) => {
      const words = value === "" ? `${key}:${effect}` : `${key}=${value}:${effect}`;
      return `${words} on ${cluster ?? "every cluster"}`;
    }),
  ].join(", ");
}

/** Takes `cluster:key=value:effect`, and without the cluster for all of them. */
function collectTaint(text: string, before: readonly SupposedTaint[] = []): readonly SupposedTaint[] {
  const [, cluster, taint = text] = /^([^:@=]+):([^:@]+:[^:@]+)$/.exec(text) ?? [];
  try {
    return [...before, parseSupposedTaint(cluster === undefined ? text : `${taint}@${cluster}`)];
  } catch {
    throw new InvalidArgumentError(
      "write key=value:effect, or cluster:key=value:effect for one cluster; effects are NoSchedule, PreferNoSchedule, NoExecute.",
    );
  }
}
