import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, withSortedKeys } from "../../model/json.ts";
import { formatNames } from "../../model/text.ts";
import {
  type ConditionRules,
  conditionOf,
  conditionsOf,
  mergedConditions,
  observedGenerationOf,
  type StatusCondition,
  transitionTime,
} from "./conditions.ts";
import { type StatusCopy, type StatusFacts, typeName, type View, viewOf } from "./facts.ts";
import { type FieldRule, same, sum } from "./field-rules.ts";

import { rulesOfStrategy, safeRules } from "./strategy.ts";
import { typeRules } from "./type-rules.ts";

type Rules = Readonly<{
  heed: (view: View) => readonly StatusCopy[];
  ruleOf: (field: string) => FieldRule;
  /** Undefined where conditions are a field like any other. */
  conditions: ConditionRules | undefined;
  nowhere: JsonObject;
  lackingNowhere: readonly string[];
}>;

/**
 * Makes the status of a workload from those of its copies.
 *
 * Counts are added up, conditions are as bad as on the worst cluster, addresses are united, and `observedGeneration` follows the
 * workload only when every wanted cluster has. Nothing is taken from the status that it has but times, and how far
 * it had come: what no cluster says now is not said.
 */
export function aggregate(facts: StatusFacts): JsonObject {
  const view = viewOf(facts);
  const rules = rulesFor(facts, view);
  const copies = rules.heed(view);
  const observedGeneration = observedBy(view, facts);
  const conditions = conditionsFor({ facts, view, rules, copies, observedGeneration });
  const status = {
    ...(copies.length === 0 ? rules.nowhere : mergedFields(copies, rules, view)),
    ...observedField(copies, facts, observedGeneration),
    ...(conditions.length > 0 ? { conditions: [...conditions] } : {}),
  };
  return withSortedKeys(status);
}

function rulesFor({ apiVersion, kind, strategy, sum: added, previous }: StatusFacts, view: View): Rules {
  const known = typeRules.get(typeName({ apiVersion, kind }));
  if (known !== undefined) {
    const { fields, conditions, nowhere, lackingNowhere } = known;
    return {
      heed: ({ copies }) => copies,
      ruleOf: (field) => (Object.hasOwn(fields, field) ? (fields[field] ?? same) : same),
      conditions,
      nowhere,
      lackingNowhere: lackingNowhere === undefined ? [] : [lackingNowhere],
    };
  }
  const { heed, field, conditions } = strategy === undefined ? safeRules : rulesOfStrategy[strategy];
  // A server drops what the schema of its type does not name. So a type gets conditions from us only where it has some.
  const statuses = [previous, ...view.copies.map(({ status }) => status)];
  const lists = statuses.filter((status) => fieldAt(status, "conditions") !== undefined).map(conditionsOf);
  const hasConditions = lists.length > 0 && lists.every((list) => list !== undefined);
  return {
    heed,
    ruleOf: (name) => (added?.has(name) === true ? sum : field),
    conditions: hasConditions ? conditions : undefined,
    nowhere: {},
    lackingNowhere: [],
  };
}

function mergedFields(copies: readonly StatusCopy[], rules: Rules, { missing }: View): JsonObject {
  const isSeparate = new Set(["observedGeneration", ...(rules.conditions === undefined ? [] : ["conditions"])]);
  const names = new Set(copies.flatMap(({ status }) => Object.keys(status ?? {})));
  const entries = [...names].flatMap((name): [string, Json][] => {
    if (isSeparate.has(name)) return [];
    const values = copies.map(({ status }) => fieldAt(status, name));
    const value = rules.ruleOf(name)(values, missing.length === 0);
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
  view: View;
  rules: Rules;
  copies: readonly StatusCopy[];
  observedGeneration: number | undefined;
}>): readonly StatusCondition[] {
  const { previous, now } = facts;
  if (rules.conditions === undefined) return [];
  const merged = mergedConditions({ view, copies, rules: rules.conditions, previous, observedGeneration, now });
  const missing = whatIsMissing(view);
  if (missing === undefined) return merged;
  const lacking = [...(copies.length === 0 ? rules.lackingNowhere : []), seenEverywhere];
  const own = lacking.map((type) => falseFor(type, missing, { previous: conditionOf(previous, type), now }));
  return [...merged.filter(({ type }) => !lacking.includes(type)), ...own];
}

/** The generation that every wanted cluster has reached; never more than that, and never less than was told before. */
function observedBy({ copies, wanted }: View, { generation, previous }: StatusFacts): number | undefined {
  const current = new Set(copies.filter(({ isCurrent }) => isCurrent).map(({ cluster }) => cluster));
  const isReached = wanted.length > 0 && wanted.every((name) => current.has(name));
  const before = observedGenerationOf(previous);
  if (generation === undefined) return undefined;
  if (isReached) return generation;
  return before === undefined ? undefined : Math.min(before, generation);
}

/** In the form in which the clusters have it: some controllers write the generation as a text. */
function observedField(
  copies: readonly StatusCopy[],
  { previous }: StatusFacts,
  observedGeneration: number | undefined,
): JsonObject {
  const samples = [...copies.map(({ status }) => status), previous].map((each) => fieldAt(each, "observedGeneration"));
  const sample = samples.find((each) => each !== undefined);
  if (sample === undefined || observedGeneration === undefined) return {};
  return { observedGeneration: typeof sample === "string" ? String(observedGeneration) : observedGeneration };
}

/** Is in a workload's status, and false, as long as some cluster that it belongs on says nothing of it. */
export const seenEverywhere = "tmc.kcp.io/SeenEverywhere";

/** Why a status does not speak for all clusters; undefined when it does. */
export function whatIsMissing({
  copies,
  wanted,
  missing,
}: View): Readonly<{ reason: string; message: string }> | undefined {
  if (wanted.length === 0 && copies.length === 0) return { reason: "NoCopies", message: "it is on no cluster" };
  if (missing.length === 0) return undefined;
  const count = `${wanted.length - missing.length}/${wanted.length} clusters`;
  return {
    reason: copies.length === 0 ? "NoCopies" : "ClustersMissing",
    message: `seen on ${count}, not on ${formatNames(missing)}`,
  };
}

/** A condition that is false because of what is missing. */
export function falseFor(
  type: string,
  missing: Readonly<{ reason: string; message: string }>,
  { previous, now }: Readonly<{ previous: StatusCondition | undefined; now: string }>,
): StatusCondition {
  const lastTransitionTime = transitionTime({ status: "False", since: now, previous, now });
  return { type, status: "False", ...missing, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) };
}
