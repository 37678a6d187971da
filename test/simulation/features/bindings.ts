import type { Fault, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { tenantPaths } from "../servers.ts";
import type { Feature } from "./feature.ts";

/** What a controller cannot read of a workspace, and the status code of the answers. */
const losses: readonly Readonly<{ resources: readonly string[]; code: number }>[] = [
  // The workspace refuses the permission claims of the export.
  { resources: ["namespaces", "configmaps", "secrets", "serviceaccounts", "events"], code: 403 },
  { resources: ["configmaps"], code: 403 },
  { resources: ["secrets"], code: 404 },
  // The binding is gone: kcp does not know the types.
  { resources: ["clusterregistrations", "workloadplacements", "workloadsyncs", "deployments", "services"], code: 404 },
  { resources: ["deployments", "services"], code: 404 },
  { resources: ["workloadsyncs"], code: 403 },
  // The workspace is gone, or its role bindings are.
  { resources: [], code: 404 },
  { resources: [], code: 403 },
];

/** The binding or the workspace of a tenant is gone for a time, or refuses claims: the controller is told so, and must wait. */
export const bindings: Feature = {
  name: "bindings",
  share: 0.1,
  steps: (seeded, { endMs }) =>
    Array.from(
      { length: seeded.between(1, 4) },
      (): Step => ({ atMs: seeded.between(0, endMs), fault: aLoss(seeded) }),
    ),
};

function aLoss(seeded: Seeded): Fault {
  const { resources, code } = seeded.pick(losses);
  const tenant = seeded.between(0, tenantPaths.length - 1);
  return { kind: "unreadable", tenant, resources, code, forMs: seeded.pick([5_000, 20_000, 90_000]) };
}
