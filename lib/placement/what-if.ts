import { decide, type Plan } from "./decide.ts";
import type { Decision } from "./explain.ts";
import { filters } from "./filters.ts";
import type { ClusterFacts, Observed, Taint, TaintEffect } from "./observed.ts";
import { InvalidWish, tryReadWish, type Wish } from "./parsed-spec.ts";

/** A world that is not: the same facts with clusters taken away or tainted. */
export type WhatIf = Readonly<{ withoutClusters?: readonly string[]; withTaints?: readonly SupposedTaint[] }>;
/** A taint as it is supposed, on one cluster or on all of them. */
export type SupposedTaint = Readonly<{ taint: Pick<Taint, "key" | "value" | "effect">; cluster: string | undefined }>;

export type ExplainedDecision = Decision &
  Readonly<{
    /** What would make a rejected cluster fit; all of it together. */
    hints: readonly string[];
    /** How many other placements use the cluster, where that is known. */
    load?: number;
  }>;
export type Explanation = Readonly<{
  plan: Plan;
  /** Every cluster, none left out. */
  decisions: readonly ExplainedDecision[];
  /** Clusters of which something was supposed and that are not there. */
  unknownClusters: readonly string[];
}>;

/** Decides a placement, saved or not, and explains every cluster, as things are or as they might be; nothing is written. */
export function explainFor(observed: Observed, whatIf: WhatIf = {}): Explanation {
  const supposed = suppose(observed, whatIf);
  const plan = decide(supposed, { entries: Infinity, bytes: Infinity });
  const facts = new Map(supposed.clusters.map((cluster) => [cluster.name, cluster]));
  const wish = tryReadWish(observed.placement);
  const decisions = (plan.status.decisions ?? []).map((decision): ExplainedDecision => {
    const cluster = facts.get(decision.cluster);
    const load =
      supposed.load === undefined || cluster === undefined ? {} : { load: supposed.load.get(cluster.name) ?? 0 };
    return { ...decision, hints: wish instanceof InvalidWish ? [] : hintsFor(wish, decision, cluster), ...load };
  });
  const known = new Set(observed.clusters.map(({ name }) => name));
  const named = [
    ...(whatIf.withoutClusters ?? []),
    ...(whatIf.withTaints ?? []).flatMap(({ cluster }) => cluster ?? []),
  ];
  return { plan, decisions, unknownClusters: [...new Set(named)].filter((name) => !known.has(name)).toSorted() };
}

/** Reads `key=value:effect` or `key:effect`, with `@cluster` behind it for one cluster only; throws with the right form. */
export function parseSupposedTaint(text: string): SupposedTaint {
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

function suppose(observed: Observed, { withoutClusters = [], withTaints = [] }: WhatIf): Observed {
  const clusters = observed.clusters
    .filter(({ name }) => !withoutClusters.includes(name))
    .map((cluster): ClusterFacts => {
      const added = withTaints
        .filter((each) => each.cluster === undefined || each.cluster === cluster.name)
        .map(({ taint }): Taint => ({ ...taint, addedMs: observed.nowMs }));
      return added.length === 0 ? cluster : { ...cluster, taints: [...cluster.taints, ...added] };
    });
  return { ...observed, clusters };
}

function hintsFor(wish: Wish, decision: Decision, cluster: ClusterFacts | undefined): readonly string[] {
  if (decision.selected) return [];
  if (cluster === undefined) return ["a registration of that name"];
  if (decision.reason === "SkewTooLarge") return [`a larger maxSkew in ${decision.rule ?? "spreadConstraints"}`];
  if (cluster.deleting) return [];
  return filters
    .filter((filter) => filter.fails(wish, cluster))
    .map((filter) => filter.remedy(wish, cluster))
    .filter((remedy) => remedy !== undefined);
}
