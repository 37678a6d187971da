import { compareQuantities as compare, formatQuantity, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";

/**
 * Returns the canonical form that a real server stores: `0.5` becomes `500m`, `1024Mi` becomes `1Gi`, `1000m` becomes
 * `1`. Returns undefined for an invalid quantity.
 */
export function canonicalQuantity(value: string | number): string | undefined {
  return isQuantity(value) ? formatQuantity(parseQuantity(value)) : undefined;
}

/** Compares two quantities; returns undefined if one of them is invalid. */
export function compareQuantityTexts(a: string, b: string): number | undefined {
  return isQuantity(a) && isQuantity(b) ? compare(parseQuantity(a), parseQuantity(b)) : undefined;
}
