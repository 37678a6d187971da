/**
 * Like Promise.all, but waits until all promises are settled before it throws the first error. After a failure the caller
 * can continue without leaving operations in flight.
 */
export async function allSettledOrThrow<const T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** Runs a task for each item with at most `limit` tasks at a time. After the first failure no further task is started. */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  limit: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
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
  await Promise.all(Array.from({ length: limit }, worker));
}
