// Loads the world whose file is given, starts it, and prints how long both took and how much memory there is then.
import { pathToFileURL } from "node:url";

/** What a fresh process tells of its start. */
export type StartResult = Readonly<{
  importMs: number;
  readyMs: number;
  /** Processor time from after the import to ready: what a machine that does other things as well cannot blur. */
  readyCpuMs: number;
  rssMb: number;
  heapMb: number;
}>;

const [file = ""] = process.argv.slice(2);
const began = performance.now();
// The parent gives one of the files in worlds/.
const { startWorld } = (await import(pathToFileURL(file).href)) as typeof import("../worlds/empty.ts");
const imported = performance.now();
const cpuBefore = process.cpuUsage();
const world = await startWorld();
const readyMs = performance.now() - imported;
const cpu = process.cpuUsage(cpuBefore);
const { rss, heapUsed } = process.memoryUsage();
const result: StartResult = {
  importMs: imported - began,
  readyMs,
  readyCpuMs: (cpu.user + cpu.system) / 1000,
  rssMb: rss / 1e6,
  heapMb: heapUsed / 1e6,
};
process.stdout.write(JSON.stringify(result));
await world.stop();
