import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect } from "vitest";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { group } from "../../lib/api/group.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { eventually } from "../support/eventually.ts";
import type { ClusterName, E2eContext } from "./environment.ts";
import { type Deployment, present, workTypes } from "./tenant-work.ts";

/** The kinds that the cases create on clusters. */
type OriginalKind = "Deployment" | "Service";
export type OriginalAddress = Readonly<{ cluster: ClusterName; kind: OriginalKind; namespace: string; name: string }>;

/** Acts on clusters as a user who does not know TMC, and reads the upsynced objects in the workspace. */
export interface UpsyncOriginals {
  /** Opts these kinds and namespaces of a cluster in to upsync; creates the namespaces, and registers the cluster if needed. */
  optIn(cluster: ClusterName, kinds: readonly OriginalKind[], namespaces: readonly string[]): Promise<void>;
  create(cluster: ClusterName, object: KubeObject): Promise<KubeObject>;
  merge(at: OriginalAddress, body: object): Promise<void>;
  delete(at: OriginalAddress): Promise<void>;
  /** The object on its cluster; undefined if it does not exist. */
  read(at: OriginalAddress): Promise<KubeObject | undefined>;
  /** Waits until the workspace has the upsynced object with its origin. */
  untilUpsynced(at: OriginalAddress): Promise<KubeObject>;
  /** Waits until the status of the upstream Deployment has this many ready replicas, those of the original included. */
  untilReady(namespace: string, name: string, replicas: number): Promise<Deployment>;
  /** A condition of a registration: `True NameTaken`, or `none`. */
  condition(cluster: ClusterName, type: string): Promise<string>;
  untilCondition(cluster: ClusterName, type: string, words: string): Promise<string>;
}

/** Creates the access to the clusters of a stage; each wait takes at most `limitMs`. */
export function upsyncOriginalsOn(
  { world, tenant }: Pick<E2eContext, "world" | "tenant">,
  limitMs: number,
): UpsyncOriginals {
  const clients = new Map<ClusterName, KubeClient>();
  const on = (name: ClusterName): KubeClient => {
    const client = clients.get(name) ?? world.clusterClient(name);
    clients.set(name, client);
    return client;
  };
  const registrations = { type: reconciledTypes.ClusterRegistration };
  const conditionOf = ({ status }: ClusterRegistration, type: string) => findCondition(status?.conditions, type);
  const wordsOf = (registration: ClusterRegistration, type: string): string => {
    const found = conditionOf(registration, type);
    return found === undefined ? "none" : `${found.status} ${found.reason}`;
  };
  const addressOf = ({ kind, namespace, name }: OriginalAddress) => ({ type: workTypes[kind], namespace, name });
  const originals: UpsyncOriginals = {
    optIn: async (cluster, kinds, namespaces) => {
      for (const name of namespaces) {
        const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
        await unlessExisting(on(cluster).create({ type: workTypes.Namespace }, body));
      }
      const isRegistered = (await tenant.clusters()).some(({ metadata }) => metadata.name === cluster);
      if (!isRegistered) await tenant.register(cluster, { location: `${cluster}-1` }, { region: cluster });
      const apiVersions = { Deployment: "apps/v1", Service: "v1" };
      const upsync = kinds.map((kind) => ({ apiVersion: apiVersions[kind], kind, namespaces }));
      await world.tenant.patch({ ...registrations, name: cluster }, { type: "merge", body: { spec: { upsync } } });
      await tenant.untilCluster(cluster, "True ClusterReady");
      await originals.untilCondition(cluster, "UpsyncReady", "True Upsynced");
    },
    create: async (cluster, object) => {
      const { kind, metadata } = object;
      const type = kind === "Service" ? workTypes.Service : workTypes.Deployment;
      return on(cluster).create<KubeObject>({ type, namespace: metadata.namespace }, object, {
        fieldManager: "another-manager",
      });
    },
    merge: async (at, body) => {
      await on(at.cluster).patch(addressOf(at), { type: "merge", body }, { fieldManager: "another-manager" });
    },
    delete: async (at) => {
      await on(at.cluster).delete(addressOf(at));
    },
    read: (at) => present(on(at.cluster).get<KubeObject>(addressOf(at))),
    untilUpsynced: async (at) => {
      let seen: KubeObject | undefined;
      await eventually(async () => {
        seen = await present(world.tenant.get<KubeObject>(addressOf(at)));
        const uid = (await originals.read(at))?.metadata.uid;
        const place = seen && upsyncOriginOf(seen, world.tenantCluster);
        const isKnown = place !== undefined && place.registration === at.cluster && place.uid === uid;
        return isKnown ? undefined : `${at.kind} ${at.name} of ${at.cluster}: ${JSON.stringify(seen?.metadata)}`;
      }, limitMs);
      if (seen === undefined) throw new Error(`${at.name} was not seen`);
      return seen;
    },
    untilReady: async (namespace, name, replicas) => {
      let seen: Deployment | undefined;
      await eventually(async () => {
        seen = await present(world.tenant.get<Deployment>({ type: workTypes.Deployment, namespace, name }));
        const { status, metadata } = seen ?? {};
        const isReady =
          status?.readyReplicas === replicas &&
          status.replicas === replicas &&
          status.observedGeneration === metadata?.generation;
        return isReady ? undefined : `${name} reports ${JSON.stringify(status)}, not ${replicas} replicas`;
      }, limitMs);
      if (seen === undefined) throw new Error(`${name} was not seen`);
      return seen;
    },
    condition: async (cluster, type) => wordsOf(await tenant.cluster(cluster), type),
    untilCondition: async (cluster, type, words) => {
      let seen = await tenant.cluster(cluster);
      await eventually(async () => {
        seen = await tenant.cluster(cluster);
        return wordsOf(seen, type) === words ? undefined : `${cluster}: ${JSON.stringify(seen.status?.conditions)}`;
      }, limitMs);
      return conditionOf(seen, type)?.message ?? "";
    },
  };
  return originals;
}

/** Expects that TMC has changed nothing of an original: no label, annotation, finalizer or managed field is its own. */
export function expectUnchanged(original: KubeObject | undefined, made: KubeObject): void {
  expect(original?.metadata).toMatchObject({ uid: made.metadata.uid, labels: made.metadata.labels });
  expect(original?.metadata.finalizers ?? []).toEqual([]);
  const { labels = {}, annotations = {}, managedFields = [] } = original?.metadata ?? {};
  expect([...Object.keys(labels), ...Object.keys(annotations)].filter((key) => key.includes(group))).toEqual([]);
  expect(managedFields.map(({ manager }) => manager)).not.toContain("tmc");
}

async function unlessExisting(creating: Promise<unknown>): Promise<void> {
  await creating.catch((error: unknown) => {
    if (faultOf(error) !== "exists") throw error;
  });
}
