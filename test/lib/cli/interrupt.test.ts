import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { untilInterrupted } from "../../../lib/cli/interrupt.ts";

function aProcess() {
  const codes: (number | string | null | undefined)[] = [];
  const emitter = new EventEmitter();
  const exit = (code?: number | string | null): never => {
    codes.push(code);
    // The type says that exit never returns; here it does, which is safe because nothing follows.
    return undefined as never;
  };
  // untilInterrupted uses only `on` and `exit`, and `on` of an emitter has the type of that of a process.
  return { codes, emitter, process: { on: emitter.on.bind(emitter), exit } as unknown as NodeJS.Process };
}

it.each(["SIGINT", "SIGTERM", "SIGHUP"])(
  "untilInterrupted resolves at the first %s and exits at the second",
  async (signal) => {
    const { codes, emitter, process } = aProcess();
    const interrupted = untilInterrupted(process);
    emitter.emit(signal);
    await interrupted;
    expect(codes).toEqual([]);
    emitter.emit(signal);
    expect(codes).toEqual([130]);
  },
);
