import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { untilInterrupted } from "../../../lib/cli/interrupt.ts";

function aProcess() {
  const codes: (number | string | null | undefined)[] = [];
  const emitter = new EventEmitter();
  const exit = (code?: number | string | null): never => {
    codes.push(code);
    // The type says that it never comes back; here it does, as nothing follows.
    return undefined as never;
  };
  // Only `on` and `exit` are used, and an emitter's `on` is what a process has.
  return { codes, emitter, process: { on: emitter.on.bind(emitter), exit } as unknown as NodeJS.Process };
}

it.each(["SIGINT", "SIGTERM"])("lets the first %s end in good order and the second at once", async (signal) => {
  const { codes, emitter, process } = aProcess();
  const interrupted = untilInterrupted(process);
  emitter.emit(signal);
  await interrupted;
  expect(codes).toEqual([]);
  emitter.emit(signal);
  expect(codes).toEqual([130]);
});
