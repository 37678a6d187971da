import { type ResourceUse, resourceUse } from "./capacity.ts";
import { decidePlacement, type PlacementPlan } from "./decide.ts";
import type { ClusterDecision } from "./explain.ts";
import { filters } from "./filters.ts";
import type { ClusterFacts, ClusterTaint, ObservedPlacement, TaintEffect } from "./observed.ts";
import { InvalidSpec, type ParsedSpec, tryParseSpec } from "./parsed-spec.ts";

/** Hypothetical changes of the observed facts: clusters removed or tainted. */
export type WhatIf = Readonly<{ withoutClusters?: readonly string[]; withTaints?: readonly HypotheticalTaint[] }>;
/** A taint to add to one cluster, or to all if `cluster` is undefined. */
export type HypotheticalTaint = Readonly<{
  taint: Pick<ClusterTaint, "key" | "value" | "effect">;
  cluster: string | undefined;
}>;

export type ExplainedDecision = ClusterDecision &
  Readonly<{
    /** What a rejected cluster would need to fit; all hints together are sufficient. */
    hints: readonly string[];
    /** Number of other placements on the cluster, if known. */
    load?: number;
    /** How the requested resources are used on the cluster; unset if the placement requests none. */
    use?: readonly ResourceUse[];
  }>;
export type Explanation = Readonly<{
  plan: PlacementPlan;
  /** The decisions of all clusters, without bounds. */
  decisions: readonly ExplainedDecision[];
  /** Clusters that the what-if names and that do not exist. */
  unknownClusters: readonly string[];
}>;

/** Decides a placement, stored or not, with optional hypothetical changes, and explains every cluster. Writes nothing. */
export function explainPlacement(observed: ObservedPlacement, whatIf: WhatIf = {}): Explanation {
  const hypothetical = applyWhatIf(observed, whatIf);
  const plan = decidePlacement(hypothetical, { entries: Infinity, bytes: Infinity });
  const facts = new Map(hypothetical.clusters.map((cluster) => [cluster.name, cluster]));
  const spec = tryParseSpec(observed.placement);
  const decisions = (plan.status.decisions ?? []).map((decision): ExplainedDecision => {
    const cluster = facts.get(decision.cluster);
    const load =
      hypothetical.load === undefined || cluster === undefined
        ? {}
        : { load: hypothetical.load.get(cluster.name) ?? 0 };
    if (spec instanceof InvalidSpec) return { ...decision, hints: [], ...load };
    const use = cluster === undefined ? [] : resourceUse(spec, cluster, hypothetical.reserved);
    return { ...decision, hints: hintsFor(spec, decision, cluster), ...load, ...(use.length > 0 && { use }) };
  });
  const known = new Set(observed.clusters.map(({ name }) => name));
  const named = [
    ...(whatIf.withoutClusters ?? []),
    ...(whatIf.withTaints ?? []).flatMap(({ cluster }) => cluster ?? []),
  ];
  return { plan, decisions, unknownClusters: [...new Set(named)].filter((name) => !known.has(name)).toSorted() };
}

/** Parses `key=value:effect` or `key:effect`, optionally followed by `@cluster`; throws an error that shows the form. */
export function parseHypotheticalTaint(text: string): HypotheticalTaint {
  const [, key, value, effectText, cluster] =
    /^([^=:@\s]+)(?:=([^:@\s]*))?:([A-Za-z]+)(?:@([^@\s]+))?$/.exec(text) ?? [];
  const effect = effects.find((each) => each === effectText);
  if (key === undefined || effect === undefined) {
    throw new Error(
      `taint ${JSON.stringify(text)}: write key=value:effect or key=value:effect@cluster, with one of ${effects.join(", ")}`,
    );
  }
  return { taint: { key, value: value ?? "", effect }, cluster };
}

const effects: readonly TaintEffect[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function applyWhatIf(
  observed: ObservedPlacement,
  { withoutClusters = [], withTaints = [] }: WhatIf,
): ObservedPlacement {
  const clusters = observed.clusters
    .filter(({ name }) => !withoutClusters.includes(name))
    .map((cluster): ClusterFacts => {
      const added = withTaints
        .filter((each) => each.cluster === undefined || each.cluster === cluster.name)
        .map(({ taint }): ClusterTaint => ({ ...taint, addedMs: observed.nowMs }));
      return added.length === 0 ? cluster : { ...cluster, taints: [...cluster.taints, ...added] };
    });
  return { ...observed, clusters };
}

function hintsFor(spec: ParsedSpec, decision: ClusterDecision, cluster: ClusterFacts | undefined): readonly string[] {
  if (decision.selected) return [];
  if (cluster === undefined) return ["a registration of that name"];
  if (decision.reason === "InsufficientCapacity") return [`${decision.expected ?? "resources"} free`];
  if (decision.reason === "SkewTooLarge") return [`a larger maxSkew in ${decision.rule ?? "spreadConstraints"}`];
  if (cluster.deleting) return [];
  return filters
    .filter((filter) => filter.fails(spec, cluster))
    .map((filter) => filter.remedy(spec, cluster))
    .filter((remedy) => remedy !== undefined);
}
