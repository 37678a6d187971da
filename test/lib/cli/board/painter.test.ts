import { expect, it } from "vitest";
import { createPainter } from "../../../../lib/cli/board/painter.ts";

function aPainter() {
  const written: string[] = [];
  const painter = createPainter((text) => written.push(text));
  return { painter, sent: () => written.splice(0).join("") };
}

it("sends only the lines that differ, as one frame", () => {
  const { painter, sent } = aPainter();
  painter.paint(["a", "b", "c"]);
  sent();
  painter.paint(["a", "B", "c"]);
  expect(sent()).toBe("\x1b[?2026h\x1b[2;1HB\x1b[K\x1b[?2026l");
});

it("sends nothing when nothing differs", () => {
  const { painter, sent } = aPainter();
  painter.paint(["a"]);
  sent();
  painter.paint(["a"]);
  expect(sent()).toBe("");
});

it("clears lines that are no longer there", () => {
  const { painter, sent } = aPainter();
  painter.paint(["a", "b"]);
  sent();
  painter.paint(["a"]);
  expect(sent()).toContain("\x1b[2;1H\x1b[K");
});

it("draws everything anew after the terminal has changed its size", () => {
  const { painter, sent } = aPainter();
  painter.paint(["a", "b"]);
  sent();
  painter.forget();
  painter.paint(["a", "b"]);
  expect(sent()).toBe("\x1b[?2026h\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K\x1b[?2026l");
});

it("gives the terminal back once, and draws nothing after that", () => {
  const { painter, sent } = aPainter();
  expect(sent()).toContain("\x1b[?1049h");
  painter.end();
  expect(sent()).toBe("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l");
  painter.end();
  painter.paint(["a"]);
  expect(sent()).toBe("");
});
