import { afterAll, beforeAll } from "vitest";

/**
 * Turns stack traces off for the tests of a file. Thousands of calls of a run are meant to fail, and the traces of their errors
 * would take a tenth of the time.
 */
export function withoutStackTraces(): void {
  let before = Error.stackTraceLimit;
  beforeAll(() => {
    before = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = before;
  });
}
