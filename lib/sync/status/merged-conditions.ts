import type { JsonObject } from "@tmc/kube/kube-object.ts";
import type { StatusCopy, View } from "./facts.ts";
import { isBadNews } from "./polarity.ts";
import { observedGenerationOf } from "./reached.ts";
import { conditionOf, conditionsOf, type StatusCondition } from "./status-conditions.ts";
import { worstCondition } from "./worst-condition.ts";

/** What is particular to the conditions of a type. */
export type ConditionRules = Readonly<{
  /** Conditions that hold only when they hold on every cluster that it belongs on; left out until then. */
  onceAll?: ReadonlySet<string>;
  /** Whether every condition of the type tells of something out of the ordinary. */
  areAllBadNews?: boolean;
  /** Leaves out what not every cluster has a word on. */
  onlyShared?: boolean;
  /** Whether one cluster speaks for all, so that its words stay as they are. */
  isOneVoice?: boolean;
}>;

export type MergeFacts = Readonly<{
  view: View;
  /** Those whose word counts. */
  copies: readonly StatusCopy[];
  rules: ConditionRules;
  previous: JsonObject | undefined;
  observedGeneration: number | undefined;
  now: string;
}>;

/** Makes one list of conditions of those of all copies: of each type the worst. */
export function mergedConditions({
  view,
  copies,
  rules,
  previous,
  observedGeneration,
  now,
}: MergeFacts): readonly StatusCondition[] {
  const byName = copies.toSorted((one, other) => (one.cluster < other.cluster ? -1 : 1));
  const types = new Set(byName.flatMap(({ status }) => (conditionsOf(status) ?? []).map(({ type }) => type)));
  return [...types].flatMap((type): StatusCondition[] => {
    const words = byName.map(({ cluster, status }) => ({ cluster, condition: conditionOf(status, type) }));
    const isEverywhere = words.every(({ condition }) => condition !== undefined);
    if (rules.onlyShared === true && !isEverywhere) return [];
    if (view.isSeveral && rules.onceAll?.has(type) === true) {
      const isTrue = words.every(({ condition }) => condition?.status === "True");
      if (!isTrue || view.missing.length > 0) return [];
    }
    const before = conditionOf(previous, type);
    const condition = worstCondition({
      type,
      words,
      isBadNews: rules.areAllBadNews === true || isBadNews(type),
      isSeveral: view.isSeveral && rules.isOneVoice !== true,
      previous: before,
      observedGeneration: observedGeneration ?? observedGenerationOf(before),
      now,
    });
    return [condition];
  });
}
