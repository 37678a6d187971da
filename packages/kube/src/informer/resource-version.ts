import { compareStrings } from "../compare.ts";
import type { KubeObject } from "../kube-object.ts";

/**
 * Orders two resourceVersions of one resource. They are growing numbers of any length in every supported server; any
 * other value cannot be ordered and counts as equal.
 */
export function compareResourceVersions(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined || !isNumber(one) || !isNumber(other)) return 0;
  if (one.length !== other.length) return one.length - other.length;
  return compareStrings(one, other);
}

const isNumber = (text: string): boolean => /^[1-9][0-9]*$/.test(text);

/** Returns whether `object` may replace `present`. Of versions that cannot be ordered the later one to arrive wins. */
export function isNewer(object: KubeObject, present: KubeObject): boolean {
  const [next, last] = [object.metadata.resourceVersion, present.metadata.resourceVersion];
  return next !== last && compareResourceVersions(next, last) >= 0;
}
