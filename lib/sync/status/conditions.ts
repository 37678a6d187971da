import { compareStrings } from "@tmc/kube/compare.ts";
import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, isJsonObject, stringAt } from "../../model/json.ts";
import { clipMessage, formatNames } from "../../model/text.ts";
import { earliestOf, isBefore, latestOf } from "../../model/timestamp.ts";
import { type StatusCopy, typeName, type View } from "./facts.ts";
import { same } from "./field-rules.ts";

/** A condition as any controller may have written it: only these two fields are sure to be there. */
export type StatusCondition = JsonObject & { type: string; status: string };

/** The conditions of a status; undefined where it has none, or something else under that name. */
export function conditionsOf(status: JsonObject | undefined): readonly StatusCondition[] | undefined {
  const list = fieldAt(status, "conditions");
  return Array.isArray(list) && list.every(isCondition) ? list : undefined;
}

/** The condition of a type. Of several, the last: controllers that keep a history append to it. */
export function conditionOf(status: JsonObject | undefined, type: string): StatusCondition | undefined {
  return conditionsOf(status)?.findLast((condition) => condition.type === type);
}

function isCondition(value: Json): value is StatusCondition {
  return isJsonObject(value) && typeof value.type === "string" && typeof value.status === "string";
}

/** Conditions that are bad news when they are true, beside those whose names end as below. */
const badNews: ReadonlySet<string> = new Set([
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
const badEndings = /(Pressure|Failed|Failure|Failing|Error|Errors|Exceeded|Degraded|Stalled|Suspended|Dangling)$/;
const negated = /^Not[A-Z]/;

/**
 * Tells whether a condition is bad news when it is true. Kubernetes has no rule for that, only habits; a condition that this
 * takes for the wrong kind is shown as better than it is on some clusters, and every cluster's own word is in the record.
 */
export function isBadNews(type: string): boolean {
  // A type may begin with the domain of whoever defined it.
  const name = type.slice(type.lastIndexOf("/") + 1);
  return badNews.has(name) || badEndings.test(name) || negated.test(name);
}

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
  const byName = copies.toSorted((one, other) => compareStrings(one.cluster, other.cluster));
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

/** One cluster's word on a condition; undefined where it says nothing of it. */
export type Word = Readonly<{ cluster: string; condition: StatusCondition | undefined }>;

export type WorstFacts = Readonly<{
  type: string;
  /** By name of the cluster. */
  words: readonly Word[];
  isBadNews: boolean;
  /** Whether a message has to say which cluster it is from. */
  isSeveral: boolean;
  previous: StatusCondition | undefined;
  /** What stands for the generations of the clusters. */
  observedGeneration: number | undefined;
  now: string;
}>;

/** Times that tell when something was last looked at, not when it changed. */
const lookedAt: ReadonlySet<string> = new Set(["lastUpdateTime", "lastProbeTime", "lastHeartbeatTime"]);
const composed: ReadonlySet<string> = new Set([
  "type",
  "status",
  "reason",
  "message",
  "lastTransitionTime",
  "observedGeneration",
]);

/** Makes one condition of those of several clusters: the worst of them, in the words of those that have it. */
export function worstCondition(facts: WorstFacts): StatusCondition {
  const { type, words, isBadNews, isSeveral, previous, observedGeneration, now } = facts;
  const ranked = words.map((word) => ({ ...word, rank: rankOf(word.condition?.status, isBadNews) }));
  const worst = Math.max(...ranked.map(({ rank }) => rank));
  const deciding = ranked.filter(({ rank }) => rank === worst);
  const said = deciding.flatMap(({ condition }) => (condition === undefined ? [] : [condition]));
  const [first] = said;
  const status = first?.status ?? "Unknown";
  const isGood = worst === good;

  // Good news holds since the last cluster came to it, bad news since the first.
  const times = said.map((condition) => stringAt(condition, "lastTransitionTime"));
  const since = isGood ? latestOf(times) : earliestOf(times);
  const isEverywhere = deciding.length === words.length;
  const message = isSeveral ? messageOf(deciding, isGood && isEverywhere) : stringAt(first, "message");
  const reason = first === undefined ? "NotReported" : stringAt(first, "reason");
  const lastTransitionTime = transitionTime({ status, since: first === undefined ? now : since, previous, now });
  return {
    ...otherFields(said),
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    ...(observedGeneration === undefined || !said.some((each) => fieldAt(each, "observedGeneration") !== undefined)
      ? {}
      : { observedGeneration }),
  };
}

/**
 * When a condition came to its status. It stays as it is while the status stays. A flip that would lie before the one that we
 * have already told of was made by a cluster that joined or left the sum: it happened now.
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

function rankOf(status: string | undefined, isBadNews: boolean): number {
  // Bad news that is not told is no news; good news that is not told has not come yet.
  if (status === undefined) return isBadNews ? good : unclear;
  if (status === "True") return isBadNews ? bad : good;
  if (status === "False") return isBadNews ? good : bad;
  return unclear;
}

/** `east, west: no quota; north: no nodes`; where all say the same good thing, just that. */
function messageOf(deciding: readonly Word[], isAllGood: boolean): string | undefined {
  const clusters = new Map<string, string[]>();
  for (const { cluster, condition } of deciding) {
    // Clusters that have no bad news to tell need not be named for it.
    if (condition === undefined && isAllGood) continue;
    const message = condition === undefined ? "not reported" : stringAt(condition, "message");
    if (message === undefined) continue;
    const same = clusters.get(message);
    if (same === undefined) clusters.set(message, [cluster]);
    else same.push(cluster);
  }
  const [only] = clusters.keys();
  if (only === undefined) return undefined;
  if (isAllGood && clusters.size === 1) return clipMessage(only);
  const parts = [...clusters].map(([message, names]) =>
    message === "" ? formatNames(names) : `${formatNames(names)}: ${message}`,
  );
  return clipMessage(parts.join("; "));
}

function otherFields(said: readonly StatusCondition[]): JsonObject {
  const names = new Set(said.flatMap((condition) => Object.keys(condition)).filter((name) => !composed.has(name)));
  const entries = [...names].flatMap((name): [string, Json][] => {
    const value = lookedAt.has(name)
      ? latestOf(said.map((condition) => stringAt(condition, name)))
      : same(
          said.map((condition) => fieldAt(condition, name)),
          true,
        );
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

export type ReachedFacts = Readonly<{
  apiVersion: string;
  kind: string;
  status?: JsonObject | undefined;
  /** The copy's own, not the workload's. */
  generation?: number | undefined;
}>;

/** Types whose controller always says how far it has come: as long as it has said nothing, it has not looked. */
const alwaysSay: ReadonlySet<string> = new Set([
  "Deployment.apps",
  "StatefulSet.apps",
  "DaemonSet.apps",
  "ReplicaSet.apps",
]);

/** Conditions that speak for the whole object, the first that is there; of others an old word means nothing. */
export const overallConditions = ["Ready", "Available", "Healthy"] as const;

/** Tells whether the copy's own controller has taken up the last change of the copy, as far as it says. */
export function hasReached({ apiVersion, kind, status, generation }: ReachedFacts): boolean {
  if (generation === undefined) return true;
  const observed = observedGenerationOf(status);
  if (observed !== undefined) return observed >= generation;
  if (alwaysSay.has(typeName({ apiVersion, kind }))) return false;
  const overall = overallConditions.map((type) => conditionOf(status, type)).find((each) => each !== undefined);
  const said = observedGenerationOf(overall);
  return said === undefined || said >= generation;
}

/** The generation that a status or a condition was made from; some controllers write it as a text. */
export function observedGenerationOf(said: JsonObject | undefined): number | undefined {
  const value = fieldAt(said, "observedGeneration");
  if (typeof value === "number") return value;
  return typeof value === "string" && /^[0-9]+$/.test(value) ? Number(value) : undefined;
}
