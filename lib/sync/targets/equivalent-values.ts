import { compareQuantities, isQuantity, parseQuantity } from "@tmc/kube/quantity.ts";

/** Where a value stands: its field and the one above. */
export type ValuePlace = Readonly<{ field: string; parent: string }>;

/** Fields under which every name has a text of its own: nothing there is a quantity, and an empty text is one too. */
const textMaps: ReadonlySet<string> = new Set([
  "labels",
  "annotations",
  "matchLabels",
  "nodeSelector",
  "selector",
  "data",
  "binaryData",
  "stringData",
  "volumeAttributes",
]);
/** Fields under which every name has an amount. */
const quantityMaps: ReadonlySet<string> = new Set([
  "limits",
  "requests",
  "capacity",
  "overhead",
  "hard",
  "allocatedResources",
]);
const quantityFields: ReadonlySet<string> = new Set(["sizeLimit", "divisor", "averageValue"]);

/** Tells whether two scalars say the same at their place: `1000m` and `1` of a processor, `80` and `"80"` for a port. */
export function isSameValue(wanted: unknown, live: unknown, place: ValuePlace): boolean {
  if (wanted === live) return true;
  if (isText(place)) return false;
  if (isAmount(place) && isQuantity(wanted) && isQuantity(live)) {
    return compareQuantities(parseQuantity(wanted), parseQuantity(live)) === 0;
  }
  const isEither = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";
  return isEither(wanted) && isEither(live) && String(wanted) === String(live);
}

/**
 * Tells whether a scalar says no more than a field that is not there. Kubernetes leaves out what is empty, zero or false in
 * its own types; an object of a custom type is kept as it was written.
 */
export function saysNothing(wanted: unknown, place: ValuePlace, isBuiltIn: boolean): boolean {
  return isBuiltIn && !isText(place) && (wanted === "" || wanted === 0 || wanted === false);
}

const isText = ({ parent }: ValuePlace): boolean => textMaps.has(parent);

function isAmount({ field, parent }: ValuePlace): boolean {
  return quantityMaps.has(parent) || quantityFields.has(field) || (field === "value" && parent === "target");
}
