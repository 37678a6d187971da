import type { Seeded } from "./seeded.ts";

/** How the product runs in a scenario. */
export const modes = [
  /** One controller, which reaches the workspaces directly. */
  "direct",
  /** One controller for all tenants of the APIExport, through its virtual workspaces. */
  "export",
  /** Two controllers, each for a part of the registrations, placements and workloads. */
  "shards",
  /** The deployment: a relay, queues, and functions. */
  "functions",
] as const;
export type Mode = (typeof modes)[number];

/** The share of the seeds that run in each mode but `direct`, which has the rest. */
const shares: Readonly<Record<Exclude<Mode, "direct">, number>> = { export: 0.12, shards: 0.08, functions: 0.2 };

/** Chooses the mode of a seed. */
export function chooseMode(seeded: Seeded, forced: Mode | undefined): Mode {
  let chosen = seeded.next();
  if (forced !== undefined) return forced;
  for (const mode of ["export", "shards", "functions"] as const) {
    chosen -= shares[mode];
    if (chosen < 0) return mode;
  }
  return "direct";
}

export function isMode(text: string): text is Mode {
  return modes.some((mode) => mode === text);
}
