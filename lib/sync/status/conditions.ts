import { compareStrings } from "@tmc/kube/compare.ts";
import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, isJsonObject, stringAt } from "../../model/json.ts";
import { clipMessage, formatNames } from "../../model/text.ts";
import { earliestOf, isBefore, latestOf } from "../../model/timestamp.ts";
import { type StatusCopy, type StatusView, typeName } from "./facts.ts";
import { equalOnly } from "./field-rules.ts";

/** A condition as any controller may have written it: only type and status are certain. */
export type StatusCondition = JsonObject & { type: string; status: string };

/** The conditions of a status; undefined if it has none, or if the field is not a list of conditions. */
export function statusConditions(status: JsonObject | undefined): readonly StatusCondition[] | undefined {
  const list = fieldAt(status, "conditions");
  return Array.isArray(list) && list.every(isCondition) ? list : undefined;
}

/** The condition of a type; the last one if there are several, because controllers that keep a history append to it. */
export function statusCondition(status: JsonObject | undefined, type: string): StatusCondition | undefined {
  return statusConditions(status)?.findLast((condition) => condition.type === type);
}

function isCondition(value: Json): value is StatusCondition {
  return isJsonObject(value) && typeof value.type === "string" && typeof value.status === "string";
}

/** Conditions with negative polarity, in addition to those whose names match the patterns below. */
const negativeTypes: ReadonlySet<string> = new Set([
  "Blocked",
  "Conflict",
  "Conflicted",
  "Deleting",
  "Paused",
  "Reconciling",
  "Terminating",
  "Unavailable",
  "Unhealthy",
  "Unreachable",
  "Unschedulable",
  "NetworkUnavailable",
  "DisruptionTarget",
  "FailureTarget",
  "ScalingLimited",
]);
const negativeSuffix = /(Pressure|Failed|Failure|Failing|Error|Errors|Exceeded|Degraded|Stalled|Suspended|Dangling)$/;
const negativePrefix = /^Not[A-Z]/;

/**
 * Whether a condition reports a problem when it is True. Kubernetes has no rule for that, only conventions. A condition that is
 * misjudged here shows a better state than some clusters have; the record still has the state on every cluster.
 */
export function hasNegativePolarity(type: string): boolean {
  // A type may start with the domain of its author.
  const name = type.slice(type.lastIndexOf("/") + 1);
  return negativeTypes.has(name) || negativeSuffix.test(name) || negativePrefix.test(name);
}

/** Deviations from the default aggregation of conditions. */
export type ConditionRules = Readonly<{
  /** Conditions that are reported only once they are True on every target cluster. */
  onlyIfTrueEverywhere?: ReadonlySet<string>;
  /** Whether every condition of the type has negative polarity. */
  areAllNegative?: boolean;
  /** Omits a condition that not every cluster reports. */
  onlyIfReportedEverywhere?: boolean;
  /** Whether the status is that of one cluster, so that messages need not name it. */
  isSingleSource?: boolean;
}>;

export type MergeFacts = Readonly<{
  view: StatusView;
  /** The copies that the strategy selects. */
  copies: readonly StatusCopy[];
  rules: ConditionRules;
  previous: JsonObject | undefined;
  observedGeneration: number | undefined;
  now: string;
}>;

/** Merges the conditions of all copies: the worst of each type. */
export function mergedConditions({
  view,
  copies,
  rules,
  previous,
  observedGeneration,
  now,
}: MergeFacts): readonly StatusCondition[] {
  const byName = copies.toSorted((one, other) => compareStrings(one.targetCluster, other.targetCluster));
  const types = new Set(byName.flatMap(({ status }) => (statusConditions(status) ?? []).map(({ type }) => type)));
  return [...types].flatMap((type): StatusCondition[] => {
    const reported = byName.map(({ targetCluster, status }) => ({
      targetCluster,
      condition: statusCondition(status, type),
    }));
    const isEverywhere = reported.every(({ condition }) => condition !== undefined);
    if (rules.onlyIfReportedEverywhere === true && !isEverywhere) return [];
    if (view.hasSeveralClusters && rules.onlyIfTrueEverywhere?.has(type) === true) {
      const isTrue = reported.every(({ condition }) => condition?.status === "True");
      if (!isTrue || view.missingTargets.length > 0) return [];
    }
    const before = statusCondition(previous, type);
    const condition = worstCondition({
      type,
      reported,
      isNegative: rules.areAllNegative === true || hasNegativePolarity(type),
      hasSeveralClusters: view.hasSeveralClusters && rules.isSingleSource !== true,
      previous: before,
      observedGeneration: observedGeneration ?? observedGenerationOf(before),
      now,
    });
    return [condition];
  });
}

/** A condition as one cluster reports it; undefined where it does not. */
type ReportedCondition = Readonly<{ targetCluster: string; condition: StatusCondition | undefined }>;

type WorstFacts = Readonly<{
  type: string;
  /** By name of the cluster. */
  reported: readonly ReportedCondition[];
  isNegative: boolean;
  /** Whether messages have to name the cluster. */
  hasSeveralClusters: boolean;
  previous: StatusCondition | undefined;
  /** Replaces the generations that the clusters report. */
  observedGeneration: number | undefined;
  now: string;
}>;

/** Times of the last check, not of the last change. */
const checkTimes: ReadonlySet<string> = new Set(["lastUpdateTime", "lastProbeTime", "lastHeartbeatTime"]);
const computedFields: ReadonlySet<string> = new Set([
  "type",
  "status",
  "reason",
  "message",
  "lastTransitionTime",
  "observedGeneration",
]);

/** The worst of the conditions of several clusters, with the messages of the clusters that report it. */
function worstCondition(facts: WorstFacts): StatusCondition {
  const { type, reported, isNegative, hasSeveralClusters, previous, observedGeneration, now } = facts;
  const ranked = reported.map((each) => ({ ...each, rank: rankOf(each.condition?.status, isNegative) }));
  const worst = Math.max(...ranked.map(({ rank }) => rank));
  const deciding = ranked.filter(({ rank }) => rank === worst);
  const conditions = deciding.flatMap(({ condition }) => (condition === undefined ? [] : [condition]));
  const [first] = conditions;
  const status = first?.status ?? "Unknown";
  const isGood = worst === good;

  // A good state lasts since the last cluster reached it, a bad one since the first.
  const times = conditions.map((condition) => stringAt(condition, "lastTransitionTime"));
  const since = isGood ? latestOf(times) : earliestOf(times);
  const isEverywhere = deciding.length === reported.length;
  const message = hasSeveralClusters ? messageOf(deciding, isGood && isEverywhere) : stringAt(first, "message");
  const reason = first === undefined ? "NotReported" : stringAt(first, "reason");
  const lastTransitionTime = transitionTime({ status, since: first === undefined ? now : since, previous, now });
  const hasGeneration = conditions.some((each) => fieldAt(each, "observedGeneration") !== undefined);
  return {
    ...otherFields(conditions),
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    ...(observedGeneration === undefined || !hasGeneration ? {} : { observedGeneration }),
  };
}

/**
 * When a condition changed to its status. It stays while the status stays. A transition that would be older than the one that
 * was reported last comes from a cluster that joined or left the aggregation: it happened now.
 */
export function transitionTime({
  status,
  since,
  previous,
  now,
}: Readonly<{
  status: string;
  since: string | undefined;
  previous: StatusCondition | undefined;
  now: string;
}>): string | undefined {
  const before = stringAt(previous, "lastTransitionTime");
  if (before === undefined || since === undefined) return since;
  if (previous?.status === status) return before;
  return isBefore(since, before) ? now : since;
}

const good = 0;
const unclear = 1;
const bad = 2;

function rankOf(status: string | undefined, isNegative: boolean): number {
  // A problem that is not reported does not exist; a good state that is not reported is not reached yet.
  if (status === undefined) return isNegative ? good : unclear;
  if (status === "True") return isNegative ? bad : good;
  if (status === "False") return isNegative ? good : bad;
  return unclear;
}

/** `east, west: no quota; north: no nodes`. If all clusters report the same good state, only the message. */
function messageOf(deciding: readonly ReportedCondition[], isGoodEverywhere: boolean): string | undefined {
  const clustersByMessage = new Map<string, string[]>();
  for (const { targetCluster, condition } of deciding) {
    // A cluster that reports no problem need not be named.
    if (condition === undefined && isGoodEverywhere) continue;
    const message = condition === undefined ? "not reported" : stringAt(condition, "message");
    if (message === undefined) continue;
    const clusters = clustersByMessage.get(message);
    if (clusters === undefined) clustersByMessage.set(message, [targetCluster]);
    else clusters.push(targetCluster);
  }
  const [only] = clustersByMessage.keys();
  if (only === undefined) return undefined;
  if (isGoodEverywhere && clustersByMessage.size === 1) return clipMessage(only);
  const parts = [...clustersByMessage].map(([message, names]) =>
    message === "" ? formatNames(names) : `${formatNames(names)}: ${message}`,
  );
  return clipMessage(parts.join("; "));
}

function otherFields(conditions: readonly StatusCondition[]): JsonObject {
  const names = new Set(
    conditions.flatMap((condition) => Object.keys(condition)).filter((name) => !computedFields.has(name)),
  );
  const entries = [...names].flatMap((name): [string, Json][] => {
    const value = checkTimes.has(name)
      ? latestOf(conditions.map((condition) => stringAt(condition, name)))
      : equalOnly(
          conditions.map((condition) => fieldAt(condition, name)),
          true,
        );
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

export type GenerationFacts = Readonly<{
  apiVersion: string;
  kind: string;
  status?: JsonObject | undefined;
  /** The copy's generation, not the workload's. */
  generation?: number | undefined;
}>;

/** Types whose controllers always write `observedGeneration`: without it they have not processed the object yet. */
const alwaysReported: ReadonlySet<string> = new Set([
  "Deployment.apps",
  "StatefulSet.apps",
  "DaemonSet.apps",
  "ReplicaSet.apps",
]);

/** Conditions about the whole object, by precedence. The generation of any other condition may be old without meaning. */
export const overallConditions = ["Ready", "Available", "Healthy"] as const;

/** Whether the copy's own controller has observed the latest generation of the copy, as far as it reports that. */
export function hasObservedGeneration({ apiVersion, kind, status, generation }: GenerationFacts): boolean {
  if (generation === undefined) return true;
  const observed = observedGenerationOf(status);
  if (observed !== undefined) return observed >= generation;
  if (alwaysReported.has(typeName({ apiVersion, kind }))) return false;
  const overall = overallConditions.map((type) => statusCondition(status, type)).find((each) => each !== undefined);
  const observedByCondition = observedGenerationOf(overall);
  return observedByCondition === undefined || observedByCondition >= generation;
}

/** The `observedGeneration` of a status or a condition; some controllers write it as a string. */
export function observedGenerationOf(object: JsonObject | undefined): number | undefined {
  const value = fieldAt(object, "observedGeneration");
  if (typeof value === "number") return value;
  return typeof value === "string" && /^[0-9]+$/.test(value) ? Number(value) : undefined;
}
