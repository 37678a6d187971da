import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Removal } from "./rule.ts";
import { takeOut } from "./take-out.ts";

/** A copy of the sources in which rules can be taken out without anybody else noticing. */
export interface Workshop {
  readonly folder: string;
  /** Does something without these rules, and puts them back whatever comes of it. */
  without<T>(removals: readonly Removal[], work: () => Promise<T>): Promise<T>;
  /** Takes the copy away. */
  remove(): void;
}

/** Links the installed packages; those of this project lead to the copy, so that rules can be taken out of them too. */
function linkInstalled(root: string, folder: string): void {
  const installed = join(root, "node_modules");
  mkdirSync(join(folder, "node_modules", "@tmc"), { recursive: true });
  for (const name of readdirSync(installed)) {
    if (name !== "@tmc") symlinkSync(join(installed, name), join(folder, "node_modules", name));
  }
  for (const name of readdirSync(join(installed, "@tmc"))) {
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules", "@tmc", name));
  }
}

/** Copies what git knows of a tree, as it is at this moment; what is installed is shared. */
export function openWorkshop(root: string): Workshop {
  const folder = mkdtempSync(join(tmpdir(), "tmc-rules-"));
  const listed = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
  for (const file of listed.split("\0")) {
    // Git also lists what somebody has removed and not yet told it.
    if (file === "" || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  linkInstalled(root, folder);

  return {
    folder,
    without: async (removals, work) => {
      const whole = new Map(removals.map(({ file }) => [file, readFileSync(join(folder, file), "utf8")]));
      try {
        for (const removal of removals) {
          const path = join(folder, removal.file);
          writeFileSync(path, takeOut(readFileSync(path, "utf8"), removal));
        }
        return await work();
      } finally {
        for (const [file, text] of whole) writeFileSync(join(folder, file), text);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
