import { watchForever } from "@tmc/kube/informer/watch.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { formatApiVersion } from "../../../lib/api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../../lib/api/workload-placement.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import { reconciledTypes } from "../../../lib/upstream/watched-resources.ts";
import type { Target } from "../clients/bench-client.ts";
import { type ControllerProcess, startControllerProcess } from "../measure-engine.ts";
import { openPlace, type Place, poolLabel } from "./place.ts";

/** The workspace that workloads are in. */
export const syncWorkspace = "root:sync";

/** The workloads of this pool go to the first two clusters; those of pool "0", "1" … to the cluster with that place in the list. */
export const pairPool = "pair";

/** A server, and the token by which the controller comes to it. @default the same as everybody's */
export type Server = Target & Readonly<{ controllerToken?: string | undefined }>;

/** What the controller has written since the start, by method and type. */
export type Writes = Readonly<{ up: Readonly<Record<string, number>>; down: Readonly<Record<string, number>> }>;

/** Where sync is measured. */
export type SyncWorld = Readonly<{
  hub: Server;
  clusters: readonly (Server & Readonly<{ name: string }>)[];
  writes(): Promise<Writes>;
}>;

/** Everybody at work: the tenant in its workspace, and whoever looks at the clusters. */
export interface SyncSession extends AsyncDisposable {
  readonly world: SyncWorld;
  readonly hub: Place;
  readonly clusters: readonly Place[];
  /** The two that the yardstick is taken on as well. */
  readonly pair: readonly Place[];
}

/** Opens all places and watches them. */
export async function openSession(world: SyncWorld): Promise<SyncSession> {
  const hub = await openPlace(world.hub, syncWorkspace);
  const clusters = await Promise.all(world.clusters.map((target) => openPlace(target)));
  return {
    world,
    hub,
    clusters,
    pair: clusters.slice(0, 2),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([hub, ...clusters].map((place) => place[Symbol.asyncDispose]()));
    },
  };
}

/** Registers all clusters and makes the placements of all pools. */
export async function furnish({ world, hub: { client } }: SyncSession): Promise<void> {
  for (const [at, { name }] of world.clusters.entries()) {
    await client.create(
      { type: reconciledTypes.ClusterRegistration },
      {
        apiVersion: formatApiVersion(clusterRegistration),
        kind: "ClusterRegistration",
        metadata: { name, labels: { slot: `${at}`, [pairPool]: `${at < 2}` } },
        spec: { location: `region-of-${name}` },
      },
    );
  }
  const place = (name: string, matchLabels: Readonly<Record<string, string>>) =>
    client.create(
      { type: reconciledTypes.WorkloadPlacement },
      {
        apiVersion: formatApiVersion(workloadPlacement),
        kind: "WorkloadPlacement",
        metadata: { name: `pool-${name}` },
        spec: {
          strategy: "Spread",
          locationSelector: { matchLabels },
          workloadSelector: { labelSelector: { matchLabels: { [poolLabel]: name } } },
        },
      },
    );
  await place(pairPool, { [pairPool]: "true" });
  for (const at of world.clusters.keys()) await place(`${at}`, { slot: `${at}` });
}

/** Starts a controller in a process of its own; the registrations need not be there yet. */
export async function startController({ hub, clusters }: SyncWorld): Promise<ControllerProcess> {
  return startControllerProcess({
    hub,
    controllerToken: hub.controllerToken,
    clusters: clusters.map(({ controllerToken, ...rest }) => ({ ...rest, token: controllerToken ?? rest.token })),
  });
}

/** Has a controller begin on the workspace. */
export async function begin(controller: ControllerProcess, { clusters }: SyncWorld): Promise<void> {
  await controller.start(
    [syncWorkspace],
    clusters.map(({ name }) => name),
  );
}

/** Resolves when every placement is decided on as many clusters as it has in its pool. */
export async function untilPlaced({ world, hub: { client } }: SyncSession): Promise<void> {
  const end = new AbortController();
  const decided = new Set<string>();
  const type = reconciledTypes.WorkloadPlacement;
  const take = ({ metadata, status }: Placement): void => {
    const wanted = metadata.name === `pool-${pairPool}` ? 2 : 1;
    const isReady = findCondition(status?.conditions, "Ready")?.status === "True";
    if (isReady && status?.selectedClusters?.length === wanted) decided.add(metadata.name ?? "");
    if (decided.size === world.clusters.length + 1) end.abort();
  };
  for await (const event of watchForever<Placement>(client, { type }, { signal: end.signal })) {
    if (event.type === "changed") take(event.object);
    if (event.type === "listed") for (const object of event.objects) take(object);
  }
}

type Placement = KubeObject & Readonly<Pick<WorkloadPlacement, "status">>;
