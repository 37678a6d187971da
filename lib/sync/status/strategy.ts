import { userAnnotations } from "../../api/annotations.ts";
import { type StatusStrategy, statusStrategies, type TypeStatusRule } from "../../api/workload-kinds.ts";
import type { ConditionRules } from "./conditions.ts";
import type { StatusCopy, StatusView } from "./facts.ts";
import { equalOnly, type FieldRule, intersection, union } from "./field-rules.ts";

/**
 * The annotation that chooses how the statuses of a custom resource are aggregated: on a workload by its owner, on the
 * definition of a type by the operator for all of its objects.
 */
export const statusStrategyAnnotation = userAnnotations.statusStrategy.name;

/** The annotation on the definition of a type with the comma-separated status fields that are added up. */
export const statusSumAnnotation = userAnnotations.statusSum.name;

export type ChosenStrategy = Readonly<{
  /** Undefined for the safe rules. */
  strategy: StatusStrategy | undefined;
  /** What is wrong with the workload's annotation; the placement's or the type's strategy applies then. */
  error?: string;
}>;

type Annotations = Readonly<Record<string, string>> | undefined;

/** Parses the annotations of a type's definition; an unknown strategy is ignored. */
export function typeStatusRule(annotations: Annotations): TypeStatusRule {
  const fields = (annotations?.[statusSumAnnotation] ?? "").split(",").map((field) => field.trim());
  return { strategy: parseStrategy(annotations), sum: new Set(fields.filter((field) => field !== "")) };
}

/** The strategy that applies: the workload's annotation precedes the placement, and that precedes the type's definition. */
export function strategyOf(
  annotations: Annotations,
  { placement, type }: Readonly<{ placement?: string | undefined; type?: StatusStrategy | undefined }> = {},
): ChosenStrategy {
  const otherwise = statusStrategies.find((each) => each === placement?.toLowerCase()) ?? type;
  const value = annotations?.[statusStrategyAnnotation];
  if (value === undefined) return { strategy: otherwise };
  const strategy = parseStrategy(annotations);
  if (strategy !== undefined) return { strategy };
  const shown = JSON.stringify(value.slice(0, 63));
  const error = `${statusStrategyAnnotation} is ${shown}, which is ignored; accepted values: ${statusStrategies.join(", ")}`;
  return { strategy: otherwise, error };
}

function parseStrategy(annotations: Annotations): StatusStrategy | undefined {
  return statusStrategies.find((each) => each === annotations?.[statusStrategyAnnotation]);
}

/** The copies in the order of the placement's clusters, followed by those on other clusters. */
function byPlacement({ copies, targets }: StatusView): readonly StatusCopy[] {
  const positions = new Map(targets.map((name, position) => [name, position]));
  const positionOf = ({ targetCluster }: StatusCopy): number => positions.get(targetCluster) ?? targets.length;
  // The sort is stable, so copies with the same position stay sorted by name.
  return copies.toSorted((one, other) => positionOf(one) - positionOf(other));
}

/** The copies by the time of their last observed change, latest first. Our own clock counts, as those of clusters may differ. */
function byLastObserved(view: StatusView): readonly StatusCopy[] {
  return byPlacement(view).toSorted((one, other) => other.observedMs - one.observedMs);
}

/** How the statuses of a type without rules of its own are aggregated. */
export type CustomRules = Readonly<{
  /** Selects the copies that count, by precedence. */
  select: (view: StatusView) => readonly StatusCopy[];
  field: FieldRule;
  conditions: ConditionRules;
}>;

const allCopies = ({ copies }: StatusView): readonly StatusCopy[] => copies;

/** Keeps fields with equal values. Numbers that differ are not added up, because they may not be counts. */
export const safeRules: CustomRules = { select: allCopies, field: equalOnly, conditions: {} };

export const rulesOfStrategy: Readonly<Record<StatusStrategy, CustomRules>> = {
  union: { select: byPlacement, field: union, conditions: {} },
  intersection: { select: allCopies, field: intersection, conditions: { onlyIfReportedEverywhere: true } },
  priority: {
    select: (view) => byPlacement(view).slice(0, 1),
    field: equalOnly,
    conditions: { isSingleSource: true },
  },
  latest: {
    select: (view) => byLastObserved(view).slice(0, 1),
    field: equalOnly,
    conditions: { isSingleSource: true },
  },
};
