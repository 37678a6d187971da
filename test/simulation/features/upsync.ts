import { aDesiredDeployment, aDesiredService, type DesiredWorkload, placeLabel } from "../desired-workloads.ts";
import { originalsNamespace as namespace } from "../originals.ts";
import type { Fault, Input, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { physicalNames, tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

const registrations = ["east", "west", "north", "south"];
const placementNames = ["up-0", "up-1"];
const deploymentNames = ["u0", "u1", "u2"];
const serviceNames = ["us0"];
const tenants = tenantPaths.map((_, tenant) => tenant);

/**
 * Users of clusters create, change and delete objects there, and registrations mirror them into the workspaces, whose
 * placements copy them to other clusters.
 */
export const upsync: Feature = {
  name: "upsync",
  share: 0.1,
  steps: (seeded, { endMs }) => {
    const at = (): number => seeded.between(0, endMs);
    const steps: Step[] = [];
    const add = (atMs: number, input: Input): void => void steps.push({ atMs, input });
    for (const tenant of tenants) {
      add(seeded.chance(0.7) ? 0 : at(), { kind: "namespace", tenant, name: namespace, labels: {} });
      for (const name of placementNames) add(seeded.chance(0.6) ? 0 : at(), aPlacement(seeded, tenant, name));
      for (const name of registrations) {
        if (seeded.chance(0.7)) add(seeded.chance(0.6) ? 0 : at(), anOptIn(seeded, tenant, name));
      }
    }
    for (const cluster of physicalNames) {
      for (const name of [...deploymentNames, ...serviceNames]) {
        if (seeded.chance(0.35)) add(0, anOriginal(seeded, cluster, name, false));
      }
    }
    const count = seeded.between(6, 16);
    for (let index = 0; index < count; index++) steps.push({ atMs: at(), ...aChange(seeded) });
    return steps;
  },
};

function aChange(seeded: Seeded): Readonly<{ input: Input }> | Readonly<{ fault: Fault }> {
  const tenant = seeded.pick(tenants);
  const name = seeded.pick([...deploymentNames, ...serviceNames]);
  const of = serviceNames.includes(name) ? "Service" : "Deployment";
  const kind = seeded.next();
  if (kind < 0.6) return { input: anOriginal(seeded, seeded.pick(physicalNames), name, seeded.chance(0.45)) };
  if (kind < 0.7) return { input: anOptIn(seeded, tenant, seeded.pick(registrations)) };
  if (kind < 0.8) return { input: aPlacement(seeded, tenant, seeded.pick(placementNames)) };
  if (kind < 0.9) return { fault: { kind: "change-mirror", tenant, name, of, do: seeded.pick(["change", "delete"]) } };
  // A user of the workspace takes the name, and gives it back.
  if (seeded.chance(0.5)) return { input: { kind: "remove", tenant, name, of, namespace } };
  return { input: { kind: "apply", tenant, name, desired: aWorkload(seeded, name) } };
}

function anOptIn(seeded: Seeded, tenant: number, name: string): Input {
  const matchLabels = { tier: seeded.pick(["front", "back"]) };
  const upsync = [
    { apiVersion: "apps/v1", kind: "Deployment", namespaces: [namespace], ...(seeded.chance(0.2) && { matchLabels }) },
    ...(seeded.chance(0.7) ? [{ apiVersion: "v1", kind: "Service", namespaces: [namespace] }] : []),
  ];
  return { kind: "upsync", tenant, name, upsync: seeded.chance(0.15) ? undefined : upsync };
}

function aPlacement(seeded: Seeded, tenant: number, name: string): Input {
  const labelSelector = { matchLabels: { [placeLabel]: name } };
  const workloadSelector = { labelSelector, namespaces: [namespace] };
  const [strategy, numberOfClusters] = seeded.pick([["Spread", 4] as const, ["RoundRobin", 2] as const]);
  return {
    kind: "place",
    tenant,
    name,
    desired: { annotations: {}, spec: { strategy, numberOfClusters, workloadSelector } },
  };
}

function anOriginal(seeded: Seeded, cluster: (typeof physicalNames)[number], name: string, isDeleted: boolean): Input {
  const of = serviceNames.includes(name) ? "Service" : "Deployment";
  return { kind: "original", cluster, name, of, desired: isDeleted ? undefined : aWorkload(seeded, name) };
}

function aWorkload(seeded: Seeded, name: string): DesiredWorkload {
  const options = { name, places: placementNames, clusters: registrations };
  const desired = serviceNames.includes(name)
    ? aDesiredService(seeded, namespace, options)
    : aDesiredDeployment(seeded, namespace, options);
  // What they reference would have to be there too, and annotations of TMC mean nothing on a cluster.
  return { ...desired, annotations: {}, body: withoutReferences(desired.body) };
}

/** Without what a container reads from other objects. */
function withoutReferences(body: DesiredWorkload["body"]): DesiredWorkload["body"] {
  return JSON.parse(JSON.stringify(body, (name, value: unknown) => (name === "envFrom" ? undefined : value)));
}
