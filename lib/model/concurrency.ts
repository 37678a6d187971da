/**
 * Waits for all of them, also where one has failed, and only then fails as that one did: whoever goes on after a failure
 * leaves nothing under way behind.
 */
export async function allSettledOrThrow<const T extends readonly unknown[]>(
  works: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** Does a task for each of many, a few at once, and is done when all are; the first failure ends the beginning of more. */
export async function forEachConcurrently<T>(
  members: Iterable<T>,
  most: number,
  task: (member: T) => Promise<void>,
): Promise<void> {
  const rest = members[Symbol.iterator]();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true && !failed; next = rest.next()) {
      try {
        await task(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: most }, worker));
}
