import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { clientOf } from "../../../lib/upstream/logical-cluster.ts";
import type { Target } from "../clients/bench-client.ts";
import { createObservedObjects } from "../observed-objects.ts";

const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };

/** The namespace in which Deployments are made, in the hub and, for the yardstick, on the clusters. */
export const benchNamespace = "bench";
/** The label by which placements select workloads. */
export const poolLabel = "bench-pool";

/** As much of a Deployment as is looked at. */
export type Seen = KubeObject &
  Readonly<{
    spec: Readonly<{
      replicas?: number;
      template: Readonly<{ spec: Readonly<{ containers: readonly Readonly<{ image: string }>[] }> }>;
    }>;
    status?: Readonly<{ observedGeneration?: number; readyReplicas?: number; updatedReplicas?: number }>;
  }>;

export type Wanted = Readonly<{ name: string; pool?: string; replicas?: number }>;

/** A workspace or a cluster with Deployments in it, which are watched. Both are worked on by the same client in the same way. */
export interface Place extends AsyncDisposable {
  readonly client: KubeClient;
  create(wanted: Wanted): Promise<void>;
  setImage(name: string, image: string): Promise<void>;
  /** Resolves when this is true of so many Deployments, as they were seen last. */
  untilSeen(count: number, holds: (seen: Seen) => boolean): Promise<void>;
}

/** Opens a cluster, or with a path a workspace; the namespace is there afterwards. */
export async function openPlace({ server, ca, token }: Target, workspace?: string): Promise<Place> {
  const endpoint = { server, ca, token: async () => token };
  const root = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint) });
  const client = workspace === undefined ? root : clientOf(root, workspace);
  const metadata = { name: benchNamespace };
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata }).catch((error) => {
    if (faultOf(error) !== "exists") throw error;
  });
  const end = new AbortController();
  const observed = createObservedObjects<Seen>();
  const { ended } = await observed.follow(client, deployments, end.signal);
  return {
    client,
    create: async (wanted) => {
      await client.create({ type: deployments, namespace: benchNamespace }, deploymentOf(wanted));
    },
    setImage: async (name, image) => {
      // The one that is there already says everything else; a list of containers cannot be merged by halves.
      const containers = [containerOf(image)];
      const body = { spec: { template: { spec: { containers } } } };
      await client.patch({ type: deployments, namespace: benchNamespace, name }, { type: "merge", body });
    },
    untilSeen: observed.untilSeen,
    [Symbol.asyncDispose]: async () => {
      end.abort();
      await ended;
      await root.close();
    },
  };
}

export const firstImage = "registry.example/web:1";

const containerOf = (image: string) => ({ name: "web", image, ports: [{ containerPort: 8080 }] });

function deploymentOf({ name, pool, replicas = 1 }: Wanted): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: benchNamespace, labels: { app: name, ...(pool && { [poolLabel]: pool }) } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [containerOf(firstImage)] } },
    },
  };
}

/** Whether it is one of these. */
export const isNamed =
  (prefix: string) =>
  ({ metadata }: Seen): boolean =>
    metadata.name?.startsWith(prefix) === true;

/** Whether it says that so many are ready of what it asks for now, on all the clusters that it is on. */
export const isReadyOn =
  (clusters: number) =>
  ({ metadata, spec, status }: Seen): boolean => {
    const wanted = clusters * (spec.replicas ?? 1);
    return (
      status?.observedGeneration === metadata.generation &&
      (status?.readyReplicas ?? 0) === wanted &&
      (status?.updatedReplicas ?? 0) === wanted
    );
  };

/** Whether it asks for this image. */
export const hasImage =
  (image: string) =>
  ({ spec }: Seen): boolean =>
    spec.template.spec.containers[0]?.image === image;
