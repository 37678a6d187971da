import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { corrected } from "./gaps.ts";

const tool = (name: string): Promise<string> => readFile(new URL(`tools/${name}`, import.meta.url), "utf8");

describe("the corrections of the emulator", () => {
  it("each have an explanation and exist", async () => {
    const [, table = ""] = /CORRECTIONS = \{([^}]*)\}/.exec(await tool("launcher.py")) ?? [];
    const names = [...table.matchAll(/"([a-z-]+)":/g)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(Object.keys(corrected).toSorted());
  });

  it("match the installed version", async () => {
    const [, pin] = /PIN = "([^"]+)"/.exec(await tool("launcher.py")) ?? [];
    expect(await tool("requirements.txt")).toContain(`ministack==${pin} \\`);
  });
});
