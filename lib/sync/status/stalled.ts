import type { CopyRecord } from "../sync-objects.ts";

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
  return state === "Failed" || state === "Pending" || (state === "Leaving" && reason === "Refused");
}

function secondsLeft({ lastSeen }: CopyRecord, { now, stalledSeconds }: StallFacts): number | undefined {
  const seconds = Math.ceil((Date.parse(lastSeen ?? "") + stalledSeconds * 1000 - Date.parse(now)) / 1000);
  return Number.isNaN(seconds) ? undefined : seconds;
}
