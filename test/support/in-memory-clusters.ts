import { isDeepStrictEqual } from "node:util";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { allWorkloadTypes } from "../../lib/api/workload-kinds.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import type { Condition } from "../../lib/model/condition.ts";
import type { ObjectEvent } from "../../lib/model/event.ts";
import type { Hub } from "../../lib/model/hub.ts";
import { formatKey, type ObjectKey, type WorkKey, type WorkloadKey, workloadKey } from "../../lib/model/key.ts";
import type { Next, WorkReason } from "../../lib/model/work-item.ts";
import { type CopyAddress, copyOf } from "../../lib/sync/downstream.ts";
import { defaultSyncSettings } from "../../lib/sync/settings.ts";
import type { UpsyncState } from "../../lib/upsync/decide.ts";
import { createUpsyncLocalState, type UpsyncLocalState } from "../../lib/upsync/local-state.ts";
import { hashOfNormalized, isUpsyncCandidate, normalizeDownstream } from "../../lib/upsync/normalize.ts";
import { isOptedIn, optInsOf, type UpsyncRule } from "../../lib/upsync/opt-in.ts";
import { upsyncReconciler } from "../../lib/upsync/reconcile.ts";
import { upsyncRegistrationReconciler } from "../../lib/upsync/reconcile-registration.ts";
import type { UpsyncSource, UpsyncTools } from "../../lib/upsync/world.ts";

import { deployments, Killed, tenant } from "./in-memory-world.ts";
import { aDeployment } from "./upsync-builders.ts";

const types = allWorkloadTypes();
const signal = new AbortController().signal;

/**
 * In-memory upstream and clusters for the upsync reconcilers. What watches and lists return is kept apart from what the
 * clusters have, so that tests can make them differ.
 */
export class InMemoryClusters {
  /** Whether clusters are watched. If not, the reconcilers have to read and list them. */
  readonly isWatching: boolean;
  constructor({ isWatching = true } = {}) {
    this.isWatching = isWatching;
  }
  nowMs = Date.parse("2030-01-01T00:00:00Z");
  writes = 0;
  /** Throws `Killed` in place of the write with this number. */
  killAt = Number.POSITIVE_INFINITY;
  readonly upstreamObjects = new Map<string, KubeObject>();
  readonly namespaces = new Set(["shop"]);
  readonly registrations = new Map<string, ClusterRegistration & KubeObject>();
  /** What each cluster has, and what its watch or list returns. */
  readonly clusters = new Map<string, Map<string, KubeObject>>();
  readonly watched = new Map<string, Map<string, KubeObject>>();
  /** Clusters that do not answer, although their registration is Ready. */
  readonly unreachable = new Set<string>();
  /** The error with which upstream rejects writes. */
  rejection: string | undefined;
  /** What upstream stores for a written object. */
  store: (object: KubeObject) => KubeObject = (object) => object;
  readonly events: ObjectEvent[] = [];
  readonly enqueued: string[] = [];
  /** Reads of clusters: `east` for a list, `east/web` for an object. */
  readonly reads: string[] = [];
  /** The fault with which clusters answer lists. */
  listFault: Fault | undefined;
  /** Whether lists are cached until they are invalidated, where clusters are not watched. */
  cachesLists = false;
  readonly #cachedLists = new Map<string, ReadonlyMap<string, string>>();
  /** Hooks for races: during a list, and before a status write. */
  whileListing: () => Promise<void> = async () => {};
  beforeStatusWrite: () => Promise<void> = async () => {};
  localState: UpsyncLocalState = createUpsyncLocalState();
  /** What the watches of this process have reported as deleted: `cluster/key name` → uid. */
  readonly #observedDeletions = new Map<string, string>();
  /** The sync records of the workspace. */
  readonly records: WorkloadSync[] = [];
  #version = 0;

  register(name: string, upsync: readonly UpsyncRule[] = [{ apiVersion: "apps/v1", kind: "Deployment" }]): void {
    this.registrations.set(name, {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: { name, uid: `uid-${name}`, resourceVersion: this.#next() },
      spec: { location: "us-east-1", upsync: [...upsync] },
      status: { conditions: [readyIs("True")] },
    });
    this.clusters.set(name, new Map());
    this.watched.set(name, new Map());
  }
  update(name: string, change: (registration: ClusterRegistration) => Partial<ClusterRegistration>): void {
    const before = this.registrations.get(name);
    if (before === undefined) throw new Error(`no ${name}`);
    this.registrations.set(name, { ...before, ...change(before) });
  }
  setReady(name: string, isReady: boolean): void {
    this.update(name, ({ status }) => ({ status: { ...status, conditions: [readyIs(isReady ? "True" : "False")] } }));
  }

  /** Creates or updates an object on a cluster; the watch reports it. */
  createDownstream(
    cluster: string,
    name = "web",
    spec: object = { replicas: 2 },
    metadata: KubeObject["metadata"] = {},
  ): void {
    const before = this.clusters.get(cluster)?.get(nameOf(name));
    const uid = before?.metadata.uid ?? `${cluster}-${name}-${this.#next()}`;
    const object = aDeployment(
      { name, uid, resourceVersion: this.#next(), labels: { app: name }, ...metadata },
      { spec },
    );
    this.clusters.get(cluster)?.set(nameOf(name), object);
    this.watched.get(cluster)?.set(nameOf(name), object);
  }
  /** Deletes an object on a cluster; a watch reports its deletion. */
  deleteDownstream(cluster: string, name = "web"): void {
    const uid = this.clusters.get(cluster)?.get(nameOf(name))?.metadata.uid ?? "";
    this.#observedDeletions.set(`${cluster}/${nameOf(name)}`, uid);
    this.loseDownstream(cluster, name);
  }
  /** Removes an object from a cluster without a report of its deletion, as after a restore of the cluster. */
  loseDownstream(cluster: string, name = "web"): void {
    this.clusters.get(cluster)?.delete(nameOf(name));
    this.watched.get(cluster)?.delete(nameOf(name));
  }
  upstream(name = "web"): KubeObject | undefined {
    return this.upstreamObjects.get(nameOf(name));
  }
  edit(name: string, change: (object: KubeObject) => KubeObject): void {
    const before = this.upstream(name) ?? aDeployment({ name, uid: `own-${this.#next()}` });
    const after = change(before);
    this.upstreamObjects.set(nameOf(name), {
      ...after,
      metadata: { ...after.metadata, resourceVersion: this.#next() },
    });
  }
  condition(cluster: string, type: string): string {
    const found = this.registrations.get(cluster)?.status?.conditions?.find((each) => each.type === type);
    return found === undefined ? "none" : `${found.status} ${found.reason}`;
  }
  /** Replaces the process: its local state is lost. */
  restart(): void {
    this.localState = createUpsyncLocalState();
    this.#observedDeletions.clear();
  }

  /** Reconciles names until a reconcile writes nothing. */
  async settle(...names: readonly string[]): Promise<void> {
    for (const name of names.length === 0 ? ["web"] : names) {
      for (let round = 0; ; round += 1) {
        const before = this.writes;
        await this.reconcile(name);
        if (this.writes === before) break;
        if (round === 9) throw new Error(`${name} does not settle`);
      }
    }
  }
  reconcile(name = "web"): Promise<Next> {
    return upsyncReconciler(this.tools())({ key: keyOf(name), reason: "changed" }, signal);
  }
  reconcileRegistration(cluster: string, reason: WorkReason = "changed"): Promise<Next> {
    return upsyncRegistrationReconciler(this.tools())({ key: registrationKey(cluster), reason }, signal);
  }

  tools(): UpsyncTools {
    return {
      hub: this.#hub(),
      workloads: {
        types,
        read: async (key) => this.upstreamObjects.get(key.name),
        list: async (_cluster, type) => (type.plural === "deployments" ? [...this.upstreamObjects.values()] : []),
        listRecords: async () => this.records,
        namespaceLabels: async (_cluster, namespace) => (this.namespaces.has(namespace) ? {} : undefined),
        recordEvent: (_key, _about, event) => void this.events.push(event),
      },
      upsyncHub: {
        createWorkload: async (key, object) => {
          this.#write();
          this.#checkRejection();
          if (this.upstreamObjects.has(key.name)) throw new ControllerError("exists", `${key.name} exists`);
          return this.#store(key, { ...object, metadata: { ...object.metadata, uid: `kcp-${this.#next()}` } });
        },
        updateWorkload: async (key, observed, desired) => {
          this.#write();
          this.#checkRejection();
          this.#checkVersion(key, observed);
          return this.#store(key, { ...desired, metadata: { ...desired.metadata, uid: observed.metadata.uid ?? "" } });
        },
        deleteWorkload: async (key, observed) => {
          this.#write();
          this.#checkVersion(key, observed);
          this.upstreamObjects.delete(key.name);
        },
      },
      source: this.#source(),
      localState: this.localState,
      clock: { now: () => this.nowMs },
      settings: defaultSyncSettings,
      isListed: () => true,
      enqueue: async (keys: readonly WorkKey[]) =>
        void this.enqueued.push(...keys.map((key) => formatKey(key).split("|")[1] ?? "")),
    };
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
  #write(): void {
    this.writes += 1;
    if (this.writes === this.killAt) throw new Killed(`at write ${this.writes}`);
  }
  #checkRejection(): void {
    if (this.rejection !== undefined) throw new ControllerError("invalid", this.rejection);
  }
  #checkVersion(key: WorkloadKey, observed: KubeObject): void {
    const { uid, resourceVersion } = this.upstreamObjects.get(key.name)?.metadata ?? {};
    if (uid === observed.metadata.uid && resourceVersion === observed.metadata.resourceVersion) return;
    throw new ControllerError("conflict", `${key.name} has changed`);
  }
  #store(key: WorkloadKey, object: KubeObject): KubeObject {
    const stored = this.store({ ...object, metadata: { ...object.metadata, resourceVersion: this.#next() } });
    this.upstreamObjects.set(key.name, stored);
    return stored;
  }

  #hub(): UpsyncTools["hub"] {
    const read: Hub["read"] = async <T extends KubeObject>({ name }: ObjectKey) =>
      this.registrations.get(name) as KubeObject as T | undefined; // only registrations are read
    const list: Hub["list"] = async <T extends KubeObject>() =>
      [...this.registrations.values()] as readonly KubeObject[] as readonly T[];
    const writeStatus: Hub["writeStatus"] = async ({ name }, observed, status) => {
      await this.beforeStatusWrite();
      const before = this.registrations.get(name);
      if (isDeepStrictEqual(before?.status, status)) return observed;
      this.#write();
      const { resourceVersion } = before?.metadata ?? {};
      if (resourceVersion !== observed.metadata.resourceVersion)
        throw new ControllerError("conflict", `${name} has changed`);
      this.update(name, ({ metadata }) => ({ status, metadata: { ...metadata, resourceVersion: this.#next() } }));
      return observed;
    };
    return { read, list, writeStatus };
  }

  #source(): UpsyncSource {
    const rulesOf = (name: string): readonly UpsyncRule[] => {
      const registration = this.registrations.get(name);
      const { optIns } = registration === undefined ? { optIns: [] } : optInsOf(registration, types);
      return optIns.find(({ type }) => type.kind === "Deployment")?.rules ?? [];
    };
    const stateOf = (cluster: string, object: KubeObject): Extract<UpsyncState, { kind: "present" | "other" }> => {
      const { namespace = "", labels, uid = "" } = object.metadata;
      if (!isUpsyncCandidate(object) || !isOptedIn(rulesOf(cluster), { namespace, labels }))
        return { kind: "other", uid };
      return { kind: "present", copy: copyOf(object), hash: hashOfNormalized(normalizeDownstream(object)) };
    };
    const readObject = ({ registration, object }: CopyAddress): KubeObject | undefined => {
      if (this.unreachable.has(registration.name))
        throw new ControllerError("unreachable", `cluster ${registration.name}: timed out`);
      return this.clusters.get(registration.name)?.get(nameOf(object.name));
    };
    const isWatched = (name: string): boolean => {
      const conditions = this.registrations.get(name)?.status?.conditions ?? [];
      return conditions.some(({ type, status }) => type === "Ready" && status === "True") && rulesOf(name).length > 0;
    };
    return {
      isWatching: this.isWatching,
      subscribe: () => {},
      unsubscribe: () => {},
      observedDeletions: ({ name }) =>
        new Map(
          [...(this.isWatching ? this.#observedDeletions : [])]
            .filter(([id]) => id.startsWith(`${name}/`))
            .map(([id, uid]) => [id.slice(name.length + 1), uid]),
        ),
      invalidate: ({ name }) => void this.#cachedLists.delete(name),
      cached: ({ registration, object: { name } }) => {
        if (!this.isWatching || !isWatched(registration.name)) return undefined;
        const object = this.watched.get(registration.name)?.get(nameOf(name));
        const state = object && stateOf(registration.name, object);
        return state?.kind === "present" ? state : { kind: "absent" };
      },
      readUncached: async (address) => {
        this.reads.push(`${address.registration.name}/${address.object.name}`);
        const object = readObject(address);
        return object === undefined ? { kind: "absent" } : stateOf(address.registration.name, object);
      },
      readObject: async (address) => readObject(address),
      listUids: async ({ name }) => {
        if (!isWatched(name)) return undefined;
        await this.whileListing();
        if (!this.isWatching) {
          this.reads.push(name);
          if (this.listFault !== undefined) throw new ControllerError(this.listFault, `cluster ${name}: list`);
        }
        const present = [...(this.watched.get(name) ?? [])].filter(
          ([, object]) => stateOf(name, object).kind === "present",
        );
        const all = new Map(present.map(([id, { metadata }]) => [id, metadata.uid ?? ""]));
        if (this.isWatching || !this.cachesLists) return all;
        const cached = this.#cachedLists.get(name) ?? all;
        this.#cachedLists.set(name, cached);
        return cached;
      },
    };
  }
}

export const nameOf = (name: string): string => keyOf(name).name;

function keyOf(name: string): WorkloadKey {
  return workloadKey(tenant, { type: deployments, namespace: "shop", name });
}

function registrationKey(name: string): ObjectKey {
  return { logicalCluster: tenant, kind: "ClusterRegistration", name };
}

function readyIs(status: "True" | "False"): Condition {
  return { type: "Ready", status, reason: "Test", message: "", lastTransitionTime: "2030-01-01T00:00:00Z" };
}
