import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { faultOf } from "@tmc/kube/errors.ts";
import { Argument, Command, InvalidArgumentError } from "commander";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import type { ResourceUse } from "../../placement/capacity.ts";
import { ClusterLoad } from "../../placement/cluster-load.ts";
import { clusterFacts } from "../../placement/observed.ts";
import {
  type Explanation,
  explainPlacement,
  type HypotheticalTaint,
  parseHypotheticalTaint,
  type WhatIf,
} from "../../placement/what-if.ts";
import { type CliIo, UsageError } from "../cli-io.ts";
import { collectList, parseName } from "../names.ts";
import { type NamespaceOptions, namespaceOf, withNamespaceOption } from "../options.ts";
import { formatDocument, formatTable, type Output, outputOption } from "../output.ts";
import { selectionsOf, workloadsHeldByVolumes } from "../workload/selection-view.ts";
import { parseWorkloadArgument, workloadTitle } from "../workload/workload-argument.ts";
import { readWorkload } from "../workload/workload-read.ts";
import { inWorkspace, type OpenWorkspace, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { findPlacement } from "./placement.ts";
import { parsePlacements } from "./placement-file.ts";

type ExplainOptions = WorkspaceOptions &
  Readonly<{
    filename?: string;
    withoutCluster?: readonly string[];
    withTaint?: readonly HypotheticalTaint[];
    workload?: string;
    output: Output;
  }> &
  NamespaceOptions;

const examples = `
The command reads only; it changes neither the placement nor its status. For a
manifest of an existing placement, the decision takes the current clusters into
account, as it would after kubectl apply.

Examples:
  # Explain why a placement selected its clusters
  tmc explain web

  # Show which clusters a manifest would select, before it is applied
  tmc explain -f examples/workload-placement.yaml

  # Show the decision without a cluster
  tmc explain web --without-cluster east

  # Show the decision with a taint on one cluster; without "east:", the taint is
  # on all clusters
  tmc explain web --with-taint east:upgrade=:NoExecute

  # Show which placement governs a workload, and why the others do not
  tmc explain --workload deploy/web -n shop
`;

/** Creates the `explain` command. */
export function explainCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(new Command("explain"))
      .summary("Explain which clusters a placement selects, and why")
      .description(
        "Explain which clusters a placement selects. For each cluster, the command shows whether it is selected, why, and what would make it fit. With resources, it shows what is free: what the nodes offer, minus what other placements reserve and other pods request. Workloads that stay on other clusters because of their volumes are named below. The placement can exist or come from a manifest.",
      )
      .addArgument(new Argument("[name]", "Name of the placement").argParser(parseName))
      .option("-f, --filename <file>", "Path to a manifest with placements, or - for standard input")
      .option(
        "--without-cluster <name>",
        "Decide as if this cluster were not registered; can be repeated or comma-separated",
        collectList,
      )
      .option(
        "--with-taint <[cluster:]key=value:effect>",
        "Decide as if one cluster, or all clusters, had this taint; can be repeated",
        collectTaint,
      )
      .option("--workload <kind/name>", "Show which placement governs this workload, instead of explaining a placement")
      .addOption(outputOption()),
  )
    .addHelpText("after", examples)
    .action((name: string | undefined, options: ExplainOptions) =>
      inWorkspace(io, options, async (workspace) => {
        if (options.workload !== undefined) {
          if (name !== undefined || options.filename !== undefined) {
            throw new UsageError("--workload cannot be combined with a placement name or --filename");
          }
          io.out(await explainWorkload(workspace, options.workload, options));
          return;
        }
        const explained = await explain(io, workspace, name, options);
        io.out(formatExplanations(explained, options.output));
      }),
    );
}

type ExplainedPlacement = Readonly<{
  placement: WorkloadPlacement;
  explanation: Explanation;
  assumptions: string;
  /** Sentences about what the decision could not take into account. */
  notes: readonly string[];
}>;

async function explain(
  io: CliIo,
  workspace: OpenWorkspace,
  name: string | undefined,
  options: ExplainOptions,
): Promise<readonly ExplainedPlacement[]> {
  const { filename, withoutCluster = [], withTaint = [] } = options;
  if (name === undefined && filename === undefined)
    throw new UsageError("expected the name of a placement, or a manifest with -f");
  const manifests = filename === undefined ? undefined : await readPlacements(io, filename);
  const [registrations, saved, syncRecords] = await Promise.all([
    workspace.registrations(),
    workspace.placements(),
    workspace.syncRecords().catch(noneIfForbidden),
  ]);
  const placements =
    manifests === undefined
      ? [await findPlacement(workspace, name ?? "")]
      : manifests.filter(({ metadata }) => name === undefined || metadata.name === name).map(withSavedStatus(saved));
  if (placements.length === 0) throw new Error(`${filename}: contains no placement "${name}"`);

  const whatIf: WhatIf = { withoutClusters: withoutCluster, withTaints: withTaint };
  return placements.map((placement) => {
    const explanation = explainOne(placement, { registrations, saved, nowMs: io.clock.now() }, whatIf);
    const { unknownClusters } = explanation;
    if (unknownClusters.length > 0) {
      const names = registrations.map(({ metadata }) => metadata.name ?? "").join(", ");
      throw new UsageError(
        `cluster "${unknownClusters.join('", "')}": not registered; registered clusters: ${names || "none"}`,
      );
    }
    const notes = [
      ...(placement.spec.resources === undefined ? [] : registrations.flatMap(uncountedPods)),
      ...workloadsHeldByVolumes(syncRecords.filter(({ spec }) => spec.placement === placement.metadata.name)),
    ];
    return { placement, explanation, assumptions: formatAssumptions(whatIf), notes };
  });
}

/** The explanation of a placement does not need the sync records, which a user may not be allowed to list. */
function noneIfForbidden(error: unknown): readonly WorkloadSync[] {
  if (faultOf(error) === "forbidden") return [];
  throw error;
}

async function explainWorkload(workspace: OpenWorkspace, argument: string, options: ExplainOptions): Promise<string> {
  const namespace = namespaceOf(options, workspace);
  const read = await readWorkload(workspace, parseWorkloadArgument(argument), { namespace, metadataOnly: true });
  const { apiVersion, kind, workload, syncRecord, placements, governing, namespaceLabels } = read;
  const selections = selectionsOf({
    placements,
    workload: {
      apiVersion,
      kind,
      labels: workload?.metadata.labels,
      namespace,
      namespaceLabels: namespaceLabels ?? {},
    },
    recorded: syncRecord?.spec.placement,
    governing,
  });
  const { output } = options;
  const notes = workloadsHeldByVolumes(syncRecord === undefined ? [] : [syncRecord]);
  const title = workloadTitle({ apiVersion, kind, name: read.named.name });
  if (output === "json" || output === "yaml") {
    return formatDocument(
      {
        workload: title,
        namespace,
        placement: governing?.placement.metadata.name ?? null,
        selections,
        ...(notes.length === 0 ? {} : { notes }),
      },
      output,
    );
  }
  const clusters = governing?.placement.status?.selectedClusters?.join(", ") || "no cluster";
  const summary =
    governing === undefined
      ? "no placement selects it"
      : `placement ${governing.placement.metadata.name} governs it and selects ${clusters}`;
  const footer = formatNotes(notes);
  if (selections.length === 0) return `${title}: the workspace has no placements\n${footer}`;
  const rows = selections.map(({ placement, governs, selects, message }) => [
    placement,
    selects ? "yes" : "no",
    governs ? "yes" : "no",
    message,
  ]);
  return `${title}: ${summary}\n\n${formatTable(["PLACEMENT", "SELECTS", "GOVERNS", "MESSAGE"], rows)}${footer}`;
}

const formatNotes = (notes: readonly string[]): string =>
  notes.length === 0 ? "" : `\n${notes.map((note) => `${note}\n`).join("")}`;

/** Explains one placement against the clusters and placements of a workspace. */
export function explainOne(
  placement: WorkloadPlacement,
  facts: Readonly<{
    registrations: readonly ClusterRegistration[];
    saved: readonly WorkloadPlacement[];
    nowMs: number;
  }>,
  whatIf: WhatIf = {},
): Explanation {
  const usage = new ClusterLoad();
  usage.update(facts.saved);
  const name = placement.metadata.name ?? "";
  return explainPlacement(
    {
      placement,
      clusters: facts.registrations.map(clusterFacts),
      load: usage.excluding(name),
      reserved: usage.reservedExcluding(name),
      nowMs: facts.nowMs,
    },
    whatIf,
  );
}

async function readPlacements(io: CliIo, filename: string): Promise<readonly WorkloadPlacement[]> {
  if (filename === "-") return parsePlacements(await io.readInput(), "standard input");
  const text = await readFile(filename, "utf8").catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const reason = code === "ENOENT" ? "no such file" : code === "EISDIR" ? "is a directory" : "cannot be read";
    throw new Error(`${filename}: ${reason}`, { cause: error });
  });
  return parsePlacements(text, filename);
}

/** Returns a function that gives a placement from a manifest the status of the existing placement of that name. */
function withSavedStatus(saved: readonly WorkloadPlacement[]): (manifest: WorkloadPlacement) => WorkloadPlacement {
  const byName = new Map(saved.map((placement) => [placement.metadata.name, placement]));
  return (manifest) => {
    const present = byName.get(manifest.metadata.name);
    if (present === undefined) return manifest;
    const { generation = 0 } = present.metadata;
    const isSame = isDeepStrictEqual(manifest.spec, present.spec);
    return {
      ...manifest,
      metadata: { ...manifest.metadata, generation: isSame ? generation : generation + 1 },
      ...(present.status === undefined ? {} : { status: present.status }),
    };
  };
}

function formatExplanations(explained: readonly ExplainedPlacement[], output: Output): string {
  if (output === "json" || output === "yaml") {
    const documents = explained.map(explanationDocument);
    const [first] = documents;
    return formatDocument(documents.length === 1 && first !== undefined ? first : documents, output);
  }
  return explained.map((each) => explanationTable(each, output === "wide")).join("\n");
}

function explanationDocument({ placement, explanation, assumptions, notes }: ExplainedPlacement): object {
  const { plan, decisions } = explanation;
  const ready = findCondition(plan.status.conditions, "Ready");
  return {
    placement: placement.metadata.name,
    strategy: plan.status.strategy,
    ...(assumptions === "" ? {} : { assuming: assumptions }),
    ...(notes.length === 0 ? {} : { notes }),
    selectedClusters: plan.status.selectedClusters ?? [],
    ready: { status: ready?.status, reason: ready?.reason, message: ready?.message },
    decisions: decisions.map(({ cluster, selected, reason, message, hints, load, use, ...detail }) => ({
      cluster,
      selected,
      reason,
      message,
      ...detail,
      ...(load === undefined ? {} : { otherPlacements: load }),
      ...(use === undefined ? {} : { resources: use }),
      ...(selected ? {} : { wouldFitWith: hints }),
    })),
  };
}

/** Why the pods that TMC did not place are not counted on a cluster. */
function uncountedPods({ metadata: { name }, status }: ClusterRegistration): readonly string[] {
  if (status?.allocatable === undefined) return [];
  const { otherPods } = status;
  if (otherPods === undefined) return [`${name}: only placements count; TMC has not read its pods yet`];
  if (otherPods.unknown === undefined) return [];
  const why =
    otherPods.unknown === "Forbidden" ? "the credentials may not list pods" : "it has more pods than TMC reads";
  return [`${name}: only placements count; ${why}`];
}

function formatUse(use: readonly ResourceUse[]): string {
  return use
    .map(({ resource, allocatable, reserved, otherPods, free }) => {
      const others = otherPods === undefined ? "" : `, other pods ${otherPods}`;
      return `${free} of ${allocatable} ${resource} (placements ${reserved}${others})`;
    })
    .join(", ");
}

function explanationTable({ placement, explanation, assumptions, notes }: ExplainedPlacement, wide: boolean): string {
  const { plan, decisions } = explanation;
  const ready = findCondition(plan.status.conditions, "Ready");
  const head = `${placement.metadata.name}: ${ready?.message ?? "not decided"}${assumptions === "" ? "" : ` (assuming ${assumptions})`}\n`;
  const hasUse = decisions.some(({ use }) => use !== undefined);
  const columns = [
    "CLUSTER",
    "SELECTED",
    "REASON",
    "EXPECTED",
    "ACTUAL",
    "SCORE",
    ...(hasUse ? ["FREE"] : []),
    "WOULD FIT WITH",
  ];
  const rows = decisions.map((decision) => {
    const { cluster, selected, reason, rule, expected, actual, score, parts, load, hints, use = [] } = decision;
    const row = [
      cluster,
      selected ? "yes" : "no",
      reason,
      expected ?? "-",
      actual ?? "-",
      score === undefined ? "-" : String(score),
      ...(hasUse ? [use.length === 0 ? "-" : formatUse(use)] : []),
      selected || hints.length === 0 ? "-" : hints.join(" and "),
    ];
    if (!wide) return row;
    const scored = (parts ?? []).map(({ name, value }) => `${name} ${value > 0 ? "+" : ""}${value}`).join(", ");
    return [...row, rule ?? "-", scored === "" ? "-" : scored, load === undefined ? "-" : String(load)];
  });
  if (rows.length === 0) return head + formatNotes(notes);
  const table = formatTable(wide ? [...columns, "RULE", "SCORE PARTS", "OTHER PLACEMENTS"] : columns, rows);
  return `${head}\n${table}${formatNotes(notes)}`;
}

function formatAssumptions({ withoutClusters = [], withTaints = [] }: WhatIf): string {
  return [
    ...withoutClusters.map((name) => `no cluster ${name}`),
    ...withTaints.map(({ taint: { key, value, effect }, cluster }) => {
      const text = value === "" ? `${key}:${effect}` : `${key}=${value}:${effect}`;
      return `taint ${text} on ${cluster ?? "all clusters"}`;
    }),
  ].join(", ");
}

/** Parses `cluster:key=value:effect`, or `key=value:effect` for all clusters, and adds it to the previous taints. */
function collectTaint(text: string, previous: readonly HypotheticalTaint[] = []): readonly HypotheticalTaint[] {
  const [, cluster, taint = text] = /^([^:@=]+):([^:@]+:[^:@]+)$/.exec(text) ?? [];
  try {
    return [...previous, parseHypotheticalTaint(cluster === undefined ? text : `${taint}@${cluster}`)];
  } catch {
    throw new InvalidArgumentError(
      "expected key=value:effect, or cluster:key=value:effect for one cluster; the effects are NoSchedule, PreferNoSchedule and NoExecute.",
    );
  }
}
