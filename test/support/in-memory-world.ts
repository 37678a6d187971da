import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { allWorkloadTypes, offeredWorkloads } from "../../lib/api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import type { ObjectEvent } from "../../lib/model/event.ts";
import type { Hub } from "../../lib/model/hub.ts";
import { type WorkloadKey, workloadKey } from "../../lib/model/key.ts";
import type { BurstGate } from "../../lib/sync/burst-gate.ts";
import { type CopyAddress, copyOf, type Downstream, type TypeState } from "../../lib/sync/downstream.ts";
import type { CopyAction } from "../../lib/sync/observed.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { isOwnedBy, type Owner, otherOwningRegistration, whyNotOwned } from "../../lib/sync/ownership/owner.ts";
import { recordName } from "../../lib/sync/ownership/record.ts";
import { syncReconciler } from "../../lib/sync/reconcile.ts";
import { defaultSyncSettings, type SyncSettings } from "../../lib/sync/settings.ts";
import type { StatusDebounce } from "../../lib/sync/status/debounce.ts";
import type { DownstreamState } from "../../lib/sync/sync-objects.ts";
import type { WorkloadHub } from "../../lib/sync/workload-hub.ts";

/** Thrown to simulate that the process is killed. */
export class Killed extends Error {}

export const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
export const tenant = "2xk3tenant";
export const startMs = Date.parse("2030-01-01T00:00:00Z");

type Stored = KubeObject;

/** Upstream and clusters in memory. Every write is counted, and the process can be killed at any of them. */
export class InMemoryWorld {
  nowMs = startMs;
  writes = 0;
  /** The number of the write before which the process is killed. */
  killAt = Number.POSITIVE_INFINITY;
  readonly workloads = new Map<string, Stored>();
  readonly records = new Map<string, WorkloadSync>();
  /** The records that a function listed once for its batch; undefined if lists are always fresh. */
  recordsOfBatch: readonly WorkloadSync[] | undefined;
  readonly references = new Map<string, KubeObject>();
  readonly registrations = new Map<string, ClusterRegistration>();
  readonly placements = new Map<string, WorkloadPlacement>();
  readonly namespaces = new Map<string, Readonly<Record<string, string>>>([["shop", {}]]);
  readonly terminatingNamespaces = new Set<string>();
  /** The objects by cluster, then by `plural/namespace/name`. */
  readonly clusters = new Map<string, Map<string, Stored>>();
  /** Workloads that are cached as they were before: the upstream watch lags. */
  readonly cachedWorkloads = new Map<string, KubeObject>();
  /** Records that are cached as they were before, by `namespace/name`. */
  readonly cachedRecords = new Map<string, WorkloadSync>();
  /** The cached objects of a cluster whose watch lags. */
  readonly watched = new Map<string, ReadonlyMap<string, Stored>>();
  /** Clusters that do not answer. */
  readonly unreachable = new Set<string>();
  /** The message with which a cluster rejects writes. */
  readonly rejections = new Map<string, string>();
  /** Types whose objects stay terminating until `endLingering`. */
  readonly lingering = new Set<string>();
  /** Clusters whose namespace is not empty. */
  readonly usedNamespaces = new Set<string>();
  /** Clusters that serve a type that their registrations do not list. */
  readonly serving = new Set<string>();
  /** The installation state of a type by cluster. */
  readonly types = new Map<string, TypeState>();
  readonly events: ObjectEvent[] = [];
  readonly copyActions: CopyAction[] = [];
  /** Every request to a cluster, in order: `east apply deployments/web`. */
  readonly log: string[] = [];
  burstGate: BurstGate | undefined;
  debounce: StatusDebounce | undefined;
  /** Clusters that accept requests and never answer. */
  readonly hanging = new Set<string>();
  /** Placements that were notified, in order. */
  readonly notifiedPlacements: string[] = [];
  readonly #timers = new Set<Readonly<{ atMs: number; run: () => void }>>();
  #version = 0;

  readonly settings: Partial<SyncSettings>;

  constructor(settings: Partial<SyncSettings> = {}) {
    this.settings = settings;
  }

  register(name: string, rest: Partial<ClusterRegistration["spec"]> = {}): void {
    this.registrations.set(name, {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "ClusterRegistration",
      metadata: { name, uid: `uid-${name}` },
      spec: { location: "us-east-1", ...rest },
      status: { conditions: [readyIs("True")], lastHeartbeat: "2030-01-01T00:00:00Z" },
    });
    this.clusters.set(name, new Map());
  }

  /** Sets the Ready condition of a registration. */
  setReady(name: string, isReady: boolean): void {
    const registration = this.registrations.get(name);
    if (registration === undefined) throw new Error(`no ${name}`);
    this.registrations.set(name, {
      ...registration,
      status: { ...registration.status, conditions: [readyIs(isReady ? "True" : "False")] },
    });
  }

  place(name: string, selectedClusters: readonly string[], spec: Partial<WorkloadPlacement["spec"]> = {}): void {
    this.placements.set(name, {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "WorkloadPlacement",
      metadata: { name, generation: 1, creationTimestamp: "2030-01-01T00:00:00Z" },
      spec: { workloadSelector: {}, ...spec },
      status: { selectedClusters: [...selectedClusters] },
    });
  }

  apply(name: string, spec: object = { replicas: 3 }, metadata: Partial<KubeObject["metadata"]> = {}): WorkloadKey {
    const key = keyOf(name);
    const before = this.workloads.get(key.name);
    const isChanged = before !== undefined && JSON.stringify(before.spec) !== JSON.stringify(spec);
    this.workloads.set(key.name, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      ...before,
      metadata: {
        ...before?.metadata,
        name,
        namespace: "shop",
        uid: before?.metadata.uid ?? `uid-${name}-${this.#version}`,
        generation: (before?.metadata.generation ?? 1) + (isChanged ? 1 : 0),
        resourceVersion: this.#next(),
        ...metadata,
      },
      spec,
    });
    return key;
  }

  /** Deletes as a user: with finalizers the object stays terminating. */
  delete(name: string): void {
    const key = keyOf(name);
    const object = this.workloads.get(key.name);
    if (object === undefined) return;
    if ((object.metadata.finalizers ?? []).length === 0) {
      this.workloads.delete(key.name);
      return;
    }
    const deletionTimestamp = new Date(this.nowMs).toISOString();
    this.workloads.set(key.name, {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp, resourceVersion: this.#next() },
    });
  }

  workload(name: string): Stored | undefined {
    return this.workloads.get(keyOf(name).name);
  }
  record(name: string): WorkloadSync | undefined {
    return this.records.get(`shop/${recordName({ type: deployments, name })}`);
  }
  /** The copy of a workload on a cluster. */
  copy(cluster: string, name: string, plural = "deployments"): Stored | undefined {
    return this.clusters.get(cluster)?.get(`${plural}/${this.namespaceOf()}/${name}`);
  }
  namespaceOf(namespace = "shop"): string {
    return downstreamNamespace({ hub: "kcp", logicalCluster: tenant, namespace });
  }
  /** Deletes an object on a cluster as another client. */
  loseCopy(cluster: string, name: string, plural = "deployments"): void {
    this.clusters.get(cluster)?.delete(`${plural}/${this.namespaceOf()}/${name}`);
  }
  /** Writes an object on a cluster as another client. */
  putCopy(cluster: string, name: string, change: (copy: Stored) => Stored, plural = "deployments"): void {
    const id = `${plural}/${this.namespaceOf()}/${name}`;
    const before = this.clusters.get(cluster)?.get(id);
    const after = change(
      before ?? { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, uid: `foreign-${this.#next()}` } },
    );
    const isNewSpec = JSON.stringify(before?.spec) !== JSON.stringify(after.spec);
    this.clusters.get(cluster)?.set(id, {
      ...after,
      metadata: {
        ...after.metadata,
        resourceVersion: this.#next(),
        generation: (before?.metadata.generation ?? 0) + (isNewSpec ? 1 : 0),
      },
    });
  }
  /** Sets the status of all copies to ready, as the clusters' controllers do. */
  makeReady(...clusters: readonly string[]): void {
    for (const name of clusters) {
      for (const [id, copy] of this.clusters.get(name) ?? []) {
        if (!id.startsWith("deployments/")) continue;
        const replicas = replicasOf(copy);
        const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas, updatedReplicas: replicas };
        this.clusters.get(name)?.set(id, {
          ...copy,
          metadata: { ...copy.metadata, resourceVersion: this.#next() },
          status: { observedGeneration: copy.metadata.generation, ...counts },
        });
      }
    }
  }

  /** Removes all objects that are terminating. */
  endLingering(): void {
    this.lingering.clear();
    for (const objects of this.clusters.values()) {
      for (const [id, { metadata }] of [...objects]) if (metadata.deletionTimestamp !== undefined) objects.delete(id);
    }
  }

  /** Reconciles each workload until a reconcile writes nothing. */
  async settle(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      for (let round = 0; round < 10; round += 1) {
        const before = this.writes;
        await this.reconcile(name);
        if (this.writes === before) break;
        if (round === 9) throw new Error(`${name} does not settle`);
      }
    }
  }

  reconcile(name: string) {
    const work = syncReconciler({
      hub: this.#hub(),
      workloads: this.#workloadHub(),
      downstream: this.#downstream(),
      clock: {
        now: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        after: (ms, run) => {
          const timer = { atMs: this.nowMs + ms, run };
          this.#timers.add(timer);
          return () => void this.#timers.delete(timer);
        },
      },
      burstGate: this.burstGate,
      debounce: this.debounce,
      settings: { ...defaultSyncSettings, hubId: "kcp", ...this.settings },
      onCopyAction: (action) => void this.copyActions.push(action),
      notifyPlacement: async ({ name }) => void this.notifiedPlacements.push(name),
    });
    return work({ key: keyOf(name), reason: "changed" }, new AbortController().signal);
  }

  /** Advances the clock and runs the timers that are due. */
  advance(ms: number): void {
    this.nowMs += ms;
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.nowMs) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
  #write(): void {
    this.writes += 1;
    if (this.writes === this.killAt) throw new Killed(`at write ${this.writes}`);
  }

  #hub(): Hub {
    const unsupported = () => Promise.reject(new Error("sync does not call this"));
    const of = (kind: string): readonly KubeObject[] =>
      [...(kind === "WorkloadPlacement" ? this.placements : this.registrations).values()] as readonly KubeObject[];
    return {
      read: unsupported,
      confirm: async <T extends KubeObject>({ kind, name }: { kind: string; name: string }) =>
        of(kind).find(({ metadata }) => metadata.name === name) as T | undefined,
      list: async <T extends KubeObject>(kind: string) => of(kind) as readonly T[],
      writeStatus: unsupported,
      writeFinalizers: unsupported,
      readSecret: unsupported,
    };
  }

  #workloadHub(): WorkloadHub {
    const change = (key: WorkloadKey, read: Stored, part: object): Stored => {
      this.#write();
      const stored = this.workloads.get(key.name);
      if (stored === undefined) throw new ControllerError("not-found", `${key.name} is gone`);
      if (stored.metadata.resourceVersion !== read.metadata.resourceVersion) {
        throw new ControllerError("conflict", `${key.name} has changed`);
      }
      const next = {
        ...stored,
        ...part,
        metadata: {
          ...stored.metadata,
          ...("metadata" in part ? Object(part.metadata) : {}),
          resourceVersion: this.#next(),
        },
      };
      const isGone = next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0;
      if (isGone) this.workloads.delete(key.name);
      else this.workloads.set(key.name, next);
      return next;
    };
    const id = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;
    const changeRecord = (at: { namespace: string; name: string }, read: WorkloadSync, next: WorkloadSync) => {
      this.#write();
      const stored = this.records.get(id(at));
      if (stored === undefined) throw new ControllerError("not-found", `${at.name} is gone`);
      if (stored.metadata.resourceVersion !== read.metadata.resourceVersion) {
        throw new ControllerError("conflict", `${at.name} has changed`);
      }
      const kept = { ...next, metadata: { ...next.metadata, resourceVersion: this.#next() } };
      const isGone = kept.metadata.deletionTimestamp !== undefined && (kept.metadata.finalizers ?? []).length === 0;
      if (isGone) this.records.delete(id(at));
      else this.records.set(id(at), kept);
      return kept;
    };
    return {
      types: allWorkloadTypes(),
      read: async (key) => this.cachedWorkloads.get(key.name) ?? this.workloads.get(key.name),
      readUncached: async (key) => this.workloads.get(key.name),
      list: async (_cluster, type) => {
        const kind = allWorkloadTypes().find((each) => each.type.plural === type.plural)?.kind;
        const all = [...this.workloads.values(), ...this.references.values()];
        return all.filter((each) => each.kind === kind);
      },
      writeStatus: async (key, read, status) =>
        JSON.stringify(read.status ?? {}) === JSON.stringify(status) ? read : change(key, read, { status }),
      writeFinalizers: async (key, read, finalizers) =>
        change(key, read, { metadata: { finalizers: [...finalizers] } }),
      readRecord: async (at) => this.cachedRecords.get(id(at)) ?? this.records.get(id(at)),
      readRecordUncached: async (at) => this.records.get(id(at)),
      listRecords: async () => this.recordsOfBatch ?? [...this.records.values()],
      listRecordsUncached: async () => [...this.records.values()],
      createRecord: async (at, record) => {
        this.#write();
        if (this.records.has(id(at))) throw new ControllerError("exists", `${at.name} is there`);
        const stored = { ...record, metadata: { ...record.metadata, resourceVersion: this.#next() } };
        this.records.set(id(at), stored);
        return stored;
      },
      writeRecord: async (at, read, { spec, metadata }) =>
        changeRecord(at, read, { ...read, spec, metadata: { ...metadata } }),
      writeRecordStatus: async (at, read, status) =>
        JSON.stringify(read.status ?? {}) === JSON.stringify(status)
          ? read
          : changeRecord(at, read, { ...read, status }),
      isNamespaceActive: async (_cluster, namespace) =>
        this.namespaces.has(namespace) && !this.terminatingNamespaces.has(namespace),
      namespaceLabels: async (_cluster, namespace) => this.namespaces.get(namespace),
      referenceVersion: async ({ kind, name }) => this.references.get(`${kind}/${name}`)?.metadata.resourceVersion,
      readReference: async ({ kind, name }) => this.references.get(`${kind}/${name}`),
      recordEvent: (_key, _object, event) => void this.events.push(event),
    };
  }

  #downstream(): Downstream {
    const resolve = ({ registration, object }: CopyAddress) => ({
      name: registration.name,
      objects: this.clusters.get(registration.name) ?? new Map<string, Stored>(),
      id: `${object.type.plural}/${object.namespace}/${object.name}`,
    });
    const request = async (name: string, what: string): Promise<void> => {
      this.log.push(`${name} ${what}`);
      if (this.hanging.has(name)) await new Promise(() => {});
      if (this.unreachable.has(name)) throw new ControllerError("unreachable", `cluster ${name}: timed out`);
    };
    /** Objects whose absence was only read from the cache. */
    const cachedAbsences = new Set<string>();
    const stateOf = (object: Stored | undefined, owner: Owner): DownstreamState => {
      if (object === undefined) return { kind: "absent" };
      if (isOwnedBy(object, owner)) return { kind: "there", copy: copyOf(object) };
      return {
        kind: "foreign",
        copy: copyOf(object),
        message: whyNotOwned(object, owner),
        otherRegistration: otherOwningRegistration(object, owner),
      };
    };
    return {
      subscribe: () => {},
      readCopy: async (address, owner, _signal, { acceptCachedAbsence = false } = {}) => {
        const { name, objects, id } = resolve(address);
        await request(name, `see ${id}`);
        cachedAbsences.delete(`${name} ${id}`);
        const state = stateOf((this.watched.get(name) ?? objects).get(id), owner);
        if (acceptCachedAbsence && state.kind !== "there") {
          cachedAbsences.add(`${name} ${id}`);
          return { kind: "absent", isCached: true };
        }
        return state;
      },
      readCopyUncached: async (address, owner) => {
        const { name, objects, id } = resolve(address);
        await request(name, `confirm ${id}`);
        return stateOf(objects.get(id), owner);
      },
      readObject: async (address) => {
        const { name, objects, id } = resolve(address);
        await request(name, `read ${id}`);
        return objects.get(id);
      },
      serves: async ({ name }) => {
        await request(name, "serves");
        return this.serving.has(name);
      },
      ensureType: async ({ name }, { definition }) => {
        await request(name, `type ${definition.name}`);
        return this.types.get(name) ?? { kind: "served" };
      },
      ensureNamespace: async ({ name }) => request(name, "namespace"),
      apply: async (address, manifest) => {
        const { name, objects, id } = resolve(address);
        await request(name, `apply ${address.object.type.plural}/${address.object.name}`);
        const rejection = this.rejections.get(name);
        if (rejection !== undefined) throw new ControllerError("invalid", rejection);
        if (cachedAbsences.has(`${name} ${id}`) && objects.has(id))
          throw new ControllerError("conflict", `${id} is there`);
        this.#write();
        const before = objects.get(id);
        const isNew = JSON.stringify(before?.spec) !== JSON.stringify(manifest.spec);
        const stored: Stored = {
          ...before,
          ...manifest,
          metadata: {
            ...before?.metadata,
            ...(manifest.metadata as Stored["metadata"]), // a manifest has no undefined fields
            uid: before?.metadata.uid ?? `copy-${this.#next()}`,
            generation: (before?.metadata.generation ?? 0) + (isNew ? 1 : 0),
            resourceVersion: this.#next(),
          },
        };
        objects.set(id, stored);
        return stored;
      },
      remove: async (address, uid) => {
        const { name, objects, id } = resolve(address);
        await request(name, `remove ${address.object.type.plural}/${address.object.name}`);
        const object = objects.get(id);
        if (object?.metadata.deletionTimestamp !== undefined) return;
        this.#write();
        if (object?.metadata.uid !== uid) return;
        if (!this.lingering.has(address.object.type.plural)) objects.delete(id);
        else
          objects.set(id, { ...object, metadata: { ...object.metadata, deletionTimestamp: "2030-01-01T00:00:00Z" } });
      },
      release: async (address, uid) => {
        const { name, objects, id } = resolve(address);
        await request(name, `release ${address.object.name}`);
        this.#write();
        const object = objects.get(id);
        if (object?.metadata.uid === uid)
          objects.set(id, { ...object, metadata: { ...object.metadata, labels: {}, annotations: {} } });
      },
      removeNamespace: async ({ name }) => {
        await request(name, "remove namespace");
        return !this.usedNamespaces.has(name);
      },
    };
  }
}

/** The key of a deployment in the namespace shop. */
export function keyOf(name: string): WorkloadKey {
  return workloadKey(tenant, { type: offeredWorkloads[0]?.type ?? deployments, namespace: "shop", name });
}

export function replicasOf({ spec }: KubeObject): number {
  return typeof spec === "object" && spec !== null && "replicas" in spec ? Number(spec.replicas) : 1;
}

function readyIs(status: "True" | "False") {
  return { type: "Ready", status, reason: "Test", message: "", lastTransitionTime: "2030-01-01T00:00:00Z" } as const;
}
