// Nothing at all: what a process takes before anything of ours is in it.
/** Starts nothing. */
export async function startWorld(): Promise<{ stop(): Promise<void> }> {
  return { stop: async () => {} };
}
