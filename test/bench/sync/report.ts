import type { ControllerProcess } from "../measure-engine.ts";
import type { BenchReport } from "../report.ts";
import type { Settings } from "../settings.ts";
import { type ManyRound, measureManyRounds, measureSingles, type Singles, warmUp, writers } from "./measure.ts";
import { measureRestart, type Restart } from "./restart.ts";
import { begin, type SyncSession, startController, untilPlaced } from "./session.ts";
import { manyGoals, manyTable, restartGoals, restartTable, singlesGoals, singlesTable, writesTable } from "./tables.ts";
import { untilNotified } from "./until-notified.ts";

/** What is measured of sync on any parts, and what is measured besides. */
export type Measured<More> = Readonly<{ singles: Singles; rounds: readonly ManyRound[]; more: More; restart: Restart }>;

/** How often many are made at once. */
export const manyRounds = 3;

export type SyncMeasuring<More> = Pick<Settings["synced"], "singles" | "burst"> &
  Readonly<{
    /** What has to run once before anything counts. @default nothing more than all have */
    warm?: (controller: ControllerProcess) => Promise<unknown>;
    /** Measures with the same controller, before it is started anew. */
    more: (controller: ControllerProcess) => Promise<More>;
  }>;

/** Measures single Deployments, many at once, and a start with all of them there. */
export async function measureSync<More>(
  session: SyncSession,
  { singles, burst, warm, more }: SyncMeasuring<More>,
): Promise<Measured<More>> {
  const { world } = session;
  const measured = await (async () => {
    await using controller = await startController(world);
    await begin(controller, world);
    await untilPlaced(session);
    await warmUp(session, controller);
    await warm?.(controller);
    const all = {
      singles: await measureSingles(session, controller, { prefix: "one", count: singles }),
      rounds: await measureManyRounds(session, controller, { prefix: "burst", count: burst, rounds: manyRounds }),
      more: await more(controller),
    };
    await untilNotified();
    return all;
  })();
  return { ...measured, restart: await measureRestart(session, "restart") };
}

export type SyncReportParts = Readonly<{
  name: string;
  /** How many Deployments there were when a controller started anew. */
  synced: number;
  /** What many at once may take. @default no more than a ratio to the same by hand */
  mostBurstMs?: number;
  /** What was measured besides. @default nothing */
  more?: Pick<BenchReport, "tables" | "goals">;
  notes: BenchReport["notes"];
}>;

/** Says what was measured. */
export function syncReport(
  { singles, rounds, restart }: Omit<Measured<unknown>, "more">,
  { name, synced, mostBurstMs, more = { tables: [], goals: [] }, notes }: SyncReportParts,
): BenchReport {
  const changes = singles.image.synced.length;
  return {
    name,
    tables: [
      singlesTable(singles),
      writesTable("what the servers were asked to write for a changed image", singles.writes, changes),
      manyTable(rounds, writers),
      ...more.tables,
      restartTable(restart, synced),
    ],
    goals: [
      ...singlesGoals(singles),
      ...manyGoals(rounds, mostBurstMs),
      ...more.goals,
      ...restartGoals(restart, synced),
    ],
    notes,
  };
}
