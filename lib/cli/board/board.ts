import type { Clock } from "@tmc/kube/clock.ts";
import type { Keyboard, Screen } from "../cli-io.ts";
import { createPainter } from "./painter.ts";
import { type BoardState, renderBoard } from "./render.ts";

export type BoardOptions = Readonly<{
  /** Where it is drawn. */
  output: Screen;
  /** Where keys come from; none when it is not a terminal. */
  input: Keyboard | undefined;
  color: boolean;
  clock: Clock;
  state: (help: boolean) => BoardState;
  /** A key that is not the board's own. */
  onKey: (key: string) => void;
  onQuit: () => void;
  /** Has something done when the process ends, however it does. */
  atExit: (task: () => void) => void;
}>;

/** A board that is being shown. */
export interface Board {
  /** Something may look different now. */
  changed(): void;
  end(): void;
}

/** Ages grow by the second. */
const tickMs = 1_000;
/** Changes that come together are drawn together. */
const frameMs = 30;

/** Shows the board in a terminal until it is ended, and reads keys meanwhile. */
export function showBoard({ output, input, color, clock, state, onKey, onQuit, atExit }: BoardOptions): Board {
  const painter = createPainter((text) => void output.write(text));
  let help = false;
  let ended = false;
  let takeBackFrame: (() => void) | undefined;
  let takeBackTick = (): void => {};

  const draw = (): void => {
    takeBackFrame = undefined;
    if (ended) return;
    const size = { columns: output.columns || 80, rows: output.rows || 24 };
    painter.paint(renderBoard(state(help), { ...size, now: clock.now(), color }));
  };
  const changed = (): void => {
    takeBackFrame ??= clock.after(frameMs, draw);
  };
  const tick = (): void => {
    draw();
    takeBackTick = clock.after(tickMs, tick);
  };
  const onResize = (): void => {
    painter.forget();
    changed();
  };
  const onData = (data: Buffer | string): void => {
    for (const key of String(data)) {
      // In raw mode Ctrl-C is a key like any other.
      if (key === "q" || key === "\x03") onQuit();
      else if (key === "h" || key === "?") {
        help = !help;
        changed();
      } else onKey(key);
    }
  };
  const end = (): void => {
    if (ended) return;
    ended = true;
    takeBackFrame?.();
    takeBackTick();
    output.off("resize", onResize);
    input?.off("data", onData);
    input?.setRawMode(false);
    input?.pause();
    painter.end();
  };

  atExit(end);
  output.on("resize", onResize);
  input?.setRawMode(true);
  input?.resume();
  input?.on("data", onData);
  tick();
  return { changed, end };
}
