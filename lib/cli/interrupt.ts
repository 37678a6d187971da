/**
 * Waits for Ctrl-C or SIGTERM. The first one resolves the promise, so that the caller can end in good order; a second one
 * ends the process at once.
 */
export function untilInterrupted(process: NodeJS.Process = globalThis.process): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(130);
      asked = true;
      resolve(signal);
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  });
}
