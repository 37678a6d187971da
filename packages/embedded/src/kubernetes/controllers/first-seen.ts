/** Remembers when an id was first seen. Timestamps in objects have only whole seconds. */
export interface FirstSeen {
  /** Milliseconds since the first call with this id. */
  ageMs(id: string, now: number): number;
  forget(id: string): void;
}

export function createFirstSeen(): FirstSeen {
  const since = new Map<string, number>();
  return {
    ageMs: (id, now) => {
      const first = since.get(id);
      if (first !== undefined) return now - first;
      since.set(id, now);
      return 0;
    },
    forget: (id) => {
      since.delete(id);
    },
  };
}
