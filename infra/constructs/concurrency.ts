import { ControllerError } from "@tmc/kube/fault.ts";

/**
 * Refuses a reserve below what the queue may ask for: what is throttled counts as received, and after a few times it would
 * be set aside without ever having been tried.
 */
export function checkReserved(name: string, maxConcurrency: number, reserved: number | undefined): void {
  if (reserved === undefined || reserved >= maxConcurrency) return;
  throw new ControllerError(
    "invalid",
    `functions: ${name} reserves ${reserved} concurrent runs, its queue may ask for ${maxConcurrency}`,
  );
}
