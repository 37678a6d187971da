import { foreignKinds } from "../foreign-objects.ts";
import { physicalNames, tenantPaths, workloadNamespaces } from "../servers.ts";
import type { Feature } from "./feature.ts";

/** People keep objects of types that TMC does not sync in the namespaces that it created on clusters. */
export const foreignObjects: Feature = {
  name: "foreign-objects",
  share: 0.15,
  isDirectOnly: true,
  steps: (seeded, { endMs }) =>
    Array.from({ length: seeded.between(8, 24) }, () => ({
      atMs: seeded.between(0, endMs),
      input: {
        kind: "foreign",
        do: seeded.chance(0.75) ? "create" : "delete",
        cluster: seeded.pick(physicalNames),
        tenant: seeded.between(0, tenantPaths.length - 1),
        namespace: seeded.pick(workloadNamespaces),
        of: seeded.pick(foreignKinds),
        name: `foreign-${seeded.between(0, 1)}`,
      },
    })),
};
