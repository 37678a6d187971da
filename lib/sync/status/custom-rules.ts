import type { StatusStrategy } from "../../api/workload-kinds.ts";
import type { StatusCopy, View } from "./facts.ts";
import { common, type FieldRule, same, united } from "./field-rules.ts";
import type { ConditionRules } from "./merged-conditions.ts";
import { byHearing, byPlacement } from "./strategy.ts";

/** How the statuses of a type of which we know nothing become one. */
export type CustomRules = Readonly<{
  /** Those whose word counts, in the order in which it does. */
  heed: (view: View) => readonly StatusCopy[];
  field: FieldRule;
  conditions: ConditionRules;
}>;

const everyone = ({ copies }: View): readonly StatusCopy[] => copies;

/** What is alike is kept. Numbers that differ are not added up: nobody knows whether they count anything. */
export const safeRules: CustomRules = { heed: everyone, field: same, conditions: {} };

export const rulesOfStrategy: Readonly<Record<StatusStrategy, CustomRules>> = {
  union: { heed: byPlacement, field: united, conditions: {} },
  intersection: { heed: everyone, field: common, conditions: { onlyShared: true } },
  priority: { heed: (view) => byPlacement(view).slice(0, 1), field: same, conditions: { isOneVoice: true } },
  latest: { heed: (view) => byHearing(view).slice(0, 1), field: same, conditions: { isOneVoice: true } },
};
