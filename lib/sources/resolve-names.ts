import { compareStrings } from "@tmc/kube/compare.ts";
import { formatOrigin, type Origin, type Reading } from "./cluster.ts";
import type { SourceKind } from "./source-kinds.ts";

/** An object whose name another one has. */
export type TurnedAway = Readonly<{ origin: Origin; message: string }>;

/**
 * Gives each name to one object: to the source that the operator named first, and within a source to the oldest object.
 *
 * So a SyncTarget can be replaced by a registration of its name, and nobody takes a cluster over by creating another object of
 * its name in a namespace of his own.
 */
export function settleNames(
  readings: readonly Reading[],
  sources: readonly SourceKind[],
): Readonly<{ winners: readonly Reading[]; turnedAway: readonly TurnedAway[] }> {
  const winners = new Map<string, Reading>();
  const turnedAway: TurnedAway[] = [];
  const rank = ({ origin }: Reading): number => sources.indexOf(origin.source);
  const inOrder = readings.toSorted((one, other) => rank(one) - rank(other) || byAge(one.origin, other.origin));
  for (const reading of inOrder) {
    const { origin } = reading;
    const holder = winners.get(origin.name);
    if (holder === undefined) winners.set(origin.name, reading);
    else turnedAway.push({ origin, message: `the name is taken by ${formatOrigin(holder.origin)}` });
  }
  const names = [...winners.keys()].toSorted();
  return { winners: names.flatMap((name) => winners.get(name) ?? []), turnedAway };
}

function byAge(one: Origin, other: Origin): number {
  return (
    one.createdMs - other.createdMs ||
    compareStrings(one.uid, other.uid) ||
    compareStrings(formatOrigin(one), formatOrigin(other))
  );
}
