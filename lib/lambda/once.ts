/**
 * Makes something when it is first asked for and keeps it for as long as the process lives. A failure is not kept: whoever
 * asks next has it made again.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    if (made !== undefined) return made;
    const making = make();
    made = making;
    making.catch(() => {
      if (made === making) made = undefined;
    });
    return making;
  };
}
