import { expect, it } from "vitest";
import { canShowBoard, createTerminalRenderer } from "../../../../lib/cli/board/terminal-renderer.ts";
import { usesColor } from "../../../../lib/cli/cli-io.ts";

it.each([
  [{}, true],
  [{ TERM: "xterm-256color", LANG: "en_US.UTF-8" }, true],
  [{ LC_ALL: "C.utf8" }, true],
  [{ TERM: "dumb", LANG: "en_US.UTF-8" }, false],
  [{ LC_ALL: "C", LANG: "en_US.UTF-8" }, false],
  [{ LC_ALL: "", LC_CTYPE: "de_DE.ISO-8859-1", LANG: "en_US.UTF-8" }, false],
  [{ LANG: "POSIX" }, false],
])("canShowBoard with the environment %j returns %s", (env, expected) => {
  expect(canShowBoard(env)).toBe(expected);
});

it.each([
  [{}, true],
  [{ NO_COLOR: "" }, true],
  [{ NO_COLOR: "1" }, false],
  [{ FORCE_COLOR: "0" }, false],
  [{ TERM: "dumb" }, false],
  [{ FORCE_COLOR: "1" }, true],
])("usesColor with the environment %j returns %s", (env, expected) => {
  expect(usesColor(env)).toBe(expected);
});

function aRenderer() {
  const written: string[] = [];
  const renderer = createTerminalRenderer((text) => written.push(text));
  return { renderer, sent: () => written.splice(0).join("") };
}

it("render writes only the changed lines, as one synchronized update", () => {
  const { renderer, sent } = aRenderer();
  renderer.render(["a", "b", "c"]);
  sent();
  renderer.render(["a", "B", "c"]);
  expect(sent()).toBe("\x1b[?2026h\x1b[2;1HB\x1b[K\x1b[?2026l");
});

it("render writes nothing when nothing changed", () => {
  const { renderer, sent } = aRenderer();
  renderer.render(["a"]);
  sent();
  renderer.render(["a"]);
  expect(sent()).toBe("");
});

it("render clears removed lines", () => {
  const { renderer, sent } = aRenderer();
  renderer.render(["a", "b"]);
  sent();
  renderer.render(["a"]);
  expect(sent()).toContain("\x1b[2;1H\x1b[K");
});

it("render writes all lines after invalidate", () => {
  const { renderer, sent } = aRenderer();
  renderer.render(["a", "b"]);
  sent();
  renderer.invalidate();
  renderer.render(["a", "b"]);
  expect(sent()).toBe("\x1b[?2026h\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K\x1b[?2026l");
});

it("end restores the terminal once, and later renders write nothing", () => {
  const { renderer, sent } = aRenderer();
  expect(sent()).toContain("\x1b[?1049h");
  renderer.end();
  expect(sent()).toBe("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l");
  renderer.end();
  renderer.render(["a"]);
  expect(sent()).toBe("");
});
