// Installs the dependencies if they are missing or differ from the lock file. Runs on Node 20 and later and imports only
// built-in modules, because it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Returns the packages in a lock file as folder and entry. Optional ones are skipped: npm does not install those for other platforms. */
function packagesIn(file) {
  try {
    const { packages } = JSON.parse(readFileSync(file, "utf8"));
    return Object.entries(packages).filter(([folder, { optional }]) => folder !== "" && optional !== true);
  } catch {
    return undefined;
  }
}

// Compares versions and not modification times, which a checkout sets arbitrarily.
const required = packagesIn("package-lock.json");
const installed = new Map(packagesIn("node_modules/.package-lock.json"));
if (required === undefined) {
  console.error("tmc: package-lock.json is missing or unreadable; run this in the root of the repository");
  process.exit(1);
}
if (required.some(([folder, { version }]) => installed.get(folder)?.version !== version)) {
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
