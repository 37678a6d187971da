/**
 * Waits for Ctrl-C or SIGTERM. The first one resolves the promise, so that the caller can end in good order; a second one
 * ends the process at once.
 */
export function untilInterrupted(target: Pick<NodeJS.Process, "on" | "exit"> = globalThis.process): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const stop = (): void => {
      if (asked) target.exit(130);
      asked = true;
      resolve();
    };
    target.on("SIGINT", stop);
    target.on("SIGTERM", stop);
  });
}
