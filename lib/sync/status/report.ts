import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import { annotationsValidType, invalidAnnotation } from "../../api/annotations.ts";
import { type Condition, withCondition } from "../../model/condition.ts";
import { clipMessage, formatNames, summarizeNames } from "../../model/text.ts";
import type { Intent } from "../decide.ts";
import { volumeMessage } from "../eviction/volumes.ts";
import type { CopyRecord, SyncStatus } from "../sync-objects.ts";

export type ReportFacts = Readonly<{
  previous: SyncStatus | undefined;
  copies: readonly CopyRecord[];
  intent: Intent;
  generation: number | undefined;
  /** Explains why not all replicas could be placed. */
  shortfall?: string | undefined;
  /** The paths at which the copies differ, because of overrides or of tolerated drift. */
  differences?: readonly string[] | undefined;
  /** What is wrong with the annotation that chooses the status strategy. */
  strategyError?: string | undefined;
  /** What is wrong with the control annotations. */
  annotationErrors?: readonly string[] | undefined;
  /** Why the workload is not synced because the hub runs it itself. */
  hubControllersError?: string | undefined;
  /** The claims whose data keeps the workload on its clusters. */
  retainedClaims?: readonly string[] | undefined;
  /** After how long a copy that cannot be written counts as stalled. @default never */
  stalledAfterSeconds?: number | undefined;
  /** The time of this reconcile, in RFC 3339. */
  now: string;
}>;

/** Decides the status of the sync record. The entry of a copy that has not changed is kept, with the time of its last change. */
export function decideRecordStatus(facts: ReportFacts): SyncStatus {
  const { previous, copies, intent, generation, now } = facts;
  const previousCopies = new Map((previous?.clusters ?? []).map((entry) => [entry.name, entry]));
  const clusters = copies
    .map((copy) => keptOrUpdated(previousCopies.get(copy.name), copy, now))
    .toSorted((one, other) => compareStrings(one.name, other.name));
  const ready = { type: "Ready", ...readyCondition(intent, clusters) };
  const conditions = optionalConditions(facts, clusters).reduce(
    (current, optional) => withOptionalCondition(current, optional, now),
    withCondition(previous?.conditions ?? [], ready, now),
  );
  return {
    ...(clusters.length === 0 ? {} : { clusters, clusterSummary: summarizeNames(clusters.map(({ name }) => name)) }),
    conditions,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

/** A condition that most records never have. */
type OptionalCondition = Readonly<{
  type: string;
  /** The reason and message while there is something to report. */
  finding: Readonly<{ reason: string; message: string }> | undefined;
  /** The reason once there is nothing to report any more; without it the condition is removed. */
  clearReason?: string;
  /** Whether the condition is True when there is nothing to report. */
  isPositive?: boolean;
}>;

function optionalConditions(facts: ReportFacts, clusters: readonly CopyRecord[]): readonly OptionalCondition[] {
  const { intent, shortfall, differences = [], strategyError, annotationErrors = [], stalledAfterSeconds, now } = facts;
  const held = clusters.filter(({ state }) => state === "Held");
  const withVolumes = clusters.filter(
    ({ name, reason }) => intent.heldClusters.includes(name) || reason === "VolumeNotMovable",
  );
  const stalled = stalledAfterSeconds === undefined ? [] : stalledCopies(clusters, { now, stalledAfterSeconds });
  const findingOf = (reason: string, message: string | undefined) =>
    message === undefined ? undefined : { reason, message };
  return [
    { type: "DeletionsHeld", clearReason: "NoDeletionsHeld", finding: findingOfCopies(held, "DeletionsHeld") },
    { type: "EvictionHeld", clearReason: "NoEvictionHeld", finding: findingOfVolumes(withVolumes, facts) },
    { type: "Stalled", clearReason: "NotStalled", finding: findingOfCopies(stalled, "Applying") },
    {
      type: "SpecsDiffer",
      clearReason: "SpecsAlike",
      finding: differences.length === 0 ? undefined : { reason: "SpecsDiffer", message: formatNames(differences) },
    },
    {
      type: "ReplicasPlaced",
      clearReason: "AllPlaced",
      isPositive: true,
      finding: findingOf("SharesDoNotFit", shortfall),
    },
    {
      type: "StatusRuleKnown",
      clearReason: "Known",
      isPositive: true,
      finding: findingOf("UnknownStrategy", strategyError),
    },
    {
      type: "HubControllersOff",
      isPositive: true,
      finding: findingOf("HubRunsWorkloads", facts.hubControllersError),
    },
    {
      type: annotationsValidType,
      isPositive: true,
      finding: annotationErrors.length === 0 ? undefined : findingOf(invalidAnnotation, annotationErrors.join("; ")),
    },
  ];
}

function withOptionalCondition(
  conditions: readonly Condition[],
  { type, finding, clearReason, isPositive = false }: OptionalCondition,
  now: string,
): readonly Condition[] {
  if (finding === undefined) {
    const isPresent = conditions.some((condition) => condition.type === type);
    if (!isPresent) return conditions;
    if (clearReason === undefined) return conditions.filter((condition) => condition.type !== type);
    const status = isPositive ? "True" : "False";
    return withCondition(conditions, { type, status, reason: clearReason, message: "" }, now);
  }
  const status = isPositive ? "False" : "True";
  const { reason, message } = finding;
  return withCondition(conditions, { type, status, reason, message: clipMessage(message) }, now);
}

/** `east, west: …`, with the reason and the message of the first copy. */
function findingOfCopies(copies: readonly CopyRecord[], defaultReason: string): OptionalCondition["finding"] {
  const [first] = copies;
  if (first === undefined) return undefined;
  const names = formatNames(copies.map(({ name }) => name));
  return { reason: first.reason ?? defaultReason, message: `${names}: ${first.message ?? ""}` };
}

/** A held copy may have a more urgent reason of its own, such as a cluster that is not Ready. */
function findingOfVolumes(
  copies: readonly CopyRecord[],
  { retainedClaims = [] }: ReportFacts,
): OptionalCondition["finding"] {
  if (copies.length === 0) return undefined;
  const names = formatNames(copies.map(({ name }) => name));
  return { reason: "VolumeNotMovable", message: `${names}: ${volumeMessage(retainedClaims)}` };
}

function keptOrUpdated(previous: CopyRecord | undefined, copy: CopyRecord, now: string): CopyRecord {
  const { lastObservedTime: previousTime, ...before } = previous ?? { name: copy.name, state: copy.state };
  const { lastObservedTime: _, ...after } = copy;
  if (previous !== undefined && isSameEntry(before, after)) return previous;
  // A cluster that is not Ready reports nothing, so its last report keeps its time.
  const isObserved = after.reason !== "ClusterNotReady";
  const lastObservedTime = isObserved ? now : (copy.lastObservedTime ?? previousTime);
  return lastObservedTime === undefined ? after : { ...after, lastObservedTime };
}

function isSameEntry(one: object, other: object): boolean {
  const normalize = (value: object): string =>
    JSON.stringify(
      Object.entries(value)
        .filter(([, field]) => field !== undefined)
        .toSorted(byKey),
    );
  return normalize(one) === normalize(other);
}

type ReadyCondition = Readonly<{ status: Condition["status"]; reason: string; message: string }>;

function readyCondition({ kind, targets, placement }: Intent, clusters: readonly CopyRecord[]): ReadyCondition {
  if (kind !== "placed") {
    const remaining = clusters.map(({ name }) => name);
    const message = remaining.length === 0 ? "no cluster has a copy" : `still on ${remaining.join(", ")}`;
    const reason = { unplaced: "NotPlaced", deleted: "Deleted", vanished: "WorkloadVanished" }[kind];
    return { status: "False", reason, message };
  }
  if (targets.length === 0) {
    const message =
      clusters.length === 0 ? "the placement selects no cluster" : "no cluster matches; the existing copies are kept";
    return { status: "False", reason: "NoCluster", message };
  }
  const copies = clusters.filter(({ name }) => targets.includes(name));
  const notReady = copies.filter(({ state }) => state !== "Ready");
  const rule = healthRules.find((each) => each === placement?.spec.status?.health?.toLowerCase()) ?? "all";
  const { isHealthy, ready, expected } = overallHealth(rule, copies, targets.length);
  const count = `ready on ${ready} of ${expected} clusters`;
  const details = formatNames(notReady.map(({ name, state, reason }) => `${name} ${reason ?? state}`));
  const message = details === "" ? count : `${count}: ${details}`;
  if (isHealthy) return { status: "True", reason: "Ready", message };
  const worst = notReady.find(({ state }) => state === "Failed") ?? notReady[0];
  return { status: "False", reason: worst?.state === "Failed" ? "SyncFailed" : "NotReady", message };
}

/** When a workload counts as healthy: on all, on any, or on more than half of its clusters. */
export const healthRules = ["all", "any", "majority"] as const;
export type HealthRule = (typeof healthRules)[number];

export type OverallHealth = Readonly<{
  isHealthy: boolean;
  /** The number of clusters on which it is ready. */
  ready: number;
  /** The number of clusters on which it should be ready. */
  expected: number;
  /** `2/3 clusters` */
  summary: string;
}>;

/** Whether a workload is healthy by a rule; an expected cluster that is not in the list counts as not healthy. */
export function overallHealth(
  rule: HealthRule,
  healths: readonly Readonly<{ state: string }>[],
  expected = healths.length,
): OverallHealth {
  const ready = healths.filter(({ state }) => state === "Ready").length;
  const required = { all: expected, any: 1, majority: Math.floor(expected / 2) + 1 }[rule];
  // A workload without clusters is not healthy by any rule.
  const isHealthy = expected > 0 && ready >= required;
  return { isHealthy, ready, expected, summary: `${ready}/${expected} clusters` };
}

type StallFacts = Readonly<{ now: string; stalledAfterSeconds: number }>;

/** The copies that could not be written for so long that a user should be informed; TMC goes on trying. */
function stalledCopies(copies: readonly CopyRecord[], facts: StallFacts): readonly CopyRecord[] {
  return copies.filter((copy) => mayStall(copy) && (secondsToStallOf(copy, facts) ?? 1) <= 0);
}

/** Seconds until the next copy counts as stalled; undefined when none may stall. */
export function secondsToStall(copies: readonly CopyRecord[], facts: StallFacts): number | undefined {
  const remaining = copies
    .filter(mayStall)
    .map((copy) => secondsToStallOf(copy, facts))
    .filter((seconds) => seconds !== undefined && seconds > 0);
  return remaining.length === 0 ? undefined : Math.min(...remaining.map((seconds) => seconds ?? 0));
}

/** A copy that waits for a cluster that is not Ready does not stall: the cluster's own condition reports the cause. */
function mayStall({ state, reason }: CopyRecord): boolean {
  if (reason === "ClusterNotReady") return false;
  return state === "Failed" || state === "Pending" || (state === "Evicting" && reason === "Rejected");
}

function secondsToStallOf(
  { lastObservedTime }: CopyRecord,
  { now, stalledAfterSeconds }: StallFacts,
): number | undefined {
  const stalledMs = Date.parse(lastObservedTime ?? "") + stalledAfterSeconds * 1000;
  const seconds = Math.ceil((stalledMs - Date.parse(now)) / 1000);
  // A time in the future, after the clock was set back, delays the next check by no more than the whole time.
  return Number.isNaN(seconds) ? undefined : Math.min(seconds, stalledAfterSeconds);
}
