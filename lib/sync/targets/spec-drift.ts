import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import { textsOf } from "../../model/json-fields.ts";
import { withoutServerFields } from "../desired/server-fields.ts";
import { type Comparable, type DifferenceOptions, differences } from "./drift.ts";

/**
 * The paths at which the copies of one workload on several clusters do not all say the same, sorted. What each server hands
 * out by itself does not count, nor does metadata; a field that only one of them has does, even when it is a default that
 * the others' versions do not know.
 */
export function specDifferences(copies: readonly Described[], options: DifferenceOptions = {}): readonly string[] {
  const [first, ...others] = copies.map(wishIn);
  if (first === undefined) return [];
  const paths = others.flatMap((other) => [
    ...differences(first, other, options),
    ...differences(other, first, options),
  ]);
  return [...new Set(paths)].toSorted();
}

/** An object as a server gave it, or a manifest. */
type Described = Comparable & Readonly<{ metadata: Readonly<Pick<ObjectMeta, "name" | "labels" | "annotations">> }>;

function wishIn({ apiVersion, kind, metadata, status: _, ...body }: Described): Comparable {
  const { name = "", labels, annotations } = metadata;
  const parts = { name, labels: textsOf(labels), annotations: textsOf(annotations), body };
  return { apiVersion, kind, ...withoutServerFields({ apiVersion, kind }, parts, { isAssigned: true }).body };
}
