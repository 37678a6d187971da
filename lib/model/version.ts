import { readFileSync } from "node:fs";

/** The servers that the end-to-end tests of this version run. */
export const testedVersions = { kcp: "v0.31.2", kubernetes: "v1.36.3" } as const;

/** The version of the running TMC: from the bundle, or from package.json in a clone. */
export function tmcVersion(): string {
  const bundled = process.env.TMC_VERSION;
  if (bundled !== undefined) return bundled;
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === "object" && parsed !== null && "version" in parsed ? String(parsed.version) : "unknown";
}
