import type { Step } from "../scenario.ts";
import { tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

/**
 * Deployments are gone from kcp without a deletion that anybody could observe, as after a restore or a forced removal of
 * finalizers. They are in `wild`, so that runs need not come to the same end.
 */
export const vanish: Feature = {
  name: "vanish",
  share: 0.1,
  steps: (seeded, { endMs }) =>
    Array.from({ length: seeded.between(2, 6) }, (): Step => {
      const tenant = seeded.between(0, tenantPaths.length - 1);
      return { atMs: seeded.between(0, endMs), fault: { kind: "vanish", tenant } };
    }),
};
