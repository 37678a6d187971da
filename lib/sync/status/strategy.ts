import { type StatusStrategy, statusStrategies, type TypeStatusRule } from "../../api/workload-kinds.ts";
import type { ConditionRules } from "./conditions.ts";
import type { StatusCopy, View } from "./facts.ts";
import { common, type FieldRule, same, united } from "./field-rules.ts";

/**
 * By this annotation its owner says how the statuses of a custom resource become one; on the definition of a type, the
 * operator says so for all of its objects.
 */
export const statusStrategyAnnotation = "tmc.kcp.io/status-strategy";

/** By this annotation on the definition of a type the operator names the fields of a status that are added up, with commas. */
export const statusSumAnnotation = "tmc.kcp.io/status-sum";

export type StrategyWish = Readonly<{
  /** Undefined stands for the safe rule. */
  strategy: StatusStrategy | undefined;
  /** What is wrong with the annotation, in words; what is said elsewhere holds then. */
  problem?: string;
}>;

type Texts = Readonly<Record<string, string>> | undefined;

/** Reads what the definition of a type says of its statuses; a word that makes no sense says nothing. */
export function typeStatusRule(annotations: Texts): TypeStatusRule {
  const fields = (annotations?.[statusSumAnnotation] ?? "").split(",").map((field) => field.trim());
  return { strategy: wordIn(annotations), sum: new Set(fields.filter((field) => field !== "")) };
}

/** Which strategy holds: the owner of a workload goes before its placement, and that before the definition of the type. */
export function strategyOf(
  annotations: Texts,
  { placement, type }: Readonly<{ placement?: string | undefined; type?: StatusStrategy | undefined }> = {},
): StrategyWish {
  const otherwise = statusStrategies.find((each) => each === placement?.toLowerCase()) ?? type;
  const word = annotations?.[statusStrategyAnnotation];
  if (word === undefined) return { strategy: otherwise };
  const strategy = wordIn(annotations);
  if (strategy !== undefined) return { strategy };
  const problem = `${statusStrategyAnnotation} is ${JSON.stringify(word.slice(0, 63))}, which is none of ${statusStrategies.join(", ")}`;
  return { strategy: otherwise, problem };
}

function wordIn(annotations: Texts): StatusStrategy | undefined {
  return statusStrategies.find((each) => each === annotations?.[statusStrategyAnnotation]);
}

/** The copies in the order of the placement's clusters, then those that it does not name. */
export function byPlacement({ copies, wanted }: View): readonly StatusCopy[] {
  const places = new Map(wanted.map((name, place) => [name, place]));
  const placeOf = ({ cluster }: StatusCopy): number => places.get(cluster) ?? wanted.length;
  // The sort is stable, so equals stay in the order of their names.
  return copies.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** The copies as they were heard of, the last first: our own clock decides, as those of the clusters may disagree. */
export function byHearing(view: View): readonly StatusCopy[] {
  return byPlacement(view).toSorted((one, other) => other.seenMs - one.seenMs);
}

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
