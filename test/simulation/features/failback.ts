import { aDesiredDeployment, placeLabel } from "../desired-workloads.ts";
import type { Input, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { physicalNames, tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

const placementNames = ["back-0", "back-1"];
const registrations = ["east", "west", "north", "south"];

/**
 * Placements that prefer a cluster, leave it soon after it fails, and return to it some time after it has recovered. Clusters fail
 * and recover more often than otherwise.
 */
export const failback: Feature = {
  name: "failback",
  share: 0.1,
  steps: (seeded, { endMs }) => [
    ...tenantPaths.flatMap((_, tenant) =>
      placementNames.flatMap((name): Step[] => [
        { atMs: 0, input: aPlacement(seeded, tenant, name) },
        { atMs: 0, input: aWorkload(seeded, tenant, name) },
        ...(seeded.chance(0.4)
          ? [{ atMs: seeded.between(0, endMs), input: aPlacement(seeded, tenant, name) } satisfies Step]
          : []),
      ]),
    ),
    ...Array.from({ length: seeded.between(1, 4) }).flatMap((): Step[] => {
      const cluster = seeded.pick(physicalNames);
      const atMs = seeded.between(0, endMs);
      const backMs = Math.min(endMs, atMs + seeded.pick([20_000, 90_000, 150_000]));
      return [
        { atMs, input: { kind: "cluster", cluster, state: seeded.pick(["refuse", "hang", "broken"]) } },
        { atMs: backMs, input: { kind: "cluster", cluster, state: "up" } },
      ];
    }),
  ],
};

function aPlacement(seeded: Seeded, tenant: number, name: string): Input {
  const spec = {
    strategy: "Affinity",
    numberOfClusters: 1,
    preferredClusters: [seeded.pick(registrations)],
    failback: { afterSeconds: seeded.pick([5, 20, 60]) },
    tolerations: [
      {
        key: "tmc.kcp.io/not-ready",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: seeded.pick([0, 30]),
      },
    ],
    workloadSelector: { labelSelector: { matchLabels: { [placeLabel]: name } }, namespaces: ["shop"] },
  } as const;
  return { kind: "place", tenant, name, desired: { annotations: {}, spec: { ...spec } } };
}

function aWorkload(seeded: Seeded, tenant: number, name: string): Input {
  const desired = aDesiredDeployment(seeded, "shop", { name: `${name}-web`, places: [name], clusters: registrations });
  // So that the placement alone decides where it is.
  return { kind: "apply", tenant, name: `${name}-web`, desired: { ...desired, annotations: {} } };
}
