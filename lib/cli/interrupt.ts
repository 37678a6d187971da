/**
 * Waits for SIGINT (Ctrl-C), SIGTERM or SIGHUP (the terminal was closed). The first signal resolves the promise, so that the caller can shut down gracefully;
 * the second one exits the process immediately.
 */
export function untilInterrupted(target: Pick<NodeJS.Process, "on" | "exit"> = globalThis.process): Promise<void> {
  return new Promise((resolve) => {
    let isInterrupted = false;
    const stop = (): void => {
      if (isInterrupted) target.exit(130);
      isInterrupted = true;
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) target.on(signal, stop);
  });
}
