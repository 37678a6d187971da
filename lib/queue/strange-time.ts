/** Refuses a wait that is no time: it would otherwise be one of no length, or for ever. */
export function refuseStrangeTime(seconds: number): void {
  if (!Number.isFinite(seconds)) throw new RangeError(`queue: later by ${seconds} seconds is no time`);
}
