import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ObjectAddress } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { loadAll } from "js-yaml";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import { type Condition, findCondition } from "../../lib/model/condition.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { recordName } from "../../lib/sync/ownership/record.ts";
import { runKubectl } from "../real/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { type ClusterName, clusterNames, type Environment, tenantWorkspace } from "./environment.ts";

const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });

/** The types that the cases work with. */
export const workTypes = {
  Namespace: core("namespaces"),
  ConfigMap: core("configmaps"),
  Secret: core("secrets"),
  ServiceAccount: core("serviceaccounts"),
  Service: core("services"),
  PersistentVolumeClaim: core("persistentvolumeclaims"),
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  HorizontalPodAutoscaler: { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" },
  WorkloadPlacement: { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadplacements" },
  WorkloadSync: { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" },
} as const satisfies Readonly<Record<string, ResourceType>>;
type WorkKind = keyof typeof workTypes;

/** A Deployment, as far as the cases read it. */
export type Deployment = KubeObject &
  Readonly<{
    spec: Readonly<{
      replicas?: number;
      template: Readonly<{
        spec: Readonly<{
          containers: readonly Readonly<{ name: string; image?: string; env?: readonly object[] }>[];
        }>;
      }>;
    }>;
    status?: Readonly<{
      readyReplicas?: number;
      replicas?: number;
      observedGeneration?: number;
      conditions?: readonly Condition[];
    }>;
  }>;

type CopyRecord = NonNullable<NonNullable<WorkloadSync["status"]>["clusters"]>[number];

/** Replicas by cluster; a cluster that is not named has no copy. */
export type Shares = Readonly<Partial<Record<ClusterName, number>>>;

/** What a tenant does with work, and what becomes of it on the clusters. */
export interface TenantWork {
  /** Applies objects as a person does: server-side, with kubectl where there is one. */
  apply(...objects: readonly KubeObject[]): Promise<void>;
  /** Applies a file of the examples as it is. */
  applyExample(file: string): Promise<void>;
  /** Changes single fields, as `kubectl patch --type=merge` does. */
  merge(kind: WorkKind, namespace: string | undefined, name: string, body: object): Promise<void>;
  remove(kind: WorkKind, namespace: string | undefined, name: string): Promise<void>;
  /** Undefined when it is not there. */
  find<T extends KubeObject = KubeObject>(kind: WorkKind, namespace: string, name: string): Promise<T | undefined>;
  /** The copy that a cluster has; undefined when it has none. */
  copy<T extends KubeObject = KubeObject>(
    cluster: ClusterName,
    kind: WorkKind,
    namespace: string,
    name: string,
  ): Promise<T | undefined>;
  /** Where the copies of a namespace are on clusters. */
  namespaceOn(namespace: string): string;
  /** TMC's record of a workload; of a Deployment unless a kind is given. */
  record(namespace: string, name: string, kind?: WorkKind): Promise<WorkloadSync | undefined>;
  /** Waits until a Deployment runs with these replicas, on these clusters alone, and its own status says all of it. */
  untilRuns(namespace: string, name: string, shares: Shares): Promise<Deployment>;
  /** Waits until the record of a Deployment says this of a cluster: `Failed ForeignObject`, or `none`. */
  untilState(namespace: string, name: string, cluster: ClusterName, state: string): Promise<CopyRecord | undefined>;
  /** Waits until nothing of a namespace is on any cluster, nor any workload or record of it in the workspace. */
  untilCleared(namespace: string): Promise<void>;
}

/** The work of the world's tenant; waits take at most so long. */
export function tenantWork(world: Environment, limitMs: number): TenantWork {
  const { tenant, tenantCluster, parts } = world;
  const clusters = Object.fromEntries(clusterNames.map((name) => [name, world.clusterClient(name)]));
  const clientOf = (name: ClusterName) => clusters[name] ?? world.clusterClient(name);
  const on = (namespace: string): string =>
    downstreamNamespace({ hub: "kcp", logicalCluster: tenantCluster, namespace });
  const kubectl = async (args: readonly string[], input = ""): Promise<void> => {
    const { endpoint, token } = parts.kcp;
    const server = `${endpoint.server}/clusters/${tenantWorkspace}`;
    const options = { kubectl: parts.kubectl ?? "kubectl", kubeconfig: world.kcpKubeconfig, input };
    const { code, stderr } = await runKubectl([...args, `--server=${server}`, `--token=${token}`], options);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  };
  const applyOne = async (object: KubeObject): Promise<void> => {
    const { namespace, name = "" } = object.metadata;
    const address = { type: typeOf(object), namespace, name };
    await tenant.patch(address, { type: "apply", body: object, force: true }, { fieldManager: "kubectl" });
  };
  const work: TenantWork = {
    apply: async (...objects) => {
      if (parts.kubectl === undefined) for (const object of objects) await applyOne(object);
      else {
        const list = { apiVersion: "v1", kind: "List", items: objects };
        await kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], JSON.stringify(list));
      }
    },
    applyExample: async (file) => {
      const path = fileURLToPath(new URL(`../../examples/${file}`, import.meta.url));
      if (parts.kubectl !== undefined) return kubectl(["apply", "--server-side", "-f", path]);
      // Our own files, whose documents are objects.
      for (const object of loadAll(await readFile(path, "utf8"))) await applyOne(object as KubeObject);
    },
    merge: async (kind, namespace, name, body) => {
      await tenant.patch({ type: workTypes[kind], namespace, name }, { type: "merge", body }, { fieldManager: "e2e" });
    },
    remove: async (kind, namespace, name) => {
      await tenant.delete({ type: workTypes[kind], namespace, name });
    },
    find: (kind, namespace, name) => present(tenant.get({ type: workTypes[kind], namespace, name })),
    copy: (cluster, kind, namespace, name) => {
      const address: ObjectAddress = { type: workTypes[kind], namespace: on(namespace), name };
      return present(clientOf(cluster).get(address));
    },
    namespaceOn: on,
    record: (namespace, name, kind = "Deployment") => {
      const recordedName = recordName({ type: workTypes[kind], name });
      const address = { type: workTypes.WorkloadSync, namespace, name: recordedName };
      return present(tenant.get<WorkloadSync>(address));
    },
    untilRuns: async (namespace, name, shares) => {
      let seen: Deployment | undefined;
      await eventually(async () => {
        for (const cluster of clusterNames) {
          const wrong = copyFault(await work.copy<Deployment>(cluster, "Deployment", namespace, name), shares[cluster]);
          if (wrong !== undefined) {
            return `${cluster}: ${name} ${wrong}; ${JSON.stringify((await work.record(namespace, name))?.status)}`;
          }
        }
        seen = await work.find<Deployment>("Deployment", namespace, name);
        return statusFault(seen, shares);
      }, limitMs);
      if (seen === undefined) throw new Error(`${name} was not seen`);
      return seen;
    },
    untilState: async (namespace, name, cluster, state) => {
      let entry: CopyRecord | undefined;
      await eventually(async () => {
        const record = await work.record(namespace, name);
        entry = record?.status?.clusters?.find((each) => each.name === cluster);
        const words = entry === undefined ? "none" : `${entry.state}${entry.reason ? ` ${entry.reason}` : ""}`;
        return words === state ? undefined : `${name} on ${cluster} is ${words}: ${JSON.stringify(record?.status)}`;
      }, limitMs);
      return entry;
    },
    untilCleared: async (namespace) => {
      await eventually(async () => {
        for (const kind of ["Deployment", "Service", "HorizontalPodAutoscaler", "WorkloadSync"] as const) {
          const { items } = await tenant.list<KubeObject>({ type: workTypes[kind], namespace });
          if (items.length > 0)
            return `${kind} ${items[0]?.metadata.name ?? ""} is in ${namespace}: ${JSON.stringify(items[0])}`;
        }
        for (const cluster of clusterNames) {
          const address = { type: workTypes.Namespace, name: on(namespace) };
          if ((await present(clientOf(cluster).get(address))) !== undefined) return `${cluster} has ${address.name}`;
        }
        return undefined;
      }, limitMs);
    },
  };
  return work;
}

/** The name of TMC's record of a Deployment. */
export function recordNameOf(name: string): string {
  return recordName({ type: workTypes.Deployment, name });
}

/** A Deployment that every cluster runs. */
export function aDeployment(
  namespace: string,
  name: string,
  {
    replicas = 1,
    image = "nginx:1.29",
    labels = {},
    annotations = {},
    podSpec = {},
    container = {},
  }: Readonly<{
    replicas?: number;
    image?: string;
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    podSpec?: object;
    container?: object;
  }> = {},
): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels: { app: name, ...labels }, annotations },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "main", image, ...container }], ...podSpec },
      },
    },
  };
}

/** A namespace, and a placement of the same name for everything in it. */
export function aRoom(name: string, spec: object = { strategy: "Spread" }): readonly KubeObject[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name } },
    {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "WorkloadPlacement",
      metadata: { name },
      spec: { workloadSelector: { namespaces: [name] }, ...spec },
    },
  ];
}

/** Deletes Deployments and their placement, and waits until nothing is left of them. */
export async function clear(work: TenantWork, room: string, names: readonly string[]): Promise<void> {
  for (const name of names) await work.remove("Deployment", room, name);
  await work.untilCleared(room);
  await work.remove("WorkloadPlacement", undefined, room);
}

/** The image that a Deployment runs. */
export function imageOf(deployment: Deployment | undefined): string | undefined {
  return deployment?.spec.template.spec.containers[0]?.image;
}

/** `us-east/web uid` of every Deployment in a namespace of the clusters. */
export async function uidsIn(world: Environment, namespace: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    clusterNames.map(async (cluster) => {
      const { items } = await world
        .clusterClient(cluster)
        .listAll<KubeObject>({ type: workTypes.Deployment, namespace });
      return items.map(({ metadata }) => `${cluster}/${metadata.name ?? ""} ${metadata.uid ?? ""}`);
    }),
  );
  return lists.flat().toSorted();
}

/** The answer; undefined when there is no such object. */
export async function present<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (faultOf(error) === "not-found") return undefined;
    throw error;
  }
}

function typeOf({ kind }: KubeObject): ResourceType {
  const found = Object.entries(workTypes).find(([name]) => name === kind);
  if (found === undefined) throw new Error(`the cases apply no ${kind}`);
  return found[1];
}

function copyFault(copy: Deployment | undefined, replicas: number | undefined): string | undefined {
  if (replicas === undefined) return copy === undefined ? undefined : "is there";
  if (copy === undefined) return "is not there";
  const { spec, status, metadata } = copy;
  if (spec.replicas !== replicas) return `is to have ${spec.replicas} replicas, not ${replicas}`;
  if (status?.observedGeneration !== metadata.generation) return "is not taken up";
  const ready = status?.readyReplicas ?? 0;
  return ready === replicas ? undefined : `has ${ready} of ${replicas} replicas ready`;
}

function statusFault(workload: Deployment | undefined, shares: Shares): string | undefined {
  if (workload === undefined) return "it is not in the workspace";
  const { metadata, status } = workload;
  const total = Object.values(shares).reduce((sum, share) => sum + share, 0);
  const isAvailable = findCondition(status?.conditions, "Available")?.status === "True";
  const isEvent =
    status?.observedGeneration === metadata.generation && (status?.readyReplicas ?? 0) === total && isAvailable;
  return isEvent
    ? undefined
    : `${metadata.name ?? ""} says of itself ${JSON.stringify(status)}, generation ${metadata.generation}`;
}
