import { performance } from "node:perf_hooks";

export type Load = Readonly<{
  /** Calls under way at any time. */
  concurrency: number;
  /** No call begins after this time. */
  turnMs: number;
  /** Nor after so many. */
  mostCalls: number;
}>;

export type LoadResult = Readonly<{ durationMs: number; latenciesMs: readonly number[]; cpuMs: number }>;

/** Keeps that many calls under way and times each of them, and the processor time of this process. */
export async function runLoad(
  { concurrency, turnMs, mostCalls }: Load,
  call: (index: number) => Promise<unknown>,
): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  let next = 0;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (next < mostCalls && performance.now() - began < turnMs) {
      const sent = performance.now();
      await call(next++);
      latenciesMs.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { durationMs: performance.now() - began, latenciesMs, cpuMs: cpuMsSince(cpuBefore) };
}

/** The processor time of this process, its threads included, since an earlier reading. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Does something for each number below `count`, so many at a time. */
export async function forEachOf(
  count: number,
  concurrency: number,
  act: (index: number) => Promise<unknown>,
): Promise<void> {
  await runLoad({ concurrency, turnMs: Number.POSITIVE_INFINITY, mostCalls: count }, act);
}
