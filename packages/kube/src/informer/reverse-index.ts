/** Maps a value to the owners that name it. */
export interface ReverseIndex {
  /** Replaces the values that an owner names; none when the owner is gone. */
  set(owner: string, values: readonly string[]): void;
  /** The owners that name a value, in no particular order. */
  owners(value: string): Iterable<string>;
}

const none: readonly string[] = [];

/** Creates an empty index. */
export function createReverseIndex(): ReverseIndex {
  const valuesOf = new Map<string, readonly string[]>();
  const ownersOf = new Map<string, Set<string>>();
  return {
    set: (owner, values) => {
      const before = valuesOf.get(owner) ?? none;
      if (before.length === values.length && before.every((value, index) => value === values[index])) return;
      for (const value of before) {
        const owners = ownersOf.get(value);
        owners?.delete(owner);
        if (owners?.size === 0) ownersOf.delete(value);
      }
      for (const value of values) {
        const owners = ownersOf.get(value) ?? new Set<string>();
        ownersOf.set(value, owners.add(owner));
      }
      if (values.length === 0) valuesOf.delete(owner);
      else valuesOf.set(owner, values);
    },
    owners: (value) => ownersOf.get(value) ?? none,
  };
}
