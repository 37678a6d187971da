#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// From the second start on, nothing is compiled or stripped of its types again: half the start and a fifth of the memory.
enableCompileCache();
const { runTmc } = await import("../lib/cli/program.ts");

// Whoever reads our output may stop reading, as head does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
process.on("uncaughtException", (error) => {
  process.stderr.write(`tmc: unexpected failure: ${error.message}\n`);
  process.exit(1);
});

process.exitCode = await runTmc(process.argv.slice(2));
