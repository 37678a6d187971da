// Installs the dependencies when they are missing or not those of the lock file. Runs on any Node ≥ 20 and imports
// nothing but Node itself, because it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The packages a lock file names, by folder; those for other platforms are left out, as npm leaves them out. */
function packagesIn(file) {
  try {
    const { packages } = JSON.parse(readFileSync(file, "utf8"));
    return Object.entries(packages).filter(([folder, { optional }]) => folder !== "" && optional !== true);
  } catch {
    return undefined;
  }
}

// What is compared are versions, not times: a checkout gives files any time it likes.
const wanted = packagesIn("package-lock.json");
const installed = new Map(packagesIn("node_modules/.package-lock.json"));
if (wanted === undefined) {
  console.error("tmc: package-lock.json is missing or unreadable; run this from the project's root");
  process.exit(1);
}
if (wanted.some(([folder, { version }]) => installed.get(folder)?.version !== version)) {
  console.log("tmc: installing dependencies (npm ci), about a minute …");
  const { status, error } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (error !== undefined || status !== 0) {
    console.error(`tmc: npm ci failed${error === undefined ? "" : `: ${error.message}`}`);
    process.exit(status ?? 1);
  }
}
