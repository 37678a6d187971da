import { isDeepStrictEqual } from "node:util";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import type { Condition } from "../../../lib/model/condition.ts";
import type { ObjectEvent } from "../../../lib/model/event.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import { formatKey, type ObjectKey, type WorkKey, type WorkloadKey, workloadKey } from "../../../lib/model/key.ts";
import type { Next } from "../../../lib/model/next.ts";
import type { Reason } from "../../../lib/model/work-item.ts";
import { type CopyAddress, copyOf } from "../../../lib/sync/downstream.ts";
import { defaultSyncSettings } from "../../../lib/sync/settings.ts";
import type { UpsyncState } from "../../../lib/upsync/decide.ts";
import { createDeletionLog, type DeletionLog } from "../../../lib/upsync/deletion-log-writer.ts";
import { hashOfNormalized, isUpsyncCandidate, normalizeDownstream } from "../../../lib/upsync/normalize.ts";
import { isOptedIn, optInsOf, type UpsyncRule } from "../../../lib/upsync/opt-in.ts";
import { upsyncReconciler } from "../../../lib/upsync/reconcile.ts";
import { upsyncRegistrationReconciler } from "../../../lib/upsync/subscriptions.ts";
import type { UpsyncSource, UpsyncTools } from "../../../lib/upsync/world.ts";

import { deployments, Killed, tenant } from "../sync/paper-world.ts";
import { aDeployment } from "./builders.ts";

const types = workloadKindsWith();
const signal = new AbortController().signal;

/**
 * A workspace and clusters of paper, on which things are born. What watches have told, or lists have shown, is apart from what is
 * there.
 */
export class PaperClusters {
  /** Whether clusters are watched; where they are not, they have to be asked. */
  readonly isTelling: boolean;
  constructor({ isTelling = true } = {}) {
    this.isTelling = isTelling;
  }
  nowMs = Date.parse("2030-01-01T00:00:00Z");
  writes = 0;
  /** Dies right before the write of this number, and does not do it. */
  killAt = Number.POSITIVE_INFINITY;
  readonly workspace = new Map<string, KubeObject>();
  readonly namespaces = new Set(["shop"]);
  readonly registrations = new Map<string, ClusterRegistration & KubeObject>();
  /** What each cluster has, and what its watch has told of that. */
  readonly clusters = new Map<string, Map<string, KubeObject>>();
  readonly told = new Map<string, Map<string, KubeObject>>();
  /** Clusters that do not answer, though nobody has noticed yet. */
  readonly away = new Set<string>();
  /** Why the workspace refuses what it is given. */
  refusal: string | undefined;
  /** What the workspace makes of what it is given. */
  store: (object: KubeObject) => KubeObject = (object) => object;
  readonly events: ObjectEvent[] = [];
  readonly woken: string[] = [];
  /** What clusters were asked: for all they have, or for one object. */
  readonly asked: string[] = [];
  /** Why clusters do not list what they have. */
  listFault: Fault | undefined;
  /** Whether what was listed is kept until somebody wants it anew, where clusters are asked. */
  keepsLists = false;
  readonly #kept = new Map<string, ReadonlyMap<string, string>>();
  /** What happens meanwhile: while everything is listed, and before a status is written. */
  whileListing: () => Promise<void> = async () => {};
  beforeStatus: () => Promise<void> = async () => {};
  notes: DeletionLog = this.#newNotes();
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
    this.told.set(name, new Map());
  }
  change(name: string, change: (registration: ClusterRegistration) => Partial<ClusterRegistration>): void {
    const before = this.registrations.get(name);
    if (before === undefined) throw new Error(`no ${name}`);
    this.registrations.set(name, { ...before, ...change(before) });
  }
  setReady(name: string, isReady: boolean): void {
    this.change(name, ({ status }) => ({ status: { ...status, conditions: [readyIs(isReady ? "True" : "False")] } }));
  }

  /** Somebody applies something on a cluster, and the watch tells of it. */
  bear(cluster: string, name = "web", spec: object = { replicas: 2 }, metadata: KubeObject["metadata"] = {}): void {
    const before = this.clusters.get(cluster)?.get(nameOf(name));
    const uid = before?.metadata.uid ?? `${cluster}-${name}-${this.#next()}`;
    const object = aDeployment(
      { name, uid, resourceVersion: this.#next(), labels: { app: name }, ...metadata },
      { spec },
    );
    this.clusters.get(cluster)?.set(nameOf(name), object);
    this.told.get(cluster)?.set(nameOf(name), object);
  }
  /** Somebody deletes something on a cluster, and the watch tells of it. */
  end(cluster: string, name = "web"): void {
    this.clusters.get(cluster)?.delete(nameOf(name));
    this.told.get(cluster)?.delete(nameOf(name));
  }
  upstream(name = "web"): KubeObject | undefined {
    return this.workspace.get(nameOf(name));
  }
  edit(name: string, change: (object: KubeObject) => KubeObject): void {
    const before = this.upstream(name) ?? aDeployment({ name, uid: `own-${this.#next()}` });
    const after = change(before);
    this.workspace.set(nameOf(name), { ...after, metadata: { ...after.metadata, resourceVersion: this.#next() } });
  }
  condition(cluster: string, type: string): string {
    const found = this.registrations.get(cluster)?.status?.conditions?.find((each) => each.type === type);
    return found === undefined ? "none" : `${found.status} ${found.reason}`;
  }
  /** A process starts anew and remembers nothing. */
  restart(): void {
    this.notes = this.#newNotes();
  }

  /** Works on a name until there is nothing more to write. */
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
  attend(cluster: string, reason: Reason = "changed"): Promise<Next> {
    return upsyncRegistrationReconciler(this.tools())({ key: registrationKey(cluster), reason }, signal);
  }

  tools(): UpsyncTools {
    return {
      hub: this.#hub(),
      workloads: {
        types,
        read: async (key) => this.workspace.get(key.name),
        list: async (_cluster, type) => (type.plural === "deployments" ? [...this.workspace.values()] : []),
        namespaceLabels: async (_cluster, namespace) => (this.namespaces.has(namespace) ? {} : undefined),
        recordEvent: (_key, _about, event) => void this.events.push(event),
      },
      upsyncHub: {
        createWorkload: async (key, object) => {
          this.#write();
          this.#mayRefuse();
          if (this.workspace.has(key.name)) throw new ControllerError("exists", `${key.name} is there`);
          return this.#keep(key, { ...object, metadata: { ...object.metadata, uid: `kcp-${this.#next()}` } });
        },
        writeWorkload: async (key, seen, wanted) => {
          this.#write();
          this.#mayRefuse();
          this.#isSeen(key, seen);
          return this.#keep(key, { ...wanted, metadata: { ...wanted.metadata, uid: seen.metadata.uid ?? "" } });
        },
        removeWorkload: async (key, seen) => {
          this.#write();
          this.#isSeen(key, seen);
          this.workspace.delete(key.name);
        },
      },
      source: this.#births(),
      deletionLog: this.notes,
      clock: { now: () => this.nowMs },
      settings: defaultSyncSettings,
      isListed: () => true,
      enqueue: async (keys: readonly WorkKey[]) =>
        void this.woken.push(...keys.map((key) => formatKey(key).split("|")[1] ?? "")),
    };
  }

  #newNotes(): DeletionLog {
    return createDeletionLog();
  }
  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
  #write(): void {
    this.writes += 1;
    if (this.writes === this.killAt) throw new Killed(`at write ${this.writes}`);
  }
  #mayRefuse(): void {
    if (this.refusal !== undefined) throw new ControllerError("invalid", this.refusal);
  }
  #isSeen(key: WorkloadKey, seen: KubeObject): void {
    const { uid, resourceVersion } = this.workspace.get(key.name)?.metadata ?? {};
    if (uid === seen.metadata.uid && resourceVersion === seen.metadata.resourceVersion) return;
    throw new ControllerError("conflict", `${key.name} has changed`);
  }
  #keep(key: WorkloadKey, object: KubeObject): KubeObject {
    const stored = this.store({ ...object, metadata: { ...object.metadata, resourceVersion: this.#next() } });
    this.workspace.set(key.name, stored);
    return stored;
  }

  #hub(): UpsyncTools["hub"] {
    const read: Hub["read"] = async <T extends KubeObject>({ name }: ObjectKey) =>
      this.registrations.get(name) as KubeObject as T | undefined; // what is read is a registration
    const list: Hub["list"] = async <T extends KubeObject>() =>
      [...this.registrations.values()] as readonly KubeObject[] as readonly T[];
    const writeStatus: Hub["writeStatus"] = async ({ name }, seen, status) => {
      await this.beforeStatus();
      const before = this.registrations.get(name);
      if (isDeepStrictEqual(before?.status, status)) return seen;
      this.#write();
      const { resourceVersion } = before?.metadata ?? {};
      if (resourceVersion !== seen.metadata.resourceVersion)
        throw new ControllerError("conflict", `${name} has changed`);
      this.change(name, ({ metadata }) => ({ status, metadata: { ...metadata, resourceVersion: this.#next() } }));
      return seen;
    };
    return { read, list, writeStatus };
  }

  #births(): UpsyncSource {
    const rulesOf = (name: string): readonly UpsyncRule[] => {
      const registration = this.registrations.get(name);
      const { optIns } = registration === undefined ? { optIns: [] } : optInsOf(registration, types);
      return optIns.find(({ type }) => type.kind === "Deployment")?.rules ?? [];
    };
    const birthOf = (cluster: string, object: KubeObject): Extract<UpsyncState, { kind: "born" | "other" }> => {
      const { namespace = "", labels, uid = "" } = object.metadata;
      if (!isUpsyncCandidate(object) || !isOptedIn(rulesOf(cluster), { namespace, labels }))
        return { kind: "other", uid };
      return { kind: "born", copy: copyOf(object), print: hashOfNormalized(normalizeDownstream(object)) };
    };
    const ask = ({ registration, object }: CopyAddress): KubeObject | undefined => {
      if (this.away.has(registration.name))
        throw new ControllerError("unreachable", `cluster ${registration.name}: timed out`);
      return this.clusters.get(registration.name)?.get(nameOf(object.name));
    };
    const isWatched = (name: string): boolean => {
      const conditions = this.registrations.get(name)?.status?.conditions ?? [];
      return conditions.some(({ type, status }) => type === "Ready" && status === "True") && rulesOf(name).length > 0;
    };
    return {
      isWatching: this.isTelling,
      subscribe: () => {},
      unsubscribe: () => {},
      invalidate: ({ name }) => void this.#kept.delete(name),
      cached: ({ registration, object: at }) => {
        if (!this.isTelling || !isWatched(registration.name)) return undefined;
        const object = this.told.get(registration.name)?.get(nameOf(at.name));
        const birth = object && birthOf(registration.name, object);
        return birth?.kind === "born" ? birth : { kind: "absent" };
      },
      readUncached: async (address) => {
        this.asked.push(`${address.registration.name}/${address.object.name}`);
        const object = ask(address);
        return object === undefined ? { kind: "absent" } : birthOf(address.registration.name, object);
      },
      readObject: async (address) => ask(address),
      listUids: async ({ name }) => {
        if (!isWatched(name)) return undefined;
        await this.whileListing();
        if (!this.isTelling) {
          this.asked.push(name);
          if (this.listFault !== undefined) throw new ControllerError(this.listFault, `cluster ${name}: list`);
        }
        const born = [...(this.told.get(name) ?? [])].filter(([, object]) => birthOf(name, object).kind === "born");
        const all = new Map(born.map(([id, { metadata }]) => [id, metadata.uid ?? ""]));
        if (this.isTelling || !this.keepsLists) return all;
        const kept = this.#kept.get(name) ?? all;
        this.#kept.set(name, kept);
        return kept;
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
