/** Remembers since when an object has been waited for; times on objects have only seconds. */
export interface Delays {
  /** Milliseconds since the id was first asked about. */
  age(id: string, now: number): number;
  forget(id: string): void;
}

/** Creates a memory of beginnings. */
export function createDelays(): Delays {
  const since = new Map<string, number>();
  return {
    age: (id, now) => {
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
