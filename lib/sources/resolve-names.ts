import { compareStrings } from "@tmc/kube/compare.ts";
import { type ClusterView, formatSourceOrigin, type SourceOrigin } from "./cluster.ts";
import type { SourceKind } from "./source-kinds.ts";

/** An object that is not used because another object has the same name. */
export type RejectedObject = Readonly<{ origin: SourceOrigin; message: string }>;

/**
 * Assigns each name to one object: to the source that the operator listed first, and within a source to the oldest object.
 *
 * So a ClusterRegistration can replace a SyncTarget of the same name, and a user cannot take over a cluster by creating an
 * object of the same name in another namespace.
 */
export function resolveNames(
  readings: readonly ClusterView[],
  sources: readonly SourceKind[],
): Readonly<{ winners: readonly ClusterView[]; rejected: readonly RejectedObject[] }> {
  const winners = new Map<string, ClusterView>();
  const rejected: RejectedObject[] = [];
  const rank = ({ origin }: ClusterView): number => sources.indexOf(origin.source);
  const inOrder = readings.toSorted((one, other) => rank(one) - rank(other) || byAge(one.origin, other.origin));
  for (const reading of inOrder) {
    const { origin } = reading;
    const holder = winners.get(origin.name);
    if (holder === undefined) winners.set(origin.name, reading);
    else rejected.push({ origin, message: `the name is taken by ${formatSourceOrigin(holder.origin)}` });
  }
  const names = [...winners.keys()].toSorted();
  return { winners: names.flatMap((name) => winners.get(name) ?? []), rejected };
}

function byAge(one: SourceOrigin, other: SourceOrigin): number {
  return (
    one.createdMs - other.createdMs ||
    compareStrings(one.uid, other.uid) ||
    compareStrings(formatSourceOrigin(one), formatSourceOrigin(other))
  );
}
