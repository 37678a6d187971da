import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import { type Condition, withCondition } from "../../model/condition.ts";
import { clipMessage, formatNames } from "../../model/text.ts";
import type { Intent } from "../decide.ts";
import type { CopyRecord, SyncStatus } from "../sync-objects.ts";

export type ReportFacts = Readonly<{
  before: SyncStatus | undefined;
  copies: readonly CopyRecord[];
  intent: Intent;
  generation: number | undefined;
  /** What could not be shared out among the clusters, in words. */
  shortfall?: string | undefined;
  /** Where the clusters do not all have the same: overrides make it so, or somebody who may. */
  differences?: readonly string[] | undefined;
  /** What is wrong with the way in which statuses are to become one. */
  strategyProblem?: string | undefined;
  /** After how long a copy that cannot be written counts as stalled; never without it. */
  stalledSeconds?: number | undefined;
  /** The moment of this look, as text. */
  now: string;
}>;

/** Says in the record what was found. An entry that tells nothing new stays as it is, with the time of the last news. */
export function decideRecordStatus(facts: ReportFacts): SyncStatus {
  const { before, copies, intent, generation, now } = facts;
  const known = new Map((before?.clusters ?? []).map((entry) => [entry.name, entry]));
  const clusters = copies
    .map((copy) => keptOrNew(known.get(copy.name), copy, now))
    .toSorted((one, other) => compareStrings(one.name, other.name));
  let conditions: readonly Condition[] = before?.conditions ?? [];
  conditions = withCondition(conditions, { type: "Ready", ...readyCondition(intent, clusters) }, now);
  for (const { type, found, otherwise, isGood = false } of rarities(facts, clusters)) {
    // What was never so need not be denied.
    if (found === undefined && !conditions.some((condition) => condition.type === type)) continue;
    const status = (found === undefined) === isGood ? "True" : "False";
    conditions = withCondition(
      conditions,
      { type, status, reason: found?.reason ?? otherwise, message: clipMessage(found?.message ?? "") },
      now,
    );
  }
  return {
    ...(clusters.length === 0 ? {} : { clusters }),
    conditions,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

/** A condition that most records never get. */
type Rarity = Readonly<{
  type: string;
  /** What there is to say; undefined when all is well. */
  found: Readonly<{ reason: string; message: string }> | undefined;
  /** The reason when it is over. */
  otherwise: string;
  /** Whether the condition is true when all is well. */
  isGood?: boolean;
}>;

function rarities(
  { shortfall, differences = [], strategyProblem, stalledSeconds, now }: ReportFacts,
  clusters: readonly CopyRecord[],
): readonly Rarity[] {
  const held = clusters.filter(({ state }) => state === "Held");
  const stalled = stalledSeconds === undefined ? [] : stalledCopies(clusters, { now, stalledSeconds });
  const said = (reason: string, message: string | undefined) =>
    message === undefined ? undefined : { reason, message };
  return [
    { type: "DeletionsHeld", otherwise: "NoDeletionsHeld", found: wordsOf(held, "DeletionsHeld") },
    { type: "Stalled", otherwise: "NotStalled", found: wordsOf(stalled, "Applying") },
    {
      type: "SpecsDiffer",
      otherwise: "SpecsAlike",
      found: differences.length === 0 ? undefined : { reason: "SpecsDiffer", message: formatNames(differences) },
    },
    { type: "ReplicasPlaced", otherwise: "AllPlaced", isGood: true, found: said("SharesDoNotFit", shortfall) },
    { type: "StatusRuleKnown", otherwise: "Known", isGood: true, found: said("UnknownStrategy", strategyProblem) },
  ];
}

/** `east, west: why`, in the words of the first of them. */
function wordsOf(copies: readonly CopyRecord[], otherwise: string): Rarity["found"] {
  const [first] = copies;
  if (first === undefined) return undefined;
  const names = formatNames(copies.map(({ name }) => name));
  return { reason: first.reason ?? otherwise, message: `${names}: ${first.message ?? ""}` };
}

function keptOrNew(before: CopyRecord | undefined, copy: CopyRecord, now: string): CopyRecord {
  const { lastObservedTime: lastSeen, ...old } = before ?? { name: copy.name, state: copy.state };
  const { lastObservedTime: _, ...fresh } = copy;
  if (before !== undefined && isSame(old, fresh)) return before;
  // A cluster that is not heard from tells nothing, so what it last told keeps its time.
  const isHeard = fresh.reason !== "ClusterNotReady";
  const seen = isHeard ? now : (copy.lastObservedTime ?? lastSeen);
  return seen === undefined ? fresh : { ...fresh, lastObservedTime: seen };
}

function isSame(one: object, other: object): boolean {
  const text = (value: object): string =>
    JSON.stringify(
      Object.entries(value)
        .filter(([, field]) => field !== undefined)
        .toSorted(byKey),
    );
  return text(one) === text(other);
}

type Verdict = Readonly<{ status: Condition["status"]; reason: string; message: string }>;

function readyCondition({ kind, targets, placement }: Intent, clusters: readonly CopyRecord[]): Verdict {
  if (kind !== "wanted") {
    const left = clusters.map(({ name }) => name);
    const where = left.length === 0 ? "no cluster has it any more" : `still on ${left.join(", ")}`;
    const reason = { unwanted: "NotPlaced", deleted: "Deleted", vanished: "WorkloadVanished" }[kind];
    return { status: "False", reason, message: where };
  }
  if (targets.length === 0) {
    const message = clusters.length === 0 ? "no cluster was chosen for it" : "no cluster fits; it stays where it is";
    return { status: "False", reason: "NoCluster", message };
  }
  const wanted = clusters.filter(({ name }) => targets.includes(name));
  const lacking = wanted.filter(({ state }) => state !== "Ready");
  const rule = healthRules.find((each) => each === placement?.spec.status?.health?.toLowerCase()) ?? "all";
  const { isHealthy, ready, expected } = healthOfAll(rule, wanted, targets.length);
  const count = `ready on ${ready} of ${expected} clusters`;
  const why = formatNames(lacking.map(({ name, state, reason }) => `${name} ${reason ?? state}`));
  if (isHealthy) return { status: "True", reason: "Ready", message: why === "" ? count : `${count}: ${why}` };
  const worst = lacking.find(({ state }) => state === "Failed") ?? lacking[0];
  return {
    status: "False",
    reason: worst?.state === "Failed" ? "SyncFailed" : "NotReady",
    message: why === "" ? count : `${count}: ${why}`,
  };
}

/** When a workload counts as healthy: everywhere, anywhere, or on more than half of its clusters. */
export const healthRules = ["all", "any", "majority"] as const;
export type HealthRule = (typeof healthRules)[number];

export type OverallHealth = Readonly<{
  isHealthy: boolean;
  /** On how many clusters it is ready. */
  ready: number;
  /** On how many it should be. */
  expected: number;
  /** `2/3 clusters` */
  words: string;
}>;

/** Tells whether a workload is healthy by a rule; a cluster that is expected and not among the healths is not healthy. */
export function healthOfAll(
  rule: HealthRule,
  healths: readonly Readonly<{ state: string }>[],
  expected = healths.length,
): OverallHealth {
  const ready = healths.filter(({ state }) => state === "Ready").length;
  const enough = { all: expected, any: 1, majority: Math.floor(expected / 2) + 1 }[rule];
  // On no cluster nothing is healthy, whatever the rule.
  const isHealthy = expected > 0 && ready >= enough;
  return { isHealthy, ready, expected, words: `${ready}/${expected} clusters` };
}

/** By when a copy that cannot be written counts as stalled. */
type StallFacts = Readonly<{ now: string; stalledSeconds: number }>;

/** The copies that could not be written for so long that somebody should look; they are tried again all the same. */
export function stalledCopies(copies: readonly CopyRecord[], facts: StallFacts): readonly CopyRecord[] {
  return copies.filter((copy) => isStuck(copy) && (secondsLeft(copy, facts) ?? 1) <= 0);
}

/** After how long the next copy counts as stalled; undefined when none is on the way to it. */
export function secondsToStall(copies: readonly CopyRecord[], facts: StallFacts): number | undefined {
  const left = copies
    .filter(isStuck)
    .map((copy) => secondsLeft(copy, facts))
    .filter((seconds) => seconds !== undefined && seconds > 0);
  return left.length === 0 ? undefined : Math.min(...left.map((seconds) => seconds ?? 0));
}

/** What waits for a cluster that is not heard from is not stalled: the cluster's own condition says what is wrong. */
function isStuck({ state, reason }: CopyRecord): boolean {
  if (reason === "ClusterNotReady") return false;
  return state === "Failed" || state === "Pending" || (state === "Evicting" && reason === "Rejected");
}

function secondsLeft(
  { lastObservedTime: lastSeen }: CopyRecord,
  { now, stalledSeconds }: StallFacts,
): number | undefined {
  const seconds = Math.ceil((Date.parse(lastSeen ?? "") + stalledSeconds * 1000 - Date.parse(now)) / 1000);
  return Number.isNaN(seconds) ? undefined : seconds;
}
