import { physicalNames, tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

/** Something fails and does not recover before the run ends: everything else converges and comes to rest as always. */
export const lastingFaults: Feature = {
  name: "lasting-faults",
  share: 0.1,
  isDirectOnly: true,
  steps: (seeded, { endMs }) => {
    const atMs = seeded.between(0, endMs);
    const requests = seeded.pick(["refuse", "hang"] as const);
    const tenant = seeded.between(0, tenantPaths.length - 1);
    switch (seeded.pick(["cluster", "tenant", "credentials"] as const)) {
      case "cluster":
        return [{ atMs, fault: { kind: "lasting-cluster", cluster: seeded.pick(physicalNames), requests } }];
      case "tenant":
        return [{ atMs, fault: { kind: "lasting-tenant", tenant, requests } }];
      default:
        return [
          {
            // After every other change of it.
            atMs: endMs,
            input: { kind: "secret", tenant, name: seeded.pick(["east", "west"]), content: "wrong" },
          },
        ];
    }
  },
};
