import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { findCondition } from "../model/condition.ts";
import { clip } from "../model/text.ts";
import { type ClusterDecision, formatTimestampUp } from "./explain.ts";
import { rejectingFilter } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import { InvalidSpec, type ParsedSpec, satisfies, tryParseSpec } from "./parsed-spec.ts";
import type { ReasonDetail } from "./reasons.ts";
import { decideRetention, previousDecisionOf } from "./retention.ts";
import { createScorers, scoreParts } from "./scores.ts";
import { parseUnmatched } from "./status.ts";

/**
 * Whether a change of a cluster could change the selection or the status of a placement. It compares the decision in the
 * placement's status with the current facts of the cluster, so it needs no record of earlier facts. `before` (undefined
 * if unknown) avoids false positives where the status does not have the decision.
 *
 * A placement that rejects the cluster for a reason that the change does not touch is not affected.
 */
export function mayAffect(
  placement: WorkloadPlacement,
  before: ClusterFacts | undefined,
  after: ClusterFacts | undefined,
): boolean {
  const { metadata, status } = placement;
  const name = after?.name ?? before?.name;
  if (metadata.deletionTimestamp !== undefined || name === undefined) return false;
  // The pending reconcile of a new or changed placement may have read the cluster before this change.
  if (status?.decisions === undefined || status.observedGeneration !== metadata.generation) return true;

  // The decision of a failback target or stand-in does not show since when it has fit, so it cannot be compared.
  if (status.failback?.some(({ cluster, standIn }) => cluster === name || standIn === name) === true) return true;

  const recorded = status.decisions.find(({ cluster }) => cluster === name);
  const isOmitted = recorded === undefined && status.decisionsOmitted !== undefined;
  if (after === undefined) return recorded === undefined ? isOmitted : recorded.reason !== "NotFound";
  if (recorded === undefined && !isOmitted) return true;

  const spec = tryParseSpec(placement);
  if (spec instanceof InvalidSpec) return recorded?.reason === "NotFound";
  if (recorded === undefined) return before === undefined || omittedClusterDiffers(spec, placement, before, after);
  return (
    decisionDiffers(spec, recorded, after) ||
    changesDomain(spec, before, after) ||
    changesUnmatchedRequirements(spec, placement, { recorded, before, after })
  );
}

/** For clusters that `status.decisions` omits: whether a fact has changed that the placement uses. */
function omittedClusterDiffers(
  spec: ParsedSpec,
  placement: WorkloadPlacement,
  before: ClusterFacts,
  after: ClusterFacts,
): boolean {
  const rejectionBefore = rejectingFilter(spec, before);
  if (rejectionBefore !== rejectingFilter(spec, after)) return true;
  if (rejectionBefore === undefined) {
    // For omitted clusters that fit, only their rank matters, which the score decides.
    const scorers = createScorers(spec);
    return (
      !isDeepStrictEqual(scoreParts(scorers, before), scoreParts(scorers, after)) || changesDomain(spec, before, after)
    );
  }
  // A selected cluster that is omitted may be tolerated for a while, which depends on more facts.
  if (placement.status?.selectedClusters?.includes(after.name) === true) return true;
  return changesUnmatchedRequirements(spec, placement, { recorded: undefined, before, after });
}

function decisionDiffers(spec: ParsedSpec, recorded: ClusterDecision, after: ClusterFacts): boolean {
  const failed = rejectingFilter(spec, after);
  if (failed === undefined) {
    const didFit =
      recorded.reason === "Selected" || recorded.reason === "NotSelected" || recorded.reason === "SkewTooLarge";
    return !didFit || !isDeepStrictEqual(recorded.parts ?? [], scoreParts(createScorers(spec), after));
  }
  if (!recorded.selected) {
    return recorded.reason !== failed.reason || !hasSameDetail(recorded, failed.detail(spec, after));
  }

  // The placement's own requeue handles the end of a toleration, so no time passes here.
  const verdict = decideRetention(spec, after, { nowMs: -Infinity, previous: previousDecisionOf(recorded) });
  if (!verdict.isRetained || verdict.reason === "Selected" || verdict.reason !== recorded.reason) return true;
  const until =
    verdict.reason === "KeptTolerated" && verdict.untilMs !== undefined
      ? formatTimestampUp(verdict.untilMs)
      : undefined;
  return until !== recorded.until || !hasSameDetail(recorded, verdict.detail);
}

function hasSameDetail(recorded: ClusterDecision, { rule, expected, actual }: ReasonDetail): boolean {
  const clipped = (text: string | undefined) => (text === undefined ? undefined : clip(text));
  return (
    recorded.rule === clipped(rule) && recorded.expected === clipped(expected) && recorded.actual === clipped(actual)
  );
}

/** The topology domain of a cluster that fits influences the skew, but the status does not record the domain. */
function changesDomain(spec: ParsedSpec, before: ClusterFacts | undefined, after: ClusterFacts): boolean {
  if (spec.spreadConstraints.length === 0) return false;
  if (before === undefined) return rejectingFilter(spec, after) === undefined;
  return spec.spreadConstraints.some(
    ({ topologyKey }) => before.labels.get(topologyKey) !== after.labels.get(topologyKey),
  );
}

/** The condition of a placement without clusters names the requirements that no cluster satisfies; labels can change that. */
function changesUnmatchedRequirements(
  spec: ParsedSpec,
  { status }: WorkloadPlacement,
  {
    recorded,
    before,
    after,
  }: Readonly<{ recorded: ClusterDecision | undefined; before: ClusterFacts | undefined; after: ClusterFacts }>,
): boolean {
  const { locationSelector } = spec;
  if ((status?.selectedClusters?.length ?? 0) > 0 || locationSelector.length === 0) return false;
  if (before !== undefined) {
    return locationSelector.some((each) => satisfies(before.labels, each) !== satisfies(after.labels, each));
  }
  // The decision names the first requirement that failed; all requirements before it were satisfied.
  const failedIndex = locationSelector.findIndex(({ key, text }) => {
    return recorded?.rule === clip(`locationSelector[${key}]`) && recorded.expected === clip(text);
  });
  if (failedIndex < 0 && recorded?.reason !== "NotListed") return false;
  const unmatched = parseUnmatched(findCondition(status?.conditions, "Ready")?.message ?? "");
  return locationSelector
    .slice(failedIndex + 1)
    .some((each) => satisfies(after.labels, each) === unmatched.includes(clip(each.text)));
}
