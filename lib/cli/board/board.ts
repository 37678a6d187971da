import type { Clock } from "@tmc/kube/clock.ts";
import type { Keyboard, Screen } from "../cli-io.ts";
import { type BoardState, formatBoard } from "./board-lines.ts";
import { createTerminalRenderer } from "./terminal-renderer.ts";

export type BoardOptions = Readonly<{
  output: Screen;
  /** Undefined when standard input is not a terminal. */
  input: Keyboard | undefined;
  color: boolean;
  clock: Clock;
  state: (help: boolean) => BoardState;
  /** Called for a key that the board itself does not handle. */
  onKey: (key: string) => void;
  onQuit: () => void;
  /** Registers a task that runs when the process exits, after a crash too. */
  atExit: (task: () => void) => () => void;
}>;

/** A board on the terminal. */
export interface Board {
  /** Schedules a redraw after a change. */
  requestDraw(): void;
  end(): void;
}

/** The board shows ages in seconds. */
const tickMs = 1_000;
/** Changes within this time are drawn together. */
const frameMs = 30;

/** Shows the board on a terminal and handles its keys until `end` is called. */
export function showBoard({ output, input, color, clock, state, onKey, onQuit, atExit }: BoardOptions): Board {
  const renderer = createTerminalRenderer((text) => void output.write(text));
  let help = false;
  let ended = false;
  let cancelFrame: (() => void) | undefined;
  let cancelTick = (): void => {};

  const draw = (): void => {
    cancelFrame = undefined;
    if (ended) return;
    const size = { columns: output.columns || 80, rows: output.rows || 24 };
    renderer.render(formatBoard(state(help), { ...size, nowMs: clock.now(), color }));
  };
  const requestDraw = (): void => {
    cancelFrame ??= clock.after(frameMs, draw);
  };
  const tick = (): void => {
    draw();
    cancelTick = clock.after(tickMs, tick);
  };
  const onResize = (): void => {
    renderer.invalidate();
    requestDraw();
  };
  const onData = (data: Buffer | string): void => {
    for (const key of String(data)) {
      // In raw mode Ctrl-C arrives as data.
      if (key === "q" || key === "\x03") onQuit();
      else if (key === "h" || key === "?") {
        help = !help;
        requestDraw();
      } else onKey(key);
    }
  };
  const end = (): void => {
    if (ended) return;
    ended = true;
    cancelFrame?.();
    cancelTick();
    output.off("resize", onResize);
    input?.off("data", onData);
    input?.setRawMode(false);
    input?.pause();
    renderer.end();
    cancelExit();
  };

  const cancelExit = atExit(end);
  output.on("resize", onResize);
  input?.setRawMode(true);
  input?.resume();
  input?.on("data", onData);
  tick();
  return { requestDraw, end };
}
