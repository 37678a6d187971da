import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { clusterRegistration } from "../../lib/api/cluster-registration.ts";
import { formatApiVersion } from "../../lib/api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../lib/api/workload-placement.ts";
import { clientOf } from "../../lib/upstream/logical-cluster.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import type { Target } from "./clients/bench-client.ts";
import { createObservedObjects } from "./observed-objects.ts";

const types = { placements: reconciledTypes.WorkloadPlacement, registrations: reconciledTypes.ClusterRegistration };

/** The label by which the placements of the benches select clusters, and its value. */
export const pool = { key: "pool", value: "open" } as const;

/** A tenant at work in one workspace: it makes placements and watches what becomes of them. */
export interface Tenant extends AsyncDisposable {
  register(name: string): Promise<void>;
  label(registration: string, labels: Readonly<Record<string, string>>): Promise<void>;
  create(name: string): Promise<void>;
  /** Writes a status without any controller, as large as a controller's. */
  writeStatus(name: string, status: object): Promise<void>;
  /** Asks for another number of clusters; answers the new generation. */
  resize(name: string, numberOfClusters: number): Promise<number>;
  read(name: string): Promise<WorkloadPlacement>;
  /** Resolves when this is true of so many objects, as they were seen last. */
  untilSeen(count: number, holds: (object: Seen) => boolean): Promise<void>;
}

/** What is watched: a placement or a registration, of which only what both can have is looked at. */
export type Seen = KubeObject & Readonly<{ status?: WorkloadPlacement["status"] }>;

/** Opens a workspace and watches both kinds in it. */
export async function openTenant(target: Target, workspace: string): Promise<Tenant> {
  const endpoint = { server: target.server, ca: target.ca, token: async () => target.token };
  const root = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint) });
  const client = clientOf(root, workspace);
  const end = new AbortController();
  const observed = createObservedObjects<Seen>();
  const watches = await Promise.all(Object.values(types).map((type) => observed.follow(client, type, end.signal)));
  return {
    register: async (name) => {
      await client.create(
        { type: types.registrations },
        {
          apiVersion: formatApiVersion(clusterRegistration),
          kind: "ClusterRegistration",
          metadata: { name, labels: { [pool.key]: pool.value } },
          spec: { location: `region-of-${name}` },
        },
      );
    },
    label: async (name, labels) => {
      await client.patch({ type: types.registrations, name }, { type: "merge", body: { metadata: { labels } } });
    },
    create: async (name) => {
      await client.create({ type: types.placements }, placementOf(name));
    },
    writeStatus: async (name, status) => {
      const body = { status };
      await client.patch({ type: types.placements, name }, { type: "merge", body }, { subresource: "status" });
    },
    resize: async (name, numberOfClusters) => {
      const body = { spec: { numberOfClusters } };
      const { metadata } = await client.patch<KubeObject>({ type: types.placements, name }, { type: "merge", body });
      return metadata.generation ?? 0;
    },
    read: (name) => client.get<WorkloadPlacement>({ type: types.placements, name }),
    untilSeen: observed.untilSeen,
    [Symbol.asyncDispose]: async () => {
      end.abort();
      await Promise.all(watches.map(({ ended }) => ended));
      await root.close();
    },
  };
}

function placementOf(name: string): WorkloadPlacement {
  return {
    apiVersion: formatApiVersion(workloadPlacement),
    kind: "WorkloadPlacement",
    metadata: { name },
    spec: { strategy: "RoundRobin", locationSelector: { matchLabels: { [pool.key]: pool.value } } },
  };
}
