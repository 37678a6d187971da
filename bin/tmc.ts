#!/usr/bin/env node
// This file has no static imports and no recent syntax, so that an older Node can run it as far as the error message. Node loads
// the static imports of a module before it runs the first line of it, and fails with a SyntaxError at an export that it lacks.
const oldestNode = [22, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
  process.stderr.write(`tmc requires Node ${oldestNode.join(".")} or later; this is v${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  const { enableCompileCache } = await import("node:module");
  // Caches compiled code on disk. From the second start on, this halves the start time and saves a fifth of the memory.
  enableCompileCache();
  const { runTmc } = await import("../lib/cli/program.ts");

  // The reader of a pipe may close it early, as head does.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  process.on("uncaughtException", (error) => {
    process.stderr.write(`tmc: unexpected failure: ${error.message}\n`);
    process.exit(1);
  });

  process.exitCode = await runTmc(process.argv.slice(2));
}

export {};
