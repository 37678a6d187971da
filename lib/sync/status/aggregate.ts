import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, withSortedKeys } from "../../model/json.ts";
import { formatNames } from "../../model/text.ts";
import {
  type ConditionRules,
  mergedConditions,
  observedGenerationOf,
  type StatusCondition,
  statusCondition,
  statusConditions,
  transitionTime,
} from "./conditions.ts";
import { type StatusCopy, type StatusFacts, type StatusView, statusViewOf, typeName } from "./facts.ts";
import { equalOnly, type FieldRule, sum } from "./field-rules.ts";
import { rulesOfStrategy, safeRules } from "./strategy.ts";
import { typeRules } from "./type-rules.ts";

type Rules = Readonly<{
  /** Selects the copies that count. */
  select: (view: StatusView) => readonly StatusCopy[];
  ruleOf: (field: string) => FieldRule;
  /** Undefined where conditions are aggregated like any other field. */
  conditions: ConditionRules | undefined;
  /** The status without copies. */
  withoutCopies: JsonObject;
  /** Conditions that are False without copies. */
  falseWithoutCopies: readonly string[];
}>;

/**
 * Aggregates the status of a workload from the statuses of its copies.
 *
 * Counts are added up, conditions are as bad as on the worst cluster, addresses are merged, and `observedGeneration` follows
 * the workload only when every target cluster has observed it. Of the previous status, only times and the observed
 * generation are kept: what no cluster reports now is omitted.
 */
export function aggregate(facts: StatusFacts): JsonObject {
  const view = statusViewOf(facts);
  const rules = rulesFor(facts, view);
  const copies = rules.select(view);
  const observedGeneration = observedGenerationOfAll(view, facts);
  const conditions = conditionsFor({ facts, view, rules, copies, observedGeneration });
  const status = {
    ...(copies.length === 0 ? rules.withoutCopies : mergedFields(copies, rules, view)),
    ...observedGenerationField(copies, facts, observedGeneration),
    ...(conditions.length > 0 ? { conditions: [...conditions] } : {}),
  };
  return withSortedKeys(status);
}

function rulesFor({ apiVersion, kind, strategy, summedFields, previous }: StatusFacts, view: StatusView): Rules {
  const known = typeRules.get(typeName({ apiVersion, kind }));
  if (known !== undefined) {
    const { fields, conditions, withoutCopies, falseWithoutCopies } = known;
    return {
      select: ({ copies }) => copies,
      ruleOf: (field) => (Object.hasOwn(fields, field) ? (fields[field] ?? equalOnly) : equalOnly),
      conditions,
      withoutCopies,
      falseWithoutCopies: falseWithoutCopies === undefined ? [] : [falseWithoutCopies],
    };
  }
  const { select, field, conditions } = strategy === undefined ? safeRules : rulesOfStrategy[strategy];
  // A server drops fields that the schema does not have. We write conditions only to a type that has some.
  const statuses = [previous, ...view.copies.map(({ status }) => status)];
  const lists = statuses.filter((status) => fieldAt(status, "conditions") !== undefined).map(statusConditions);
  const hasConditions = lists.length > 0 && lists.every((list) => list !== undefined);
  return {
    select,
    ruleOf: (name) => (summedFields?.has(name) === true ? sum : field),
    conditions: hasConditions ? conditions : undefined,
    withoutCopies: {},
    falseWithoutCopies: [],
  };
}

function mergedFields(copies: readonly StatusCopy[], rules: Rules, { missingTargets }: StatusView): JsonObject {
  const excluded = new Set(["observedGeneration", ...(rules.conditions === undefined ? [] : ["conditions"])]);
  const names = new Set(copies.flatMap(({ status }) => Object.keys(status ?? {})));
  const entries = [...names].flatMap((name): [string, Json][] => {
    if (excluded.has(name)) return [];
    const values = copies.map(({ status }) => fieldAt(status, name));
    const value = rules.ruleOf(name)(values, missingTargets.length === 0);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

function conditionsFor({
  facts,
  view,
  rules,
  copies,
  observedGeneration,
}: Readonly<{
  facts: StatusFacts;
  view: StatusView;
  rules: Rules;
  copies: readonly StatusCopy[];
  observedGeneration: number | undefined;
}>): readonly StatusCondition[] {
  const { previous, now } = facts;
  if (rules.conditions === undefined) return [];
  const merged = mergedConditions({ view, copies, rules: rules.conditions, previous, observedGeneration, now });
  const missing = missingReason(view);
  if (missing === undefined) return merged;
  const falseTypes = [...(copies.length === 0 ? rules.falseWithoutCopies : []), observedEverywhereCondition];
  const own = falseTypes.map((type) =>
    falseCondition(type, missing, { previous: statusCondition(previous, type), now }),
  );
  return [...merged.filter(({ type }) => !falseTypes.includes(type)), ...own];
}

/** The generation that every target cluster has observed; it never decreases, unless the workload's own does. */
function observedGenerationOfAll(
  { copies, targets }: StatusView,
  { generation, previous }: StatusFacts,
): number | undefined {
  const current = new Set(copies.filter(({ isCurrent }) => isCurrent).map(({ targetCluster }) => targetCluster));
  const isObserved = targets.length > 0 && targets.every((name) => current.has(name));
  const before = observedGenerationOf(previous);
  if (generation === undefined) return undefined;
  if (isObserved) return generation;
  return before === undefined ? undefined : Math.min(before, generation);
}

/** The field with the type that the clusters use: some controllers write the generation as a string. */
function observedGenerationField(
  copies: readonly StatusCopy[],
  { previous }: StatusFacts,
  observedGeneration: number | undefined,
): JsonObject {
  const samples = [...copies.map(({ status }) => status), previous].map((each) => fieldAt(each, "observedGeneration"));
  const sample = samples.find((each) => each !== undefined);
  if (sample === undefined || observedGeneration === undefined) return {};
  return { observedGeneration: typeof sample === "string" ? String(observedGeneration) : observedGeneration };
}

/** A condition of the workload's status that is False as long as a target cluster's copy could not be read. */
const observedEverywhereCondition = "tmc.kcp.io/SeenEverywhere";

type Missing = Readonly<{ reason: string; message: string }>;

/** Why a status does not cover all target clusters; undefined when it does. */
function missingReason({ copies, targets, missingTargets }: StatusView): Missing | undefined {
  if (targets.length === 0 && copies.length === 0) {
    return { reason: "NoCopies", message: "the workload is on no cluster" };
  }
  if (missingTargets.length === 0) return undefined;
  const count = `${targets.length - missingTargets.length}/${targets.length} clusters`;
  return {
    reason: copies.length === 0 ? "NoCopies" : "ClustersMissing",
    message: `seen on ${count}, not on ${formatNames(missingTargets)}`,
  };
}

function falseCondition(
  type: string,
  missing: Missing,
  { previous, now }: Readonly<{ previous: StatusCondition | undefined; now: string }>,
): StatusCondition {
  const lastTransitionTime = transitionTime({ status: "False", since: now, previous, now });
  return { type, status: "False", ...missing, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) };
}
