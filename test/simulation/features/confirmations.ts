import type { ClusterState, Input, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { physicalNames, tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

/** Many copies lose their placement at once, most clusters fail at once, and people confirm what TMC holds, or do not. */
export const confirmations: Feature = {
  name: "confirmations",
  share: 0.15,
  isDirectOnly: true,
  steps: (seeded, { endMs }) => [
    ...tenantPaths.map((_, tenant) => ({
      atMs: 0,
      input: {
        kind: "answer" as const,
        tenant,
        deletions: seeded.pick(["confirm", "confirm", "take-back", "never"] as const),
        failures: seeded.pick(["confirm", "never"] as const),
        afterMs: seeded.pick([0, 20_000, 90_000]),
      },
    })),
    ...massEviction(seeded, endMs),
    ...(seeded.chance(0.7) ? massFailure(seeded, endMs) : []),
  ],
};

/** The first placements of a tenant: those that its workloads name. */
const firstPlaces = ["p0", "p1", "p2", "p3"] as const;

/** Someone deletes most placements of a tenant. */
function massEviction(seeded: Seeded, endMs: number): readonly Step[] {
  const tenant = seeded.between(0, tenantPaths.length - 1);
  const atMs = seeded.between(0, endMs);
  return firstPlaces.map((name) => ({ atMs, input: { kind: "unplace", tenant, name } }));
}

/** Most clusters stop responding for some minutes; some placements would leave them soon. */
function massFailure(seeded: Seeded, endMs: number): readonly Step[] {
  const atMs = seeded.between(0, Math.floor(endMs / 2));
  const upMs = Math.min(endMs, atMs + seeded.pick([120_000, 240_000, 400_000]));
  const failed = seeded.shuffled(physicalNames).slice(0, seeded.between(3, 4));
  const state = seeded.pick(["refuse", "hang", "stuck"] as const);
  const set = (at: number, to: ClusterState): Step[] =>
    failed.map((cluster) => ({ atMs: at, input: { kind: "cluster", cluster, state: to } }));
  const place = (tenant: number, name: string): Input => ({
    kind: "place",
    tenant,
    name,
    desired: {
      annotations: {},
      spec: {
        strategy: "Spread",
        tolerations: [
          {
            key: "tmc.kcp.io/not-ready",
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: seeded.pick([0, 30]),
          },
        ],
        numberOfClusters: seeded.between(1, 2),
        workloadSelector: { labelSelector: { matchLabels: { place: name } }, namespaces: ["shop"] },
      },
    },
  });
  return [
    ...tenantPaths.map((_, tenant): Step => ({ atMs: 0, input: place(tenant, seeded.pick(firstPlaces)) })),
    ...set(atMs, state),
    ...set(upMs, "up"),
  ];
}
