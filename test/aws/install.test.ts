import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPythonVersion } from "./install.ts";

describe("the Python that the emulator runs on", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tmc-aws-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const versionOf = async (says: string): Promise<string> => {
    await writeFile(join(folder, "python3"), `#!/bin/sh\necho "${says}"\n`);
    await chmod(join(folder, "python3"), 0o755);
    return readPythonVersion({ PATH: folder }).catch((error: unknown) => String(error));
  };

  it.each([
    ["Python 3.10.0", "Python 3.10.0"],
    ["Python 3.13.1", "Python 3.13.1"],
    ["Python 4.0.0", "Python 4.0.0"],
    ["Python 3.9.18", "needs Python 3.10 or newer on PATH, with venv; found Python 3.9.18"],
    ["Python 2.7.18", "found Python 2.7.18"],
    ["nonsense", "found nonsense"],
  ])("that says %s is answered with %s", async (says, answer) => {
    expect(await versionOf(says)).toContain(answer);
  });

  it("is requested in one line if it is missing", async () => {
    await expect(readPythonVersion({ PATH: join(folder, "empty") })).rejects.toThrow(/^[^\n]*found none$/);
  });
});
