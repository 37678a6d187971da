import { readFile } from "node:fs/promises";
import { Script } from "node:vm";
import { isRecord } from "@tmc/kube/json.ts";
import { describe, expect, it } from "vitest";
import { imageTargets, parseImage, parseStages, readDockerfile } from "./image.ts";

const read = (name: string): Promise<string> => readFile(new URL(`../../${name}`, import.meta.url), "utf8");
const dockerfile = await readDockerfile();

describe("the Dockerfile", () => {
  it("has exactly the targets that become images, with the relay before the controller", () => {
    // A builder without BuildKit runs every stage up to the target, and CDK sends it only the relay.
    expect([...parseStages(dockerfile).keys()]).toEqual(["base", ...imageTargets]);
  });

  it("needs no shell and runs on the machine of any platform, because no stage runs a command", () => {
    expect(dockerfile).not.toMatch(/^(RUN|SHELL|ADD) /m);
  });

  it("sends only the files of the images to Docker", async () => {
    const lines = (await read(".dockerignore")).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(lines).toEqual(["*", "!dist", "dist/*", "!dist/relay.js", "!dist/package"]);
  });

  it.each([
    ["relay", "dist/relay.js", "/app/relay.mjs"],
    ["controller", "dist/package/", "/app/"],
  ] as const)("copies into the %s only what the build has bundled for it", (target, from, to) => {
    expect(parseImage(dockerfile, target).copies).toEqual([{ from, to }]);
  });
});

describe.each(imageTargets)("the image of the %s", (target) => {
  const image = parseImage(dockerfile, target);

  it("is based on the official image of the project's Node, by its digest", async () => {
    const manifest: unknown = JSON.parse(await read("package.json"));
    const { devDependencies } = isRecord(manifest) ? manifest : {};
    const version = isRecord(devDependencies) ? devDependencies.node : undefined;
    expect(image.base).toMatch(/^node:[\d.]+-slim@sha256:[0-9a-f]{64}$/);
    expect(image.base.slice(0, image.base.indexOf("@"))).toBe(`node:${String(version)}-slim`);
  });

  it("runs as a numeric user that is not root", () => {
    expect(image.user).toBe("1000:1000");
  });

  it("starts Node directly, and opens the ports of metrics and health checks", () => {
    expect(image.entrypoint[0]).toBe("node");
    expect(image.ports).toEqual(["8080", "8081"]);
  });

  it("has a health check that is valid JavaScript", () => {
    const [program, option, code = ""] = image.healthCheck;
    expect([program, option]).toEqual(["node", "-e"]);
    expect(() => new Script(code)).not.toThrow();
  });
});
