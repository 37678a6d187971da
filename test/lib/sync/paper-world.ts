import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { offeredWorkloads, workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import type { ObjectEvent } from "../../../lib/model/event.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import { type WorkloadKey, workloadKey } from "../../../lib/model/key.ts";
import type { BurstGate } from "../../../lib/sync/burst-gate.ts";
import { type CopyAddress, copyOf, type Downstream, type TypeState } from "../../../lib/sync/downstream.ts";
import type { CopyAction } from "../../../lib/sync/observed.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { belongsTo, type Owner, otherOwningRegistration, whyNotOwned } from "../../../lib/sync/ownership/owner.ts";
import { recordName } from "../../../lib/sync/ownership/record.ts";
import { syncReconciler } from "../../../lib/sync/reconcile.ts";
import { defaultSyncSettings, type SyncSettings } from "../../../lib/sync/settings.ts";
import type { DownstreamState } from "../../../lib/sync/sync-objects.ts";
import type { WorkloadHub } from "../../../lib/sync/workload-hub.ts";

/** What the process dies of in tests. */
export class Killed extends Error {}

export const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
export const tenant = "2xk3tenant";
export const startMs = Date.parse("2030-01-01T00:00:00Z");

type Stored = KubeObject;

/** A hub and clusters of paper: every write is counted, and the process can be made to die at any of them. */
export class PaperWorld {
  nowMs = startMs;
  writes = 0;
  /** Dies right before the write of this number, and does not do it. */
  killAt = Number.POSITIVE_INFINITY;
  readonly workloads = new Map<string, Stored>();
  readonly records = new Map<string, WorkloadSync>();
  /** What a function has listed for its whole batch, and goes by; undefined where lists are always new. */
  recordsOfBatch: readonly WorkloadSync[] | undefined;
  readonly references = new Map<string, KubeObject>();
  readonly registrations = new Map<string, ClusterRegistration>();
  readonly placements = new Map<string, WorkloadPlacement>();
  readonly namespaces = new Map<string, Readonly<Record<string, string>>>([["shop", {}]]);
  /** What each cluster has: by cluster, then by `plural/namespace/name`. */
  readonly clusters = new Map<string, Map<string, Stored>>();
  /** What the watch of a cluster last told, where it has fallen behind. */
  readonly watched = new Map<string, ReadonlyMap<string, Stored>>();
  /** Clusters that do not answer. */
  readonly away = new Set<string>();
  /** What a cluster refuses to take, in its words. */
  readonly refusals = new Map<string, string>();
  /** Types of which clusters take their time to remove an object: it is marked, and goes in the end. */
  readonly lingering = new Set<string>();
  /** Clusters on which something is in the namespace, whosever it is. */
  readonly filled = new Set<string>();
  /** Clusters that serve a type although their registrations do not say so. */
  readonly serving = new Set<string>();
  /** How far a cluster has come with a type that it is given. */
  readonly types = new Map<string, TypeState>();
  readonly events: ObjectEvent[] = [];
  readonly news: CopyAction[] = [];
  /** Every request to a cluster, in order: `east apply deployments/web`. */
  readonly log: string[] = [];
  rush: BurstGate | undefined;
  /** Clusters that take requests and never answer. */
  readonly hanging = new Set<string>();
  /** Placements that were told of something, in order. */
  readonly told: string[] = [];
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

  /** Whether a cluster is heard from, as its registration says. */
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

  /** A user's delete: with finalizers the object waits. */
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
  /** Somebody removes something on a cluster. */
  loseCopy(cluster: string, name: string, plural = "deployments"): void {
    this.clusters.get(cluster)?.delete(`${plural}/${this.namespaceOf()}/${name}`);
  }
  /** Somebody writes to a cluster by himself. */
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
  /** The clusters' own controllers make everything ready. */
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

  /** Works on a key until it has nothing more to write; answers how many rounds that took. */
  /** All that clusters have taken their time with is gone. */
  endLingering(): void {
    this.lingering.clear();
    for (const objects of this.clusters.values()) {
      for (const [id, { metadata }] of [...objects]) if (metadata.deletionTimestamp !== undefined) objects.delete(id);
    }
  }

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
      hub: this.#engineHub(),
      workloads: this.#workloadHub(),
      downstream: this.#fleet(),
      clock: {
        now: () => this.nowMs,
        after: (ms, run) => {
          const timer = { atMs: this.nowMs + ms, run };
          this.#timers.add(timer);
          return () => void this.#timers.delete(timer);
        },
      },
      burstGate: this.rush,
      settings: { ...defaultSyncSettings, ...this.settings },
      onCopy: (news) => void this.news.push(news),
      notifyPlacement: async ({ name }) => void this.told.push(name),
    });
    return work({ key: keyOf(name), reason: "changed" }, new AbortController().signal);
  }

  /** Lets time pass, and with it whatever waits for it. */
  pass(ms: number): void {
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

  #engineHub(): Hub {
    const nobody = () => Promise.reject(new Error("sync does not ask for this"));
    const of = (kind: string): readonly KubeObject[] =>
      [...(kind === "WorkloadPlacement" ? this.placements : this.registrations).values()] as readonly KubeObject[];
    return {
      read: nobody,
      confirm: async <T extends KubeObject>({ kind, name }: { kind: string; name: string }) =>
        of(kind).find(({ metadata }) => metadata.name === name) as T | undefined,
      list: async <T extends KubeObject>(kind: string) => of(kind) as readonly T[],
      writeStatus: nobody,
      writeFinalizers: nobody,
      readSecret: nobody,
    };
  }

  #workloadHub(): WorkloadHub {
    const change = (key: WorkloadKey, seen: Stored, part: object): Stored => {
      this.#write();
      const stored = this.workloads.get(key.name);
      if (stored === undefined) throw new ControllerError("not-found", `${key.name} is gone`);
      if (stored.metadata.resourceVersion !== seen.metadata.resourceVersion) {
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
    const changeRecord = (at: { namespace: string; name: string }, seen: WorkloadSync, next: WorkloadSync) => {
      this.#write();
      const stored = this.records.get(id(at));
      if (stored === undefined) throw new ControllerError("not-found", `${at.name} is gone`);
      if (stored.metadata.resourceVersion !== seen.metadata.resourceVersion) {
        throw new ControllerError("conflict", `${at.name} has changed`);
      }
      const kept = { ...next, metadata: { ...next.metadata, resourceVersion: this.#next() } };
      this.records.set(id(at), kept);
      return kept;
    };
    return {
      types: workloadKindsWith(),
      read: async (key) => this.workloads.get(key.name),
      list: async (_cluster, type) => {
        const kind = workloadKindsWith().find((each) => each.type.plural === type.plural)?.kind;
        const all = [...this.workloads.values(), ...this.references.values()];
        return all.filter((each) => each.kind === kind);
      },
      writeStatus: async (key, seen, status) =>
        JSON.stringify(seen.status ?? {}) === JSON.stringify(status) ? seen : change(key, seen, { status }),
      writeFinalizers: async (key, seen, finalizers) =>
        change(key, seen, { metadata: { finalizers: [...finalizers] } }),
      readRecord: async (at) => this.records.get(id(at)),
      listRecords: async () => this.recordsOfBatch ?? [...this.records.values()],
      listRecordsUncached: async () => [...this.records.values()],
      createRecord: async (at, record) => {
        this.#write();
        if (this.records.has(id(at))) throw new ControllerError("exists", `${at.name} is there`);
        const stored = { ...record, metadata: { ...record.metadata, resourceVersion: this.#next() } };
        this.records.set(id(at), stored);
        return stored;
      },
      writeRecord: async (at, seen, { spec, metadata }) =>
        changeRecord(at, seen, { ...seen, spec, metadata: { ...metadata } }),
      writeRecordStatus: async (at, seen, status) =>
        JSON.stringify(seen.status ?? {}) === JSON.stringify(status)
          ? seen
          : changeRecord(at, seen, { ...seen, status }),
      namespaceLabels: async (_cluster, namespace) => this.namespaces.get(namespace),
      referenceVersion: async ({ kind, name }) => this.references.get(`${kind}/${name}`)?.metadata.resourceVersion,
      readReference: async ({ kind, name }) => this.references.get(`${kind}/${name}`),
      recordEvent: (_key, _about, event) => void this.events.push(event),
    };
  }

  #fleet(): Downstream {
    const place = ({ registration, object }: CopyAddress) => ({
      name: registration.name,
      objects: this.clusters.get(registration.name) ?? new Map<string, Stored>(),
      id: `${object.type.plural}/${object.namespace}/${object.name}`,
    });
    const ask = async (name: string, what: string): Promise<void> => {
      this.log.push(`${name} ${what}`);
      if (this.hanging.has(name)) await new Promise(() => {});
      if (this.away.has(name)) throw new ControllerError("unreachable", `cluster ${name}: timed out`);
    };
    /** Places that nobody has looked at, as a watch of ours knows nothing there. */
    const presumed = new Set<string>();
    const sightingOf = (object: Stored | undefined, origin: Owner): DownstreamState => {
      if (object === undefined) return { kind: "absent" };
      if (belongsTo(object, origin)) return { kind: "there", copy: copyOf(object) };
      return {
        kind: "foreign",
        copy: copyOf(object),
        who: whyNotOwned(object, origin),
        holder: otherOwningRegistration(object, origin),
      };
    };
    return {
      subscribe: () => {},
      readCopy: async (address, origin, _signal, { mayPresume = false } = {}) => {
        const { name, objects, id } = place(address);
        await ask(name, `see ${id}`);
        presumed.delete(`${name} ${id}`);
        const sighting = sightingOf((this.watched.get(name) ?? objects).get(id), origin);
        if (mayPresume && sighting.kind !== "there") {
          presumed.add(`${name} ${id}`);
          return { kind: "absent", isPresumed: true };
        }
        return sighting;
      },
      readCopyUncached: async (address, origin) => {
        const { name, objects, id } = place(address);
        await ask(name, `confirm ${id}`);
        return sightingOf(objects.get(id), origin);
      },
      readObject: async (address) => {
        const { name, objects, id } = place(address);
        await ask(name, `read ${id}`);
        return objects.get(id);
      },
      serves: async ({ name }) => {
        await ask(name, "serves");
        return this.serving.has(name);
      },
      ensureType: async ({ name }, { definition }) => {
        await ask(name, `type ${definition.name}`);
        return this.types.get(name) ?? { kind: "served" };
      },
      ensureNamespace: async ({ name }) => ask(name, "namespace"),
      apply: async (address, manifest) => {
        const { name, objects, id } = place(address);
        await ask(name, `apply ${address.object.type.plural}/${address.object.name}`);
        const refusal = this.refusals.get(name);
        if (refusal !== undefined) throw new ControllerError("invalid", refusal);
        if (presumed.has(`${name} ${id}`) && objects.has(id)) throw new ControllerError("conflict", `${id} is there`);
        this.#write();
        const before = objects.get(id);
        const isNew = JSON.stringify(before?.spec) !== JSON.stringify(manifest.spec);
        const stored: Stored = {
          ...before,
          ...manifest,
          metadata: {
            ...before?.metadata,
            ...(manifest.metadata as Stored["metadata"]), // a manifest leaves out what it does not say
            uid: before?.metadata.uid ?? `copy-${this.#next()}`,
            generation: (before?.metadata.generation ?? 0) + (isNew ? 1 : 0),
            resourceVersion: this.#next(),
          },
        };
        objects.set(id, stored);
        return stored;
      },
      remove: async (address, uid) => {
        const { name, objects, id } = place(address);
        await ask(name, `remove ${address.object.type.plural}/${address.object.name}`);
        const object = objects.get(id);
        if (object?.metadata.deletionTimestamp !== undefined) return;
        this.#write();
        if (object?.metadata.uid !== uid) return;
        if (!this.lingering.has(address.object.type.plural)) objects.delete(id);
        else
          objects.set(id, { ...object, metadata: { ...object.metadata, deletionTimestamp: "2030-01-01T00:00:00Z" } });
      },
      release: async (address, uid) => {
        const { name, objects, id } = place(address);
        await ask(name, `release ${address.object.name}`);
        this.#write();
        const object = objects.get(id);
        if (object?.metadata.uid === uid)
          objects.set(id, { ...object, metadata: { ...object.metadata, labels: {}, annotations: {} } });
      },
      removeNamespace: async ({ name }) => {
        await ask(name, "remove namespace");
        return !this.filled.has(name);
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
