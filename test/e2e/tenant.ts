import { readFile } from "node:fs/promises";
import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { load } from "js-yaml";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { credentialsSecretType } from "../../lib/api/condition.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { eventually } from "../support/eventually.ts";

const types = { cluster: reconciledTypes.ClusterRegistration, placement: reconciledTypes.WorkloadPlacement };

const secrets = { group: "", version: "v1", plural: "secrets" };

/** What was decided about one cluster. */
export type Decision = NonNullable<NonNullable<WorkloadPlacement["status"]>["decisions"]>[number];

/** What a tenant does and sees, in a workspace or in a plain cluster. */
export interface Tenant {
  register(name: string, spec: object, labels?: Readonly<Record<string, string>>): Promise<ClusterRegistration>;
  place(name: string, spec?: object): Promise<WorkloadPlacement>;
  cluster(name: string): Promise<ClusterRegistration>;
  placement(name: string): Promise<WorkloadPlacement>;
  clusters(): Promise<readonly ClusterRegistration[]>;
  placements(): Promise<readonly WorkloadPlacement[]>;
  /** Stores a kubeconfig as a Secret of the namespace default. */
  offerSecret(name: string, kubeconfig: string): Promise<void>;
  label(cluster: string, labels: Readonly<Record<string, string | null>>): Promise<void>;
  remove(kind: "cluster" | "placement", name: string): Promise<void>;
  /** Waits until a cluster's Ready condition reads like this: `True ClusterReady`. */
  untilCluster(name: string, ready: string): Promise<ClusterRegistration>;
  /** Waits until a placement is decided and has chosen these, and no others. */
  untilChosen(name: string, clusters: readonly string[]): Promise<WorkloadPlacement>;
  /** Waits until each of these placements has a status that is true to its spec. */
  untilDecided(names: readonly string[]): Promise<readonly WorkloadPlacement[]>;
  /** Applies a file of the examples as it is. */
  applyExample(file: string, type: ResourceType, namespace?: string): Promise<void>;
  /** Follows the objects of a kind from now on; the answer ends it and gives every state they were seen in. */
  follow<K extends keyof Followed>(kind: K): Promise<() => Promise<readonly Followed[K][]>>;
}

type Followed = { cluster: ClusterRegistration; placement: WorkloadPlacement };

/** The view of a tenant through a client; waits take at most so long. */
export function tenantOf(client: KubeClient, limitMs: number): Tenant {
  const cluster = (name: string) => client.get<ClusterRegistration>({ type: types.cluster, name });
  const placement = (name: string) => client.get<WorkloadPlacement>({ type: types.placement, name });
  const create = <T>(type: ResourceType, kind: string, metadata: object, spec: object): Promise<T> =>
    client.create<T>({ type }, { apiVersion: "tmc.kcp.io/v1alpha1", kind, metadata, spec });
  const tenant: Tenant = {
    register: (name, spec, labels = {}) => create(types.cluster, "ClusterRegistration", { name, labels }, spec),
    place: (name, spec = {}) => create(types.placement, "WorkloadPlacement", { name }, spec),
    cluster,
    placement,
    clusters: async () => (await client.listAll<ClusterRegistration>({ type: types.cluster })).items,
    placements: async () => (await client.listAll<WorkloadPlacement>({ type: types.placement })).items,
    offerSecret: async (name, kubeconfig) => {
      const secret = {
        apiVersion: "v1",
        kind: "Secret",
        type: credentialsSecretType,
        metadata: { name },
        stringData: { kubeconfig },
      };
      await client.create({ type: secrets, namespace: "default" }, secret);
    },
    label: async (name, labels) => {
      await client.patch({ type: types.cluster, name }, { type: "merge", body: { metadata: { labels } } });
    },
    remove: async (kind, name) => {
      await client.delete({ type: types[kind], name });
    },
    untilCluster: async (name, ready) => {
      let seen = await cluster(name);
      await eventually(async () => {
        seen = await cluster(name);
        return readyOf(seen) === ready ? undefined : `cluster ${name}: ${JSON.stringify(seen.status)}`;
      }, limitMs);
      return seen;
    },
    untilChosen: async (name, clusters) => {
      let seen = await placement(name);
      await eventually(async () => {
        seen = await placement(name);
        const isChosen = isDecided(seen) && selectedClusters(seen) === clusters.join();
        return isChosen ? undefined : `placement ${name}: ${JSON.stringify(seen.status)}`;
      }, limitMs);
      return seen;
    },
    untilDecided: async (names) => {
      let seen: readonly WorkloadPlacement[] = [];
      await eventually(async () => {
        seen = (await tenant.placements()).filter(({ metadata }) => names.includes(metadata.name ?? ""));
        const undecided = seen.filter((each) => !isDecided(each)).map(({ metadata }) => metadata.name);
        if (seen.length < names.length) return `${names.length - seen.length} of ${names.length} are not there`;
        return undecided.length === 0 ? undefined : `not decided: ${undecided.join(", ")}`;
      }, limitMs);
      return seen;
    },
    applyExample: async (file, type, namespace) => {
      const text = await readFile(new URL(`../../examples/${file}`, import.meta.url), "utf8");
      const body = load(text) as { metadata: { name: string } }; // our own files, each with one object
      const address = { type, namespace, name: body.metadata.name };
      await client.patch(address, { type: "apply", body }, { fieldManager: "e2e" });
    },
    follow: async <K extends keyof Followed>(kind: K) => {
      const collection = { type: types[kind] };
      const { metadata } = await client.list<Followed[K]>(collection);
      const end = new AbortController();
      const states: Followed[K][] = [];
      const following = (async () => {
        const events = client.watch<Followed[K]>(collection, { ...metadata, signal: end.signal });
        for await (const event of events) if (event.type !== "BOOKMARK") states.push(event.object);
      })().catch((error: unknown) => error);
      return async () => {
        end.abort();
        const failure = await following;
        if (faultOf(failure) !== undefined) throw failure;
        return states;
      };
    },
  };
  return tenant;
}

/** An object's Ready condition: `True ClusterReady`. */
export function readyOf({ status }: ClusterRegistration | WorkloadPlacement): string {
  const ready = findCondition(status?.conditions, "Ready");
  return ready === undefined ? "none" : `${ready.status} ${ready.reason}`;
}

/** The clusters that a placement has chosen, with commas between. */
export function selectedClusters({ status }: WorkloadPlacement): string {
  return (status?.selectedClusters ?? []).join();
}

/** Whether what the status says was decided from the spec as it is. */
export function isDecided({ metadata, status }: WorkloadPlacement): boolean {
  return status?.observedGeneration === metadata.generation && findCondition(status?.conditions, "Ready") !== undefined;
}

/** What was decided about a cluster. */
export function decisionOn({ status }: WorkloadPlacement, cluster: string): Decision | undefined {
  return status?.decisions?.find((decision) => decision.cluster === cluster);
}
