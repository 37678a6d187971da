import { readFile } from "node:fs/promises";
import { Script } from "node:vm";
import { describe, expect, it } from "vitest";

const read = (name: string): Promise<string> => readFile(new URL(`../../../../${name}`, import.meta.url), "utf8");
const linesOf = (text: string): readonly string[] =>
  text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

describe("relay image", () => {
  it("is based on a fixed version of the official Node image", async () => {
    const bases = linesOf(await read("Dockerfile")).filter((line) => line.startsWith("FROM "));
    expect(bases).toEqual(["FROM node:24-slim"]);
  });
  it("runs as a numeric user that is not root", async () => {
    expect(await read("Dockerfile")).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
  });
  it("contains only the bundled relay, and sends nothing else to Docker", async () => {
    const copies = linesOf(await read("Dockerfile")).filter((line) => /^(COPY|ADD) /.test(line));
    expect(copies).toEqual(["COPY dist/relay.js /app/relay.mjs"]);
    expect(linesOf(await read(".dockerignore"))).toEqual(["*", "!dist", "dist/*", "!dist/relay.js"]);
  });
  it("needs no shell, because its commands are in exec form", async () => {
    const commands = linesOf(await read("Dockerfile")).filter((line) => /^(ENTRYPOINT|CMD|HEALTHCHECK) /.test(line));
    expect(commands).toHaveLength(2);
    for (const command of commands) {
      const args: unknown = JSON.parse(command.slice(command.indexOf("[")));
      expect(args).toEqual(expect.arrayContaining(["node"]));
    }
    expect(await read("Dockerfile")).not.toMatch(/^RUN /m);
  });
  it("has a health check that is valid JavaScript", async () => {
    const [check = ""] = linesOf(await read("Dockerfile")).filter((line) => line.startsWith("HEALTHCHECK "));
    const [, , code = ""] = JSON.parse(check.slice(check.indexOf("["))) as string[];
    expect(() => new Script(code)).not.toThrow();
  });
});
