import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { aDesiredDeployment, aDesiredService, placeLabel } from "../desired-workloads.ts";
import type { Input, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

type Override = NonNullable<WorkloadPlacement["spec"]["overrides"]>[number];

const placementNames = ["over-0", "over-1"];
const workloadNames = ["od0", "od1", "os0"];
const registrations = ["east", "west", "north", "south"];

/** Placements that change their workloads on some clusters. `expected-overrides.ts` says what each cluster must have. */
export const overrides: Feature = {
  name: "overrides",
  share: 0.1,
  steps: (seeded, { endMs }) =>
    tenantPaths.flatMap((_, tenant) => {
      const first = [
        ...placementNames.map((name) => aPlacement(seeded, tenant, name)),
        ...workloadNames.map((name) => aWorkload(seeded, tenant, name)),
      ];
      const changes = Array.from({ length: seeded.between(2, 7) }, (): Step => {
        const atMs = seeded.between(0, endMs);
        const kind = seeded.next();
        if (kind < 0.5) return { atMs, input: aPlacement(seeded, tenant, seeded.pick(placementNames)) };
        const name = seeded.pick(workloadNames);
        if (kind < 0.85) return { atMs, input: aWorkload(seeded, tenant, name) };
        return { atMs, input: { kind: "remove", tenant, name, of: kindOf(name), namespace: "shop" } };
      });
      return [...first.map((input): Step => ({ atMs: 0, input })), ...changes];
    }),
};

function aPlacement(seeded: Seeded, tenant: number, name: string): Input {
  const labelSelector = { matchLabels: { [placeLabel]: name } };
  const spec = {
    strategy: "Spread",
    numberOfClusters: 4,
    workloadSelector: { labelSelector, namespaces: ["shop"] },
    overrides: Array.from({ length: seeded.between(0, 3) }, () => anOverride(seeded)),
  } as const;
  return { kind: "place", tenant, name, desired: { annotations: {}, spec } };
}

function anOverride(seeded: Seeded): Override {
  const scope = seeded.pick<Partial<Override>>([
    {},
    { clusterNames: [seeded.pick(registrations)] },
    { clusterSelector: { matchLabels: { env: seeded.pick(["prod", "dev"]) } } },
    { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
  ]);
  const changes = seeded.some<Partial<Override>>(
    [
      { imageHosts: [{ ...(seeded.chance(0.5) && { from: "registry.example" }), to: "mirror.example" }] },
      { labels: { flavour: seeded.pick(["sweet", "{{cluster.name}}"]) } },
      { annotations: { "example.com/site": seeded.pick(["here", "{{cluster.location}}"]) } },
      { env: { CLUSTER: "{{cluster.name}}", MODE: seeded.pick(["fast", "slow"]) } },
      { replicas: seeded.between(0, 3) },
      { limits: { cpu: seeded.pick(["100m", "1"]) } },
      { patches: [{ op: "add", path: "/metadata/labels/patched", value: seeded.pick(["one", "two"]) }] },
    ],
    0.35,
  );
  return Object.assign({}, scope, ...changes);
}

function aWorkload(seeded: Seeded, tenant: number, name: string): Input {
  const options = { name, places: placementNames, clusters: registrations };
  const desired =
    kindOf(name) === "Service" ? aDesiredService(seeded, "shop", options) : aDesiredDeployment(seeded, "shop", options);
  return { kind: "apply", tenant, name, desired };
}

const kindOf = (name: string): "Service" | "Deployment" => (name.startsWith("os") ? "Service" : "Deployment");
