/** Lets others wait until everything has been listed once. */
export interface Listing {
  /** Resolves when nothing is left unlisted, or at the end. */
  whenListed(): Promise<void>;
  /** Something has been listed. */
  look(): void;
  end(): void;
}

/** Creates what tells those who wait; `unlisted` says what is missing. */
export function createListing(unlisted: () => readonly string[]): Listing {
  const waiting = new Set<() => void>();
  let ended = false;
  const tellAll = (): void => {
    for (const tell of waiting) tell();
    waiting.clear();
  };
  return {
    whenListed: () =>
      new Promise((resolve) => {
        if (ended || unlisted().length === 0) resolve();
        else waiting.add(resolve);
      }),
    look: () => {
      if (waiting.size > 0 && unlisted().length === 0) tellAll();
    },
    end: () => {
      ended = true;
      tellAll();
    },
  };
}
