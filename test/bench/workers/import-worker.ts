// Loads the module whose file is given, and prints how long that took and how much memory there is then.
import { pathToFileURL } from "node:url";

/** What a fresh process tells of loading one module. */
export type ImportResult = Readonly<{ importMs: number; importCpuMs: number; rssMb: number }>;

const [file = ""] = process.argv.slice(2);
const cpuBefore = process.cpuUsage();
const began = performance.now();
await import(pathToFileURL(file).href);
const importMs = performance.now() - began;
const cpu = process.cpuUsage(cpuBefore);
const result: ImportResult = {
  importMs,
  importCpuMs: (cpu.user + cpu.system) / 1000,
  rssMb: process.memoryUsage().rss / 1e6,
};
process.stdout.write(JSON.stringify(result));
