import { compareQuantities as compare, formatQuantity, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";

/**
 * Writes a quantity the one way a real server stores it: `0.5` is `500m`, `1024Mi` is `1Gi`, `1000m` is `1`. Undefined for
 * what is no quantity.
 */
export function canonicalQuantity(value: string | number): string | undefined {
  return isQuantity(value) ? formatQuantity(parseQuantity(value)) : undefined;
}

/** Which of two quantities is more; undefined where one of them is none. */
export function compareQuantities(a: string, b: string): number | undefined {
  return isQuantity(a) && isQuantity(b) ? compare(parseQuantity(a), parseQuantity(b)) : undefined;
}
