import { physicalNames, tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

/** A cluster is built anew under its name, or the address of one leads to another for a time. */
export const rebuiltCluster: Feature = {
  name: "rebuilt-cluster",
  share: 0.1,
  isDirectOnly: true,
  // Originals, and what only these types have, are not compared with what a backup had.
  excludes: ["more-types", "upsync"],
  steps: (seeded, { endMs }) =>
    Array.from({ length: seeded.between(1, 3) }, () => {
      const atMs = seeded.between(0, endMs);
      const cluster = seeded.pick(physicalNames);
      const acceptAfterMs = seeded.pick([0, 30_000, 120_000]);
      if (seeded.chance(0.6)) {
        const downMs = seeded.pick([1_000, 20_000, 120_000]);
        return { atMs, fault: { kind: "rebuild", cluster, downMs, acceptAfterMs } };
      }
      const tenant = seeded.between(0, tenantPaths.length - 1);
      const forMs = seeded.pick([10_000, 60_000, 300_000]);
      const accept = seeded.chance(0.5) ? acceptAfterMs : undefined;
      return { atMs, fault: { kind: "reroute", cluster, tenant, forMs, acceptAfterMs: accept } };
    }),
};
