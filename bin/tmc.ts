#!/usr/bin/env node
import { runTmc } from "../lib/cli/program.ts";

process.exitCode = await runTmc(process.argv.slice(2));
