/** Finds by what they name those who name it. */
export interface BackwardIndex {
  /** Says what an owner names now; nothing when it has gone. */
  set(owner: string, names: readonly string[]): void;
  /** Those who name it, in no order. */
  owners(name: string): Iterable<string>;
}

const nobody: readonly string[] = [];

/** Creates an index in which nobody names anything. */
export function createBackwardIndex(): BackwardIndex {
  const named = new Map<string, readonly string[]>();
  const ownersOf = new Map<string, Set<string>>();
  return {
    set: (owner, names) => {
      const before = named.get(owner) ?? nobody;
      if (before.length === names.length && before.every((name, at) => name === names[at])) return;
      for (const name of before) {
        const owners = ownersOf.get(name);
        owners?.delete(owner);
        if (owners?.size === 0) ownersOf.delete(name);
      }
      for (const name of names) {
        const owners = ownersOf.get(name) ?? new Set<string>();
        ownersOf.set(name, owners.add(owner));
      }
      if (names.length === 0) named.delete(owner);
      else named.set(owner, names);
    },
    owners: (name) => ownersOf.get(name) ?? nobody,
  };
}
