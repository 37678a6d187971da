import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { referenceTypes, type TypeId, typeId } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { coalesce, type WorkItem } from "../model/work-item.ts";

import type { Reference } from "../sync/dependencies/references.ts";
import { isAsWritten } from "../sync/ownership/record.ts";
import { createWorkloadTies } from "../upstream/reference-index.ts";
import { type WorkloadLane, workloadLanes } from "../upstream/watched-resources.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import {
  isGuarded,
  namespaceFingerprint,
  reconcileRequestedAnnotation,
  recordFingerprint,
  workloadFingerprint,
} from "./fingerprint.ts";
import type { LaneBook } from "./resource-watch-group.ts";

/** What a relay needs to watch workloads as well. */
export type RelayedWorkloads = Readonly<{
  types: readonly WorkloadType[];
  /** Takes what is seen, before any key of it is sent. @default nobody keeps it */
  cache?: Pick<WorkloadCache, "takeList" | "takeAbsent" | "takeSeen" | "takeGone"> | undefined;
  /** Takes from an object what the cache does not keep. @default nothing */
  slim?: ((object: KubeObject) => KubeObject) | undefined;
}>;

export type WorkloadBookOptions = Pick<RelayedWorkloads, "types" | "cache"> &
  Readonly<{
    logicalCluster: string;
    send: (items: readonly WorkItem[]) => void;
    /** Whether the logical cluster is still looked after: a watch may tell something late. */
    isOpen: () => boolean;
    /** Hears that everything has been listed once. */
    onListed: () => void;
  }>;

/**
 * Knows of one logical cluster what was told of its workloads, and of what they depend on, and sends the keys of those that
 * something has changed for: a workload itself, TMC's record of it, the labels of its namespace, or what it refers to.
 *
 * No key is sent before everything has been listed, our own two kinds included: who decided earlier would take for missing what
 * it has only not seen. Only what TMC has not begun with does not wait for the records: whoever looks at it asks for its own.
 */
export interface WorkloadBook extends Required<LaneBook<TypeId>> {
  /** Whether everything that is watched for the sake of workloads has been listed once. */
  readonly isListed: boolean;
  /** Both of our kinds have been listed. */
  kindsListed(): void;
  /** Takes in a placement; undefined for one that has gone. */
  takePlacement(name: string, placement: KubeObject | undefined): void;
  /** Has every workload looked at: what TMC may see has changed. */
  wakeAll(): void;
}

/** How something was last seen. */
type Entry = Readonly<{ print: string; isGuarded?: boolean; wish?: string | undefined }>;
/** Why a key is sent: itself, or something it depends on, in this version. */
type Cause = Readonly<{ resourceVersion: string | undefined; reason?: WorkItem["reason"] }>;

const nothing: readonly never[] = [];

/** Creates a book in which nothing has been seen. */
export function createWorkloadBook(options: WorkloadBookOptions): WorkloadBook {
  const { logicalCluster, types, cache, send, isOpen, onListed } = options;
  const lanes = new Map(workloadLanes(types).map((lane) => [lane.id, lane]));
  const seen = new Map<TypeId, Map<string, Entry>>([...lanes.keys()].map((id) => [id, new Map()]));
  const listed = new Set<string>();
  let areKindsListed = false;
  /** Keys that wait until everything is listed; undefined from then on. */
  let held: Map<string, WorkItem> | undefined = new Map();
  /** Whether what is new is told already. */
  let isNewTold = false;
  const ties = createWorkloadTies(types);
  /** The kinds that come along and that a placement names as workloads. */
  const namedBy = new Map<string, ReadonlySet<string>>();

  const wake = (names: Iterable<string>, { resourceVersion, reason = "changed" }: Cause): void => {
    const items = [...names].map(
      (name): WorkItem => ({ key: { logicalCluster, kind: "Workload", name }, reason, resourceVersion }),
    );
    if (held === undefined) {
      if (items.length > 0) send(items);
      return;
    }
    for (const item of items) {
      const before = held.get(item.key.name);
      held.set(item.key.name, before === undefined ? item : coalesce(before, item));
    }
    if (isNewTold) tellNew(items);
  };
  const nameOf = (lane: WorkloadLane, id: string): string => `${lane.id}/${id}`;
  const isNamed = ({ kind }: WorkloadLane): boolean => [...namedBy.values()].some((kinds) => kinds.has(kind));
  /** Whether an object is a workload: those that come along are where a placement says so, or where one was. */
  const isWorkload = (lane: WorkloadLane, id: string): boolean =>
    lane.role === "workload" || (lane.role === "claimed" && (isNamed(lane) || ties.isRecorded(nameOf(lane, id))));

  function* workloads(isMeant: (lane: WorkloadLane, id: string) => boolean): Generator<string> {
    for (const [laneId, entries] of seen) {
      const lane = lanes.get(laneId);
      if (lane === undefined || (lane.role !== "workload" && lane.role !== "claimed")) continue;
      for (const id of entries.keys()) if (isMeant(lane, id) && isWorkload(lane, id)) yield nameOf(lane, id);
    }
  }
  /** What a key is about, as it was last seen. */
  const partOf = (key: string): Readonly<{ lane: WorkloadLane; entry: Entry }> | undefined => {
    const at = key.indexOf("/");
    const lane = [...lanes.values()].find(({ id }) => id === key.slice(0, at));
    const entry = lane && seen.get(lane.id)?.get(key.slice(at + 1));
    return entry && { lane, entry };
  };
  /** Of these, what TMC has not begun with: somebody waits for it. They are looked at once more when all is known. */
  const tellNew = (items: readonly WorkItem[]): void => {
    const news = items.filter(({ key }) => {
      const part = partOf(key.name);
      return part?.lane.role === "workload" && part.entry.isGuarded !== true;
    });
    if (news.length > 0) send(news);
  };
  const release = (): void => {
    if (held === undefined || !areKindsListed) return;
    if (!isNewTold && [...lanes].every(([id, { role }]) => role === "record" || listed.has(id))) {
      isNewTold = true;
      if (listed.size < lanes.size) tellNew([...held.values()]);
    }
    if (listed.size < lanes.size) return;
    // Only now is it known which of those that come along are workloads by themselves.
    wake(
      workloads(({ role }) => role === "claimed"),
      { resourceVersion: undefined },
    );
    const items = [...held.values()];
    held = undefined;
    // Somebody waits for what is new; ten thousand that are where they belong can wait for it.
    const { first = [], patient = [] } = Object.groupBy(items, ({ key }) =>
      partOf(key.name)?.entry.isGuarded === true ? "patient" : "first",
    );
    if (items.length > 0) send([...first, ...patient.map((item) => ({ ...item, isLowPriority: true }))]);
    onListed();
  };
  /** Something came, changed or went: itself is told if it is a workload, and those that refer to it in any case. */
  const wakeAround = (lane: WorkloadLane, id: string, cause: Cause): void => {
    if (isWorkload(lane, id)) wake([nameOf(lane, id)], cause);
    const kind = referenceKinds.get(lane.id);
    if (kind === undefined) return;
    wake(ties.referrers({ kind, ...partsOf(id) }), { resourceVersion: cause.resourceVersion });
  };

  const tie = (lane: WorkloadLane, id: string, object: KubeObject | undefined): void => {
    if (lane.role === "workload") ties.takeWorkload(nameOf(lane, id), partsOf(id).namespace, object);
  };

  const see = (lane: WorkloadLane, object: KubeObject): void => {
    const id = idOf(object);
    const entries = seen.get(lane.id);
    const before = entries?.get(id);
    const { resourceVersion } = object.metadata;
    switch (lane.role) {
      case "namespace": {
        const print = namespaceFingerprint(object);
        entries?.set(id, { print });
        const namespace = `${object.metadata.name ?? ""}/`;
        if (before?.print !== print)
          wake(
            workloads((_, each) => each.startsWith(namespace)),
            { resourceVersion },
          );
        return;
      }
      case "record": {
        const record = object as WorkloadSync; // the server holds it to the kind's schema
        const print = recordFingerprint(record);
        entries?.set(id, { print });
        ties.takeRecord(id, record);
        const isOwnWord = isAsWritten(record) && record.metadata.deletionTimestamp === undefined;
        const workload = ties.workloadOf(id);
        if (workload === undefined || before?.print === print || (isOwnWord && held === undefined)) return;
        wake([workload], { resourceVersion });
        return;
      }
      default: {
        const print = workloadFingerprint(object);
        const wish = object.metadata.annotations?.[reconcileRequestedAnnotation];
        const now: Entry = { print, isGuarded: isGuarded(object), ...(wish === undefined ? {} : { wish }) };
        entries?.set(id, now);
        if (before?.print === print && !(before.isGuarded === true && now.isGuarded !== true)) return;
        tie(lane, id, object);
        const isWished = before !== undefined && wish !== undefined && before.wish !== wish;
        wakeAround(lane, id, { resourceVersion, ...(isWished ? { reason: "on-demand" as const } : {}) });
      }
    }
  };
  /** A version is known of something whose end was watched. */
  const lose = (lane: WorkloadLane, id: string, resourceVersion?: string): void => {
    seen.get(lane.id)?.delete(id);
    if (lane.role === "namespace") return; // what was in it tells its own end
    if (lane.role === "record") {
      const workload = ties.workloadOf(id);
      ties.takeRecord(id, undefined);
      if (workload !== undefined) wake([workload], { resourceVersion });
      return;
    }
    wakeAround(lane, id, { resourceVersion });
    tie(lane, id, undefined);
  };
  const at = (lane: TypeId): WorkloadLane | undefined => (isOpen() ? lanes.get(lane) : undefined);

  return {
    get isListed() {
      return listed.size === lanes.size;
    },
    takeList: (laneId, objects) => {
      const lane = at(laneId);
      if (lane === undefined) return;
      cache?.takeList(lane.type, logicalCluster, objects);
      const missing = new Set(seen.get(laneId)?.keys());
      for (const object of objects) {
        missing.delete(idOf(object));
        see(lane, object);
      }
      // Not seen is not gone: the reconciler asks.
      for (const id of missing) lose(lane, id);
      listed.add(laneId);
      release();
    },
    takeAbsent: (laneId) => {
      const lane = at(laneId);
      if (lane === undefined) return;
      cache?.takeAbsent(lane.type, logicalCluster);
      listed.add(laneId);
      release();
    },
    takeChanged: (laneId, object) => {
      const lane = at(laneId);
      if (lane === undefined) return;
      cache?.takeSeen(lane.type, logicalCluster, object);
      see(lane, object);
    },
    takeDeleted: (laneId, object) => {
      const lane = at(laneId);
      if (lane === undefined) return;
      const { namespace = "", name = "", resourceVersion } = object.metadata;
      cache?.takeGone({ logicalCluster, type: lane.type, namespace, name }, resourceVersion);
      lose(lane, idOf(object), resourceVersion);
    },
    kindsListed: () => {
      areKindsListed = true;
      release();
    },
    takePlacement: (name, placement) => {
      const before = namedBy.get(name) ?? new Set<string>();
      const kinds = placement === undefined ? new Set<string>() : claimedKindsIn(placement);
      if (kinds.size === 0) namedBy.delete(name);
      else namedBy.set(name, kinds);
      const added = new Set([...kinds].filter((kind) => !before.has(kind)));
      if (held !== undefined || added.size === 0) return;
      wake(
        workloads(({ kind }) => added.has(kind)),
        { resourceVersion: placement?.metadata.resourceVersion },
      );
    },
    wakeAll: () =>
      wake(
        workloads(() => true),
        { resourceVersion: undefined },
      ),
  };
}

/** The types that can be referred to, and how references call them. */
const referenceKinds: ReadonlyMap<TypeId, Reference["kind"]> = new Map(
  (["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"] as const).map((kind) => [
    typeId(referenceTypes[kind]),
    kind,
  ]),
);

const idOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;

function partsOf(id: string): Readonly<{ namespace: string; name: string }> {
  const at = id.indexOf("/");
  return { namespace: id.slice(0, at), name: id.slice(at + 1) };
}

/** The kinds that a placement names and that are workloads by that alone. */
function claimedKindsIn(placement: KubeObject): ReadonlySet<string> {
  const { workloadSelector } = (placement as WorkloadPlacement).spec ?? {}; // the server holds it to the kind's schema
  const named = workloadSelector?.workloadTypes ?? nothing;
  return new Set(named.filter((each) => each.apiVersion === "v1").map(({ kind }) => kind));
}
