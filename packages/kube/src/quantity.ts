/** The notation of a quantity, which its sums keep: `500M`, `512Mi`, `5e8`. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";
/** An amount, exact to a billionth as in Kubernetes. */
export type Quantity = Readonly<{ nanos: bigint; format: QuantityFormat }>;

/** Zero; a sum gets the format of the first other quantity. */
export const zeroQuantity: Quantity = { nanos: 0n, format: "DecimalSI" };

/** Parses a quantity (`100m`, `1.5`, `2Gi`, `1e3`, 4); throws with the message of a Kubernetes API server. */
export function parseQuantity(value: string | number): Quantity {
  const text = String(value);
  if (text.length > maxQuantityLength) {
    throw new Error(`quantities must be no longer than ${maxQuantityLength} characters`);
  }
  const match = pattern.exec(text);
  if (match === null) throw new Error(syntaxMessage);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  if (whole === "" && fraction === "") throw new Error(syntaxMessage);
  const scale = scaleOf(suffix);
  if (scale === undefined) throw new Error("unable to parse quantity's suffix");

  const digits = BigInt(`${whole}${fraction}`) * scale.multiplier * nanosPerUnit;
  const divisor = 10n ** BigInt(fraction.length) * scale.divisor;
  // Below a billionth Kubernetes rounds away from zero, so that a request is never rounded down.
  const nanos = (digits + divisor - 1n) / divisor;
  if (nanos > maxNanos) throw new Error("quantities must be no larger than 1e30");
  return { nanos: sign === "-" ? -nanos : nanos, format: scale.format };
}

/** Returns whether a value is a valid quantity. */
export function isQuantity(value: unknown): value is string | number {
  if (typeof value !== "string" && typeof value !== "number") return false;
  try {
    parseQuantity(value);
    return true;
  } catch {
    return false;
  }
}

/** Orders two quantities: negative if the first is smaller, zero if they are the same amount. */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  if (a.nanos === b.nanos) return 0;
  return a.nanos < b.nanos ? -1 : 1;
}

/** Adds quantities; the sum has the format of the first one that is not zero. */
export function addQuantities(...quantities: readonly Quantity[]): Quantity {
  return quantities.reduce(
    (sum, each) => ({ nanos: sum.nanos + each.nanos, format: sum.nanos === 0n ? each.format : sum.format }),
    zeroQuantity,
  );
}

/** Subtracts `amount` from `from`; the result has the format of `from`. */
export function subtractQuantities(from: Quantity, amount: Quantity): Quantity {
  return { nanos: from.nanos - amount.nanos, format: from.nanos === 0n ? amount.format : from.format };
}

/** Multiplies a quantity by a whole number. */
export function multiplyQuantity(quantity: Quantity, times: number): Quantity {
  return { nanos: quantity.nanos * BigInt(times), format: quantity.format };
}

/** The amount as a number, for shares and scores; very large amounts lose their last digits. */
export function quantityToNumber(quantity: Quantity): number {
  return Number(quantity.nanos / nanosPerUnit) + Number(quantity.nanos % nanosPerUnit) / 1e9;
}

/** Formats a quantity in canonical form: no fraction, the largest suffix without loss. */
export function formatQuantity(quantity: Quantity): string {
  const negative = quantity.nanos < 0n;
  const nanos = negative ? -quantity.nanos : quantity.nanos;
  return `${negative ? "-" : ""}${formatMagnitude(nanos, quantity.format)}`;
}

type Scale = Readonly<{ multiplier: bigint; divisor: bigint; format: QuantityFormat }>;

const nanosPerUnit = 1_000_000_000n;
/** No real amount is longer. Bounds the cost of the arithmetic, which grows faster than the number of digits. */
const maxQuantityLength = 40;
/** Far above any real amount; a sum of a million of them still has fewer than 63 characters, the limit in our schemas. */
const maxNanos = 10n ** 30n * nanosPerUnit;
const pattern = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const syntaxMessage = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const decimalSuffixes: readonly string[] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function scaleOf(suffix: string): Scale | undefined {
  const decimal = decimalSuffixes.indexOf(suffix);
  if (decimal >= 0) return { ...powerOf(10n, (decimal - 3) * 3), format: "DecimalSI" };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { multiplier: 1024n ** BigInt(binary), divisor: 1n, format: "BinarySI" };
  // Two digits are more than any real amount needs, and bound the cost of the power.
  const exponent = /^[eE]([+-]?0*[0-9]{1,2})$/.exec(suffix)?.[1];
  return exponent === undefined ? undefined : { ...powerOf(10n, Number(exponent)), format: "DecimalExponent" };
}

const powerOf = (base: bigint, exponent: number): { multiplier: bigint; divisor: bigint } =>
  exponent >= 0
    ? { multiplier: base ** BigInt(exponent), divisor: 1n }
    : { multiplier: 1n, divisor: base ** BigInt(-exponent) };

function formatMagnitude(nanos: bigint, format: QuantityFormat): string {
  if (nanos === 0n) return "0";
  // Kubernetes writes small binary amounts as decimals: there is no suffix below Ki.
  if (format === "BinarySI" && nanos >= 1024n * nanosPerUnit) {
    const units = (nanos + nanosPerUnit - 1n) / nanosPerUnit;
    const [mantissa, power] = withoutFactor(units, 1024n, binarySuffixes.length - 1);
    return `${mantissa}${binarySuffixes[power] ?? ""}`;
  }
  if (format === "DecimalExponent") {
    const [mantissa, power] = withoutFactor(nanos, 1000n, 100);
    const exponent = power * 3 - 9;
    return exponent === 0 ? String(mantissa) : `${mantissa}e${exponent}`;
  }
  const [mantissa, power] = withoutFactor(nanos, 1000n, decimalSuffixes.length - 1);
  return `${mantissa}${decimalSuffixes[power] ?? ""}`;
}

function withoutFactor(value: bigint, factor: bigint, most: number): [mantissa: bigint, power: number] {
  let mantissa = value;
  let power = 0;
  while (power < most && mantissa % factor === 0n) {
    mantissa /= factor;
    power += 1;
  }
  return [mantissa, power];
}
