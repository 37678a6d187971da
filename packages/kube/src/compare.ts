/** Orders strings by code unit: the same order on every machine, independent of the locale. */
export function compareStrings(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Orders `[key, value]` entries by their keys. */
export function byKey([one]: readonly [string, ...unknown[]], [other]: readonly [string, ...unknown[]]): number {
  return compareStrings(one, other);
}
