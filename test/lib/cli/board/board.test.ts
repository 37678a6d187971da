import { EventEmitter } from "node:events";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, it } from "vitest";
import { showBoard } from "../../../../lib/cli/board/board.ts";
import type { BoardState } from "../../../../lib/cli/board/board-lines.ts";

function aBoard() {
  const clock = createManualClock();
  const [output, input] = [new EventEmitter(), new EventEmitter()];
  const seen = { screen: "", keys: "", quits: 0, raw: false, exits: [] as (() => void)[], workspace: "root:demo" };
  const startedMs = clock.now();
  const state = (help: boolean): BoardState => ({
    workspace: seen.workspace,
    upstream: "kcp https://kcp",
    startedMs,
    registrations: [],
    placements: [],
    workloads: [],
    events: [],
    queue: { depth: 0, inFlight: 0, delayed: 0, failing: 0, deadLetters: 0 },
    hints: ["a hint"],
    bindings: [],
    help,
  });
  const size = { columns: 80, rows: 24 };
  const board = showBoard({
    output: Object.assign(output, {
      ...size,
      write: (text: string) => {
        seen.screen += text;
      },
    }),
    input: Object.assign(input, {
      setRawMode: (on: boolean) => {
        seen.raw = on;
      },
      resume: () => {},
      pause: () => {},
    }),
    color: false,
    clock,
    state,
    onKey: (key) => {
      seen.keys += key;
    },
    onQuit: () => {
      seen.quits += 1;
    },
    atExit: (task) => {
      seen.exits.push(task);
      return () => void seen.exits.splice(seen.exits.indexOf(task), 1);
    },
  });
  const drawn = (): string => {
    const text = seen.screen;
    seen.screen = "";
    return text;
  };
  return { board, clock, input, output, seen, drawn };
}

it("the board draws changes after a short delay, once for several requests", () => {
  const { board, clock, seen, drawn } = aBoard();
  drawn();
  seen.workspace = "root:other";
  board.requestDraw();
  board.requestDraw();
  expect(drawn()).toBe("");
  clock.advance(30);
  expect(drawn()).toContain("root:other");
  board.end();
});

it("the board writes nothing between the ticks that update the ages", () => {
  const { board, clock, drawn } = aBoard();
  drawn();
  clock.advance(500);
  expect(drawn()).toBe("");
  clock.advance(500);
  const text = drawn();
  expect(text).toContain("up 1s");
  // Only the first line.
  expect(text.split(";1H")).toHaveLength(2);
  board.end();
});

it("the board handles q, Ctrl-C and h, and passes other keys to the caller", () => {
  const { board, clock, input, seen, drawn } = aBoard();
  input.emit("data", "xhE");
  clock.advance(30);
  expect(drawn()).toContain("a hint");
  input.emit("data", Buffer.from("q"));
  input.emit("data", "\x03");
  expect({ keys: seen.keys, quits: seen.quits }).toEqual({ keys: "xE", quits: 2 });
  board.end();
});

it("the board redraws everything when the terminal changes its size", () => {
  const { board, clock, output, drawn } = aBoard();
  drawn();
  output.emit("resize");
  clock.advance(30);
  expect(drawn()).toContain("\x1b[2J");
  board.end();
});

it("the board restores the terminal when the process exits, and leaves no timer", () => {
  const { clock, input, output, seen, drawn } = aBoard();
  expect(seen.raw).toBe(true);
  drawn();
  for (const task of [...seen.exits]) task();
  expect(drawn()).toContain("\x1b[?1049l");
  expect({ raw: seen.raw, timers: clock.pending }).toEqual({ raw: false, timers: 0 });
  expect([input.listenerCount("data"), output.listenerCount("resize")]).toEqual([0, 0]);
});
