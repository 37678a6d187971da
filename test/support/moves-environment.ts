import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createMetrics } from "../../lib/observe/metrics.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { type ControllerEnvironment, startControllerEnvironment, statusOf } from "./controller-environment.ts";

export const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
export const configMaps: ResourceType = { group: "", version: "v1", plural: "configmaps" };
export const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
export const records: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };

export const clusterNames = ["east", "north", "west"] as const;

/** A Deployment with three replicas. */
export function aDeployment(name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "shop", labels: { app: name }, ...metadata },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "web", image: "nginx:1.27" }] } },
    },
  };
}

export type MovesStage = ControllerEnvironment &
  Readonly<{
    /** A client for a cluster. */
    on(cluster: string): KubeClient;
    /** The copy of a deployment. */
    copy(cluster: string, name?: string, namespace?: string): Promise<KubeObject | undefined>;
    /** Names of the clusters that have a copy. */
    where(name?: string, namespace?: string): Promise<string>;
    /** Reason, or else state, of each cluster in the sync record. */
    said(name?: string): Promise<Readonly<Record<string, string>>>;
    selected(placement?: string): Promise<string>;
    /** Number of sync actions of one kind, from the metrics. */
    did(what: string): number;
    /** Name of a workspace's namespace on clusters. */
    namespaceThere(namespace?: string): string;
    change(type: ResourceType, name: string, body: object): Promise<void>;
  }>;

/** Three clusters, a controller and a placement for the namespace `shop`. */
export async function setMovesStage(placement: object = {}): Promise<MovesStage> {
  const stage = await startControllerEnvironment({ reached: { east: "east", north: "north", west: "west" } });
  const { client, cluster, clusters } = stage;
  const metrics = createMetrics();
  for (const name of ["shop", "back"]) {
    await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (const name of clusterNames) await client.create(registrations, aRegistration(name));
  await client.create(placements, aPlacement("shop", { workloadSelector: {}, ...placement }));
  await stage.settled({ metrics });
  const on = (name: string): KubeClient => {
    const found = clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const namespaceThere = (namespace = "shop"): string =>
    downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace });
  const copy: MovesStage["copy"] = async (from, name = "web", namespace = "shop") => {
    const { items } = await on(from).list<KubeObject>({ type: deployments, namespace: namespaceThere(namespace) });
    return items.find(({ metadata }) => metadata.name === name);
  };
  return {
    ...stage,
    on,
    copy,
    where: async (name, namespace) => {
      const found: string[] = [];
      for (const each of clusterNames) if ((await copy(each, name, namespace)) !== undefined) found.push(each);
      return found.join(" ");
    },
    said: async (name = "web") => {
      const { items } = await client.list<KubeObject>({ type: records, namespace: "shop" });
      const record = items.find(({ metadata }) => metadata.name?.startsWith(`deployments-${name}-`));
      const entries: unknown = record === undefined ? [] : statusOf(record).clusters;
      return Object.fromEntries(
        (Array.isArray(entries) ? entries : []).map((each: { name: string; state: string; reason?: string }) => [
          each.name,
          each.reason ?? each.state,
        ]),
      );
    },
    selected: async (name = "shop") => {
      const names = statusOf(await stage.placement(name)).selectedClusters;
      return Array.isArray(names) ? names.join(" ") : "";
    },
    did: (what) => {
      const line = metrics
        .render()
        .split("\n")
        .find((each) => each.startsWith(`tmc_sync_actions_total{action="${what}"}`));
      return Number(line?.split(" ").at(-1) ?? 0);
    },
    namespaceThere,
    change: async (type, name, body) => {
      const isOurs = type.group === "tmc.kcp.io";
      await client.patch({ type, ...(isOurs ? {} : { namespace: "shop" }), name }, { type: "merge", body });
    },
  };
}
