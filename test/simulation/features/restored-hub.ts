import type { Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import type { Physical } from "../servers.ts";
import type { Feature, FeatureFacts } from "./feature.ts";

/** kcp is restored from a backup. */
export const restoredHub: Feature = {
  name: "restored-hub",
  share: 0.1,
  isDirectOnly: true,
  // Originals, and what only these types have, are not compared with what a backup had.
  excludes: ["more-types", "upsync"],
  steps: (seeded, facts) => backUpAndRestore(seeded, { server: "kcp", ...facts }),
};

/** A server is backed up, and restored once or twice from that. */
export function backUpAndRestore(
  seeded: Seeded,
  { server, endMs }: FeatureFacts & Readonly<{ server: Physical | "kcp" }>,
): readonly Step[] {
  const backedUpMs = seeded.between(0, endMs);
  const restores = Array.from({ length: seeded.pick([1, 1, 2]) }, () => seeded.between(backedUpMs, endMs));
  return [
    { atMs: backedUpMs, fault: { kind: "back-up", server } },
    ...restores.map((atMs): Step => {
      const users = seeded.pick(["as-of-backup", "apply-again"] as const);
      return { atMs, fault: { kind: "restore", server, bump: seeded.chance(0.5), users } };
    }),
  ];
}
