/**
 * Waits for all of them, also where one has failed, and only then fails as that one did: whoever goes on after a failure
 * leaves nothing under way behind.
 */
export async function allDone<const T extends readonly unknown[]>(
  works: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
