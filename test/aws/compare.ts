import { unknown } from "./template.ts";

/** A place where what is live is not what the template asked for. */
export type Difference = Readonly<{ path: string; wanted: unknown; live: unknown }>;

/** What came of a comparison. */
export type Comparison = Readonly<{ compared: number; differences: readonly Difference[] }>;

/**
 * Compares a template with the live resources. What is live besides is the service's own affair; a
 * number in words is that number, for services answer so.
 */
export function compare(wanted: unknown, live: unknown, path = ""): Comparison {
  if (wanted === unknown) return { compared: 0, differences: [] };
  if (Array.isArray(wanted)) {
    const found = Array.isArray(live) ? live : live === undefined ? [] : [live];
    if (wanted.length !== found.length) return differs(path, wanted, live);
    const [left, right] = wanted.every(isScalar) ? [sorted(wanted), sorted(found)] : [wanted, found];
    return sum(left.map((each, at) => compare(each, right[at], `${path}[${at}]`)));
  }
  if (typeof wanted === "object" && wanted !== null) {
    const found: Readonly<Record<string, unknown>> = typeof live === "object" && live !== null ? { ...live } : {};
    const entries = Object.entries(wanted);
    return sum(entries.map(([key, value]) => compare(value, found[key], path === "" ? key : `${path}.${key}`)));
  }
  return String(wanted) === String(live) ? { compared: 1, differences: [] } : differs(path, wanted, live);
}

const differs = (path: string, wanted: unknown, live: unknown): Comparison => ({
  compared: 1,
  differences: [{ path, wanted, live }],
});

const sum = (parts: readonly Comparison[]): Comparison => ({
  compared: parts.reduce((total, { compared }) => total + compared, 0),
  differences: parts.flatMap(({ differences }) => differences),
});

const isScalar = (value: unknown): boolean => typeof value !== "object" && value !== unknown;

const sorted = (list: readonly unknown[]): unknown[] => list.map(String).toSorted();
