import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { same } from "./field-rules.ts";
import { fieldAt, textAt } from "./json.ts";
import { earliestOf, isBefore, latestOf } from "./moments.ts";
import type { StatusCondition } from "./status-conditions.ts";
import { namesInWords, shortened } from "./words.ts";

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
  const times = said.map((condition) => textAt(condition, "lastTransitionTime"));
  const since = isGood ? latestOf(times) : earliestOf(times);
  const isEverywhere = deciding.length === words.length;
  const message = isSeveral ? messageOf(deciding, isGood && isEverywhere) : textAt(first, "message");
  const reason = first === undefined ? "NotReported" : textAt(first, "reason");
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
  const before = textAt(previous, "lastTransitionTime");
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
    const message = condition === undefined ? "not reported" : textAt(condition, "message");
    if (message === undefined) continue;
    const same = clusters.get(message);
    if (same === undefined) clusters.set(message, [cluster]);
    else same.push(cluster);
  }
  const [only] = clusters.keys();
  if (only === undefined) return undefined;
  if (isAllGood && clusters.size === 1) return shortened(only);
  const parts = [...clusters].map(([message, names]) =>
    message === "" ? namesInWords(names) : `${namesInWords(names)}: ${message}`,
  );
  return shortened(parts.join("; "));
}

function otherFields(said: readonly StatusCondition[]): JsonObject {
  const names = new Set(said.flatMap((condition) => Object.keys(condition)).filter((name) => !composed.has(name)));
  const entries = [...names].flatMap((name): [string, Json][] => {
    const value = lookedAt.has(name)
      ? latestOf(said.map((condition) => textAt(condition, name)))
      : same(
          said.map((condition) => fieldAt(condition, name)),
          true,
        );
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}
