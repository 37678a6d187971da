import {
  aDesiredDependency,
  aDesiredDeployment,
  aDesiredService,
  type DesiredWorkload,
  dependencyNames,
} from "../desired-workloads.ts";
import type { Input, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

const namespaces = ["late-a", "late-b"] as const;
type Namespace = (typeof namespaces)[number];
const teams = ["x", "y", "z"] as const;
/** Each selects the namespaces of one team; the third team has none. */
const placementNames = ["team-x", "team-y"] as const;
const deploymentNames = ["n0", "n1"] as const;
const serviceNames = ["ns0"] as const;
const registrations = ["east", "west", "north", "south"];

/**
 * Namespaces are created, get other labels, and are deleted with everything in them. Placements select workloads by the labels
 * of their namespaces.
 */
export const namespacesFeature: Feature = {
  name: "namespaces",
  share: 0.1,
  steps: (seeded, { endMs }) =>
    tenantPaths.flatMap((_, tenant) => {
      const exists = new Set<Namespace>();
      const placements = placementNames.map((name): Step => ({ atMs: 0, input: aPlacement(seeded, tenant, name) }));
      const times = Array.from({ length: seeded.between(5, 14) }, () => seeded.between(0, endMs)).toSorted(
        (one, other) => one - other,
      );
      const first = namespaces.flatMap((namespace) => (seeded.chance(0.7) ? [namespace] : []));
      return [
        ...placements,
        ...first.flatMap((namespace) => aNewNamespace(seeded, { tenant, namespace, atMs: 0, exists })),
        ...times.flatMap((atMs) => {
          const namespace = seeded.pick(namespaces);
          if (!exists.has(namespace)) return aNewNamespace(seeded, { tenant, namespace, atMs, exists });
          return [{ atMs, input: aChange(seeded, tenant, namespace, exists) }];
        }),
      ];
    }),
};

/** A namespace and what is in it from the beginning. */
function aNewNamespace(
  seeded: Seeded,
  {
    tenant,
    namespace,
    atMs,
    exists,
  }: Readonly<{ tenant: number; namespace: Namespace; atMs: number; exists: Set<Namespace> }>,
): readonly Step[] {
  exists.add(namespace);
  const names = seeded.some([...deploymentNames, ...serviceNames, ...dependencyNames], 0.6);
  const inputs: Input[] = [
    { kind: "namespace", tenant, name: namespace, labels: { team: seeded.pick(teams) } },
    ...names.map((name): Input => ({ kind: "apply", tenant, name, desired: anObject(seeded, namespace, name) })),
  ];
  return inputs.map((input) => ({ atMs, input }));
}

function aChange(seeded: Seeded, tenant: number, namespace: Namespace, exists: Set<Namespace>): Input {
  const kind = seeded.next();
  if (kind < 0.3) {
    exists.delete(namespace);
    return { kind: "namespace", tenant, name: namespace };
  }
  if (kind < 0.6) return { kind: "namespace", tenant, name: namespace, labels: { team: seeded.pick(teams) } };
  if (kind < 0.7) return aPlacement(seeded, tenant, seeded.pick(placementNames));
  const name = seeded.pick([...deploymentNames, ...serviceNames, ...dependencyNames]);
  const desired = anObject(seeded, namespace, name);
  if (seeded.chance(0.25)) return { kind: "remove", tenant, name, of: desired.body.kind, namespace };
  return { kind: "apply", tenant, name, desired };
}

function anObject(seeded: Seeded, namespace: Namespace, name: string): DesiredWorkload {
  const options = { name, places: ["none"], clusters: registrations };
  if (dependencyNames.some((each) => each === name)) return aDesiredDependency(seeded, namespace, { name });
  return name.startsWith("ns")
    ? aDesiredService(seeded, namespace, options)
    : aDesiredDeployment(seeded, namespace, options);
}

function aPlacement(seeded: Seeded, tenant: number, name: (typeof placementNames)[number]): Input {
  const namespaceSelector = { matchLabels: { team: name.slice("team-".length) } };
  const [strategy, numberOfClusters] = seeded.pick([["Spread", 4] as const, ["RoundRobin", 1] as const]);
  const spec = { strategy, numberOfClusters, workloadSelector: { namespaceSelector } };
  return { kind: "place", tenant, name, desired: { annotations: {}, spec } };
}
