import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseLabelSelector } from "@tmc/kube/selector.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { formatApiVersion } from "../../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../api/workload-placement.ts";
import { waitUntil } from "../../install/wait.ts";
import { findCondition } from "../../model/condition.ts";
import { parseDurationSeconds } from "../../model/timestamp.ts";
import { type CliIo, UsageError } from "../cli-io.ts";
import { collectLabel, collectList } from "../names.ts";
import { type DryRun, dryRunOption, dryRunText, timeoutOption, type WaitFlags } from "../options.ts";
import { asManifest, type Output, outputOption, printObject } from "../output.ts";
import {
  type NamedType,
  parseWorkloadArgument,
  parseWorkloadType,
  workloadTitle,
} from "../workload/workload-argument.ts";
import { readKind, readWorkload } from "../workload/workload-read.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import { placementArgument, placementResource, placementStatus, reasonForNoWorkloads } from "./placement-view.ts";

type Spec = WorkloadPlacement["spec"];
type WorkloadSelector = NonNullable<Spec["workloadSelector"]>;
type WorkloadLabels = NonNullable<WorkloadSelector["labelSelector"]>;
type Toleration = NonNullable<Spec["tolerations"]>[number];
const strategies = ["RoundRobin", "Spread", "Affinity"] as const;
const replicaModes = ["Duplicated", "Divided"] as const;

type SelectionFlags = Readonly<{
  for?: string;
  namespace?: readonly string[];
  selector?: WorkloadLabels;
  type?: readonly NamedType[];
  allWorkloads?: true;
}>;

type ClusterFlags = Readonly<{
  strategy?: (typeof strategies)[number];
  locationSelector?: Readonly<Record<string, string>>;
  capability?: readonly string[];
  cluster?: readonly string[];
  preferCluster?: readonly string[];
  clusters?: number;
  spreadBy?: readonly string[];
  toleration?: readonly Toleration[];
  replicas?: (typeof replicaModes)[number];
}>;

type CreateOptions = WorkspaceOptions &
  WaitFlags &
  SelectionFlags &
  ClusterFlags &
  Readonly<{ dryRun?: DryRun; output: Output }>;

const help = `
A placement places only the workloads that it selects. --for selects one
workload by labels that no other workload of its type and namespace has. The
other options can be combined: a workload must match all of them.

Examples:
  # Place one Deployment on two clusters
  tmc placement create web --for deployment/web -n shop --clusters 2

  # Place everything in a namespace, spread over the clusters of a region
  tmc placement create shop -n shop --strategy Spread \\
    --location-selector region=us-west

  # Place all Jobs with a label on clusters with GPUs, and wait
  tmc placement create training --type job --selector team=ml \\
    --capability gpu --wait

  # Write a manifest without a server
  tmc placement create shop -n shop --dry-run=client -o yaml > shop.yaml
`;

/** Creates the `placement create` command. */
export function createCommand(io: CliIo): Command {
  return withWorkspaceOptions(clusterOptions(selectionOptions(new Command("create"))))
    .summary("Create a placement")
    .description(
      "Create a placement from options. Fields without an option can be set in a manifest and applied with kubectl apply -f.",
    )
    .addArgument(placementArgument())
    .addOption(dryRunOption("placement"))
    .option("--wait", "Wait until the placement is Ready")
    .addOption(timeoutOption())
    .addOption(outputOption(["table", "json", "yaml"]))
    .addHelpText("after", help)
    .action((name: string, options: CreateOptions) => create(io, name, options));
}

function selectionOptions(command: Command): Command {
  const add = (option: Option): Command => command.addOption(option.helpGroup("Workloads to place:"));
  add(new Option("--for <kind/name>", "One workload, such as deployment/web; its namespace is that of -n"));
  add(
    new Option("-n, --namespace <name>", "Namespace of the workloads; can be repeated or comma-separated").argParser(
      collectList,
    ),
  );
  add(
    new Option("--selector <labels>", "Labels of the workloads, such as app=web,tier!=test").argParser(parseSelector),
  );
  add(new Option("--type <type>", "Type of the workloads, such as deployment; can be repeated").argParser(collectType));
  return add(new Option("--all-workloads", "All workloads of the workspace"));
}

function clusterOptions(command: Command): Command {
  const add = (option: Option): Command => command.addOption(option.helpGroup("Clusters to select:"));
  add(new Option("--strategy <strategy>", "Strategy that selects the clusters").choices(strategies));
  add(new Option("--clusters <number>", "Maximum number of clusters").argParser(parseCount));
  add(
    new Option(
      "--cluster <name>",
      "Name of a cluster to which the selection is limited; can be repeated or comma-separated",
    ).argParser(collectList),
  );
  add(
    new Option("--prefer-cluster <name>", "Name of a preferred cluster; can be repeated or comma-separated").argParser(
      collectList,
    ),
  );
  add(
    new Option(
      "--location-selector <key=value>",
      "Label that a cluster must have; location, region and zone match too; can be repeated",
    ).argParser(collectLabel),
  );
  add(
    new Option(
      "--capability <type>",
      "Capability that a cluster must have; can be repeated or comma-separated",
    ).argParser(collectList),
  );
  add(
    new Option(
      "--spread-by <key>",
      "Label of clusters, or location, region or zone, over whose values the clusters are spread evenly; can be repeated",
    ).argParser(collectList),
  );
  add(
    new Option(
      "--toleration <taint>",
      "Taint to tolerate, as key[=value][:effect[:duration]], such as upgrade or tmc.kcp.io/not-ready:NoExecute:60s; can be repeated",
    ).argParser(collectToleration),
  );
  return add(
    new Option(
      "--replicas <mode>",
      "Duplicated: each cluster runs all replicas of a workload; Divided: the clusters share them",
    ).choices(replicaModes),
  );
}

async function create(io: CliIo, name: string, options: CreateOptions): Promise<void> {
  const { output, dryRun, wait, timeout } = options;
  checkSelection(options);
  const isOffline = dryRun === "client" && !needsServer(options);
  const work = async (workspace: OpenWorkspace | undefined): Promise<void> => {
    const workloadSelector = await selectorOf(workspace, options);
    const manifest = newPlacement(name, options, workloadSelector);
    const placement =
      dryRun === "client" || workspace === undefined ? manifest : await send(workspace, manifest, dryRun);
    await printObject(io, dryRun === undefined ? placement : asManifest(placement), {
      output,
      text: () => `${placementResource}/${name} created${dryRunText(dryRun)}\n`,
    });
    if (workloadSelector === undefined) {
      io.err(
        `warning: placement ${name} selects no workloads; select them with --for, -n, --selector, --type or --all-workloads\n`,
      );
    }
    if (wait === true && dryRun === undefined && workspace !== undefined) {
      await waitUntilReady(io, workspace, name, timeout);
    }
  };
  await (isOffline ? work(undefined) : inWorkspace(io, options, work));
}

async function send(
  { client }: OpenWorkspace,
  placement: WorkloadPlacement,
  dryRun: DryRun | undefined,
): Promise<WorkloadPlacement> {
  return client
    .create<WorkloadPlacement>({ type: resourceTypes.placements }, placement, {
      dryRun: dryRun !== undefined,
      fieldManager: "tmc-cli",
      fieldValidation: "Strict",
    })
    .catch((error: unknown) => {
      if (faultOf(error) !== "exists") throw error;
      throw new Error(`placement "${placement.metadata.name}": already exists`, { cause: error });
    });
}

async function waitUntilReady(
  io: CliIo,
  workspace: OpenWorkspace,
  name: string,
  timeoutSeconds: number,
): Promise<void> {
  const placement = await waitUntil(
    `placement ${name} to be Ready`,
    async () => {
      const found = await workspace.placement(name);
      if (placementStatus(found) === "Ready") return { done: found };
      const ready = findCondition(found.status?.conditions, "Ready");
      return { missing: ready === undefined ? "no controller has decided it" : `${ready.reason}: ${ready.message}` };
    },
    { timeoutMs: timeoutSeconds * 1000, clock: io.clock },
  );
  const clusters = (placement.status?.selectedClusters ?? []).join(", ");
  const reason = reasonForNoWorkloads(placement);
  const nothing = reason === undefined ? "" : `, but places no workloads: ${reason}`;
  io.out(`${placementResource}/${name} is Ready on ${clusters}${nothing}\n`);
}

function newPlacement(
  name: string,
  options: ClusterFlags,
  workloadSelector: WorkloadSelector | undefined,
): WorkloadPlacement {
  const { strategy, locationSelector, capability, cluster, preferCluster, clusters } = options;
  const { spreadBy, toleration, replicas } = options;
  return {
    apiVersion: formatApiVersion(workloadPlacement),
    kind: "WorkloadPlacement",
    metadata: { name },
    spec: {
      ...(workloadSelector === undefined ? {} : { workloadSelector }),
      ...(strategy === undefined ? {} : { strategy }),
      ...(locationSelector === undefined ? {} : { locationSelector: { matchLabels: { ...locationSelector } } }),
      ...(capability === undefined
        ? {}
        : { capabilityRequirements: capability.map((type) => ({ type, required: true })) }),
      ...(cluster === undefined ? {} : { clusterNames: cluster }),
      ...(preferCluster === undefined ? {} : { preferredClusters: preferCluster }),
      ...(clusters === undefined ? {} : { numberOfClusters: clusters }),
      ...(spreadBy === undefined ? {} : { spreadConstraints: spreadBy.map((topologyKey) => ({ topologyKey })) }),
      ...(toleration === undefined ? {} : { tolerations: toleration }),
      ...(replicas === undefined ? {} : { replicas: { mode: replicas } }),
    },
  };
}

function checkSelection({ for: workload, namespace = [], selector, type, allWorkloads }: SelectionFlags): void {
  const others = [
    ...(selector === undefined ? [] : ["--selector"]),
    ...(type === undefined ? [] : ["--type"]),
    ...(allWorkloads === undefined ? [] : ["--all-workloads"]),
  ];
  if (workload !== undefined && others.length > 0) {
    throw new UsageError(`--for selects one workload and excludes ${others.join(" and ")}`);
  }
  if (workload !== undefined && namespace.length > 1) throw new UsageError("--for accepts only one --namespace");
  if (allWorkloads === true && (others.length > 1 || namespace.length > 0)) {
    throw new UsageError("--all-workloads excludes --namespace, --selector and --type");
  }
}

/** --for reads the workload, and the kind of a custom resource is known only to the server. */
function needsServer({ for: workload, type = [] }: SelectionFlags): boolean {
  return workload !== undefined || type.some(({ kind }) => kind === undefined);
}

async function selectorOf(
  workspace: OpenWorkspace | undefined,
  flags: SelectionFlags,
): Promise<WorkloadSelector | undefined> {
  const { for: workload, namespace, selector, type, allWorkloads } = flags;
  if (allWorkloads === true) return {};
  if (workload !== undefined && workspace !== undefined) {
    return selectorForOne(workspace, workload, namespace?.[0] ?? workspace.namespace);
  }
  if (namespace === undefined && selector === undefined && type === undefined) return undefined;
  return {
    ...(selector === undefined ? {} : { labelSelector: selector }),
    ...(type === undefined ? {} : { workloadTypes: await Promise.all(type.map((each) => kindOf(workspace, each))) }),
    ...(namespace === undefined ? {} : { namespaces: namespace }),
  };
}

async function selectorForOne(
  workspace: OpenWorkspace,
  argument: string,
  namespace: string,
): Promise<WorkloadSelector> {
  const named = parseWorkloadArgument(argument);
  const { workload, apiVersion, kind } = await readWorkload(workspace, named, { namespace, metadataOnly: false });
  const title = workloadTitle({ apiVersion, kind, name: named.name });
  if (workload === undefined) throw new Error(`${title}: not found in namespace ${namespace}`);
  const { items } = await workspace.client.metadata.listAll<KubeObject>({ type: named.type, namespace });
  const others = items.filter(({ metadata }) => metadata.name !== named.name);
  const labels = labelsOfOne(
    workload.metadata.labels ?? {},
    others.map(({ metadata }) => metadata.labels ?? {}),
  );
  if (labels === undefined) {
    const command = `kubectl label ${argument} -n ${namespace} placed-alone=${named.name}`;
    throw new Error(
      `${title} has no labels that only it has in namespace ${namespace}; add one (${command}), or use --selector`,
    );
  }
  return { labelSelector: { matchLabels: labels }, workloadTypes: [{ apiVersion, kind }], namespaces: [namespace] };
}

/** The labels that name an application come first; they do not change with a new version of it. */
const namingLabels = [
  "app.kubernetes.io/instance",
  "app.kubernetes.io/name",
  "app.kubernetes.io/component",
  "app",
  "k8s-app",
  "name",
  "component",
];
/** Labels that change with a release would make the placement lose the workload. */
const changingLabel = /version|revision|chart|hash|release-date|managed-by|heritage/i;

/**
 * Returns as few labels of a workload as distinguish it from others; at least one, because others may follow. Returns undefined
 * if there are none.
 */
export function labelsOfOne(
  labels: Readonly<Record<string, string>>,
  others: readonly Readonly<Record<string, string>>[],
): Readonly<Record<string, string>> | undefined {
  const rank = (key: string): number => (namingLabels.includes(key) ? namingLabels.indexOf(key) : namingLabels.length);
  const candidates = Object.entries(labels)
    .filter(([key]) => !changingLabel.test(key))
    .toSorted(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1));
  const chosen: [string, string][] = [];
  let remaining = others;
  for (const [key, value] of candidates) {
    const matching = remaining.filter((each) => each[key] === value);
    if (chosen.length > 0 && matching.length === remaining.length) continue;
    chosen.push([key, value]);
    remaining = matching;
    if (remaining.length === 0) return Object.fromEntries(chosen);
  }
  return undefined;
}

async function kindOf(
  workspace: OpenWorkspace | undefined,
  { type, apiVersion, kind }: NamedType,
): Promise<Readonly<{ apiVersion: string; kind: string }>> {
  const version = apiVersion ?? type.version;
  const found = kind ?? (workspace === undefined ? undefined : await readKind(workspace, type));
  if (found === undefined)
    throw new Error(`--type ${type.plural}.${type.version}.${type.group}: the server does not serve it`);
  return { apiVersion: version, kind: found };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("expected a whole number of at least 1.");
  return count;
}

function collectType(text: string, previous: readonly NamedType[] = []): readonly NamedType[] {
  const types = collectList(text).map((each) => {
    try {
      return parseWorkloadType(each);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? `${error.message}.` : String(error));
    }
  });
  return [...previous, ...types];
}

const objectOperators = { in: "In", notin: "NotIn", exists: "Exists", "!": "DoesNotExist" } as const;

/** Parses a selector in the notation of kubectl into the notation of objects. */
function parseSelector(text: string): WorkloadLabels {
  let requirements: ReturnType<typeof parseLabelSelector>;
  try {
    requirements = parseLabelSelector(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? `${error.message}.` : String(error));
  }
  if (requirements.length === 0) throw new InvalidArgumentError("expected at least one label.");
  const matchLabels: Record<string, string> = {};
  const matchExpressions: NonNullable<WorkloadLabels["matchExpressions"]>[number][] = [];
  for (const { key, operator, values } of requirements) {
    const [value] = values;
    if (operator === "gt" || operator === "lt") throw new InvalidArgumentError("< and > are not supported.");
    if (operator === "in" && values.length === 1 && value !== undefined && !(key in matchLabels)) {
      matchLabels[key] = value;
      continue;
    }
    const expression = { key, operator: objectOperators[operator] };
    matchExpressions.push(values.length === 0 ? expression : { ...expression, values });
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

/** Parses `key`, `key=value`, `key:effect`, `key=value:effect` or `key:NoExecute:60s`, and adds it to the previous ones. */
function collectToleration(text: string, previous: readonly Toleration[] = []): readonly Toleration[] {
  const form = `expected key[=value][:effect[:duration]], with an effect of ${effects.join(", ")}, and a duration such as 60s for NoExecute.`;
  const [taint = "", effectText, duration, ...rest] = text.split(":");
  const [, key, value] = /^([^=\s]+)(?:=([^=\s]*))?$/.exec(taint) ?? [];
  const effect = effects.find((each) => each === effectText);
  const tolerationSeconds = duration === undefined ? undefined : parseDurationSeconds(duration);
  const isWrong =
    key === undefined ||
    rest.length > 0 ||
    (effectText !== undefined && effect === undefined) ||
    (duration !== undefined && (tolerationSeconds === undefined || effect !== "NoExecute"));
  if (isWrong) throw new InvalidArgumentError(form);
  const toleration: Toleration = {
    key,
    ...(value === undefined ? { operator: "Exists" } : { operator: "Equal", value }),
    ...(effect === undefined ? {} : { effect }),
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds: Math.ceil(tolerationSeconds) }),
  };
  return [...previous, toleration];
}
