import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { findCondition } from "../model/condition.ts";
import { clip } from "../model/text.ts";
import { type Decision, formatEnd } from "./explain.ts";
import { rejection } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import { InvalidWish, satisfies, tryReadWish, type Wish } from "./parsed-spec.ts";
import type { Detail } from "./reasons.ts";
import { judgeHeld } from "./retention.ts";
import { partsOf, scorersOf } from "./scores.ts";
import { parseUnmatched } from "./status.ts";

/**
 * Tells whether a change of a cluster could change what a placement decides or says. What the placement's status says about
 * the cluster is held against the cluster as it is now, so the answer needs no memory of how it was; `before` (undefined
 * when it is not known) makes it sharper where the status does not say.
 *
 * A placement that rejects the cluster for a reason that the change does not touch is left alone.
 */
export function mayConcern(
  placement: WorkloadPlacement,
  before: ClusterFacts | undefined,
  after: ClusterFacts | undefined,
): boolean {
  const { metadata, status } = placement;
  const name = after?.name ?? before?.name;
  if (metadata.deletionTimestamp !== undefined || name === undefined) return false;
  // One that has not been decided yet will be, but whether that run sees this change is not known.
  if (status?.decisions === undefined || status.observedGeneration !== metadata.generation) return true;

  // How long a cluster to return to has fitted, and whether another stands in for it, is no part of what is said of it.
  if (status.failback?.some(({ cluster, standIn }) => cluster === name || standIn === name) === true) return true;

  const recorded = status.decisions.find(({ cluster }) => cluster === name);
  const isOmitted = recorded === undefined && status.decisionsOmitted !== undefined;
  if (after === undefined) return recorded === undefined ? isOmitted : recorded.reason !== "NotFound";
  if (recorded === undefined && !isOmitted) return true;

  const wish = tryReadWish(placement);
  if (wish instanceof InvalidWish) return recorded?.reason === "NotFound";
  if (recorded === undefined) return before === undefined || differs(wish, placement, before, after);
  return (
    saysOtherwise(wish, recorded, after) ||
    movesWithin(wish, before, after) ||
    matchesOtherwise(wish, placement, { recorded, before, after })
  );
}

/** For clusters that the status has no room for: is there anything about them that the placement looks at? */
function differs(wish: Wish, placement: WorkloadPlacement, before: ClusterFacts, after: ClusterFacts): boolean {
  const one = rejection(wish, before);
  const other = rejection(wish, after);
  if (one !== other) return true;
  if (one === undefined) {
    // Beyond the list only the order matters, and with it the score.
    return (
      !isDeepStrictEqual(partsOf(scorersOf(wish), before), partsOf(scorersOf(wish), after)) ||
      movesWithin(wish, before, after)
    );
  }
  // A chosen cluster that found no room in the list may be borne for a while, which other facts decide.
  if (placement.status?.selectedClusters?.includes(after.name) === true) return true;
  return matchesOtherwise(wish, placement, { recorded: undefined, before, after });
}

function saysOtherwise(wish: Wish, recorded: Decision, after: ClusterFacts): boolean {
  const failed = rejection(wish, after);
  if (failed === undefined) {
    const fits =
      recorded.reason === "Selected" || recorded.reason === "NotSelected" || recorded.reason === "SkewTooLarge";
    return !fits || !isDeepStrictEqual(recorded.parts ?? [], partsOf(scorersOf(wish), after));
  }
  if (!recorded.selected) return recorded.reason !== failed.reason || !isSame(recorded, failed.detail(wish, after));

  // Whether its time is up is the business of the placement's own timer, so no time passes here.
  const untilMs = recorded.until === undefined ? Number.NaN : Date.parse(recorded.until);
  const verdict = judgeHeld(wish, after, {
    nowMs: -Infinity,
    before: Number.isNaN(untilMs) ? undefined : { actual: recorded.actual, untilMs },
  });
  if (!verdict.stays || verdict.reason === "Selected" || verdict.reason !== recorded.reason) return true;
  const until =
    verdict.reason === "KeptTolerated" && verdict.untilMs !== undefined ? formatEnd(verdict.untilMs) : undefined;
  return until !== recorded.until || !isSame(recorded, verdict.detail);
}

function isSame(recorded: Decision, { rule, expected, actual }: Detail): boolean {
  const text = (value: string | undefined) => (value === undefined ? undefined : clip(value));
  return recorded.rule === text(rule) && recorded.expected === text(expected) && recorded.actual === text(actual);
}

/** Where a fitting cluster is counts for the skew, but the status does not say where it was. */
function movesWithin(wish: Wish, before: ClusterFacts | undefined, after: ClusterFacts): boolean {
  if (wish.spread.length === 0) return false;
  if (before === undefined) return rejection(wish, after) === undefined;
  return wish.spread.some(({ key }) => before.labels.get(key) !== after.labels.get(key));
}

/** A placement that found nothing names the requirements that no cluster satisfies, whatever else was wrong with them. */
function matchesOtherwise(
  wish: Wish,
  { status }: WorkloadPlacement,
  {
    recorded,
    before,
    after,
  }: Readonly<{ recorded: Decision | undefined; before: ClusterFacts | undefined; after: ClusterFacts }>,
): boolean {
  if ((status?.selectedClusters?.length ?? 0) > 0 || wish.selector.length === 0) return false;
  if (before !== undefined) {
    return wish.selector.some((each) => satisfies(before.labels, each) !== satisfies(after.labels, each));
  }
  // What comes before the requirement that failed is known to have held, and that one not to have.
  const failedAt = wish.selector.findIndex(({ key, text }) => {
    return recorded?.rule === clip(`locationSelector[${key}]`) && recorded.expected === clip(text);
  });
  if (failedAt < 0 && recorded?.reason !== "NotListed") return false;
  const unmatched = parseUnmatched(findCondition(status?.conditions, "Ready")?.message ?? "");
  return wish.selector
    .slice(failedAt + 1)
    .some((each) => satisfies(after.labels, each) === unmatched.includes(clip(each.text)));
}
