/** Lets callers wait until everything has been listed once. */
export interface InitialLists {
  /** Resolves when everything has been listed, or when `end` is called. */
  whenListed(): Promise<void>;
  /** To be called after each list. */
  check(): void;
  end(): void;
}

/** Creates the wait; `unlisted` returns what has not been listed yet. */
export function createInitialLists(unlisted: () => readonly string[]): InitialLists {
  const waiters = new Set<() => void>();
  let ended = false;
  const resolveAll = (): void => {
    for (const resolve of waiters) resolve();
    waiters.clear();
  };
  return {
    whenListed: () =>
      new Promise((resolve) => {
        if (ended || unlisted().length === 0) resolve();
        else waiters.add(resolve);
      }),
    check: () => {
      if (waiters.size > 0 && unlisted().length === 0) resolveAll();
    },
    end: () => {
      ended = true;
      resolveAll();
    },
  };
}
