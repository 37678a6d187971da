import { performance } from "node:perf_hooks";
import type { ControllerUsage } from "../workers/controller-worker.ts";
import { clocked, isThe, untilAll, writesSince } from "./measure.ts";
import { begin, pairPool, type SyncSession, startController, type Writes } from "./session.ts";
import { untilNotified } from "./until-notified.ts";

export type Restart = Readonly<{
  /** Until a new controller has nothing left to do. */
  settledMs: number;
  /** What it wrote until then; the heartbeat of clusters is not about workloads. */
  writes: Writes;
  /** From its start to a Deployment in both clusters that was made at that moment. */
  firstMs: number;
  /** The same for one that is made when it has nothing else to do. */
  nextMs: number;
  usage: ControllerUsage;
  live: ControllerUsage;
}>;

/** Starts controllers over what others have left in good order. None may be running. */
export async function measureRestart(session: SyncSession, prefix: string): Promise<Restart> {
  const { world, hub, pair } = session;
  const served = (name: string, act: () => Promise<unknown>): Promise<number[]> =>
    clocked(
      () => Promise.all([act(), hub.create({ name, pool: pairPool, replicas: 0 })]),
      untilAll(pair, 1, isThe(name)),
    );
  const quiet = await (async () => {
    await using controller = await startController(world);
    const before = await world.writes();
    const began = performance.now();
    await begin(controller, world);
    await controller.settled();
    const settledMs = performance.now() - began;
    await untilNotified();
    return { settledMs, writes: aboutWork(writesSince(before, await world.writes())) };
  })();
  await using controller = await startController(world);
  const [firstMs = 0] = await served(`${prefix}-first`, () => begin(controller, world));
  await controller.settled();
  const [nextMs = 0] = await served(`${prefix}-next`, async () => {});
  await controller.settled();
  const usage = await controller.usage();
  return { ...quiet, firstMs, nextMs, usage, live: await controller.liveUsage() };
}

function aboutWork({ up, down }: Writes): Writes {
  const rest = Object.entries(up).filter(([what]) => !what.includes("clusterregistrations"));
  return { up: Object.fromEntries(rest), down };
}
