import { ControllerError } from "@tmc/kube/fault.ts";

/**
 * Throws if the reserved concurrency is below that of the event source. A throttled message counts as received and would be
 * dead-lettered after a few attempts, without ever having been processed.
 */
export function assertReservedConcurrency(name: string, maxConcurrency: number, reserved: number | undefined): void {
  if (reserved === undefined || reserved >= maxConcurrency) return;
  throw new ControllerError(
    "invalid",
    `functions: ${name}: reserved concurrency ${reserved} is below the maximum concurrency ${maxConcurrency} of its queue`,
  );
}
