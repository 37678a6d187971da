import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed, referenceTypes, typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey, type WorkloadKey, workloadAddress, workloadKey } from "../model/key.ts";
import type { Reference } from "../sync/dependencies/references.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import { syncedLabel, tenantLabelValue } from "../sync/ownership/owner.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { type ClusterGate, createClusterGate } from "./connection-gate.ts";
import { createCopyCache, type Peek } from "./copy-cache.ts";
import { type CopyLane, startCopyLane } from "./copy-informer.ts";
import { ownOrigin } from "./verified-owner.ts";

/** Something that came along with workloads, by its name in the hub. */
export type Companion = Readonly<{ registration: ObjectKey; namespace: string }> & Pick<Reference, "kind" | "name">;

/** A watch that failed; it goes on by itself. */
export type CopyTrouble = Readonly<{
  registration: ObjectKey;
  type: ResourceType;
  error: unknown;
  retryInMs: number;
  /** How long the watch has not been open. */
  downMs: number;
}>;

export type CopyWatchesOptions = Readonly<{
  /** Which control plane the copies are of: the same as in their origins. */
  hubId: string;
  clientFor: ClientFor;
  /** The types that copies can be of. */
  types: readonly WorkloadType[];
  clock: Clock;
  random: () => number;
  /** How often everything is listed again, so that a watch that missed something heals. */
  relistSeconds: number;
  /** The workload whose copy came, changed or went. Its logical cluster is always the registration's own. */
  onChanged(key: WorkloadKey): void;
  /** Something of the kinds that come along came, changed or went: those who need it should look. It is told as a workload too. */
  onCompanionChanged?: ((companion: Companion) => void) | undefined;
  onTrouble(trouble: CopyTrouble): void;
  /** A cluster does not accept its credentials: others should be found. */
  onRefused?: ((registration: ObjectKey) => void) | undefined;
  /** Whether a cluster is one to watch; whoever wants another has not heard yet that it went. @default every one */
  mayWatch?: ((registration: ObjectKey) => boolean) | undefined;
  /** Hears of an object that carries the tenant's label and is not what it says; nothing is done about it. */
  onIgnored?: ((registration: ObjectKey) => void) | undefined;
}>;

/**
 * Watches the copies on clusters, and keeps of each what a reconcile needs.
 *
 * It is told which clusters to watch, for which types. Of a cluster that is not wanted any more nothing is kept.
 */
export interface CopyWatches {
  /** Watches these types on a cluster too; to say it again changes nothing. */
  want(registration: ObjectKey, types: readonly ResourceType[]): void;
  /** Watches a cluster no more: it has gone, or is not heard from. */
  unwant(registration: ObjectKey): void;
  /** What is known of a copy; undefined when it has to be asked for: not watched, not listed, in doubt, or down for too long. */
  peek(address: CopyAddress): Peek | undefined;
  /** The same, but waits some seconds for a first list that is on its way. */
  look(address: CopyAddress, signal: AbortSignal): Promise<Peek | undefined>;
  /** Says, before a request, that the cluster is asked about a copy; the answer takes in what it said (`CopyCache.ask`). */
  ask(address: CopyAddress): (object: KubeObject | undefined) => void;
  /** Nobody knows what has become of the copy: the next look asks. */
  doubt(address: CopyAddress): void;
  /** How many copies are kept, on all clusters. */
  readonly size: number;
  /** How many watches there are, and how many of them have not been open for too long. */
  readonly watches: Readonly<{ all: number; down: number }>;
  stop(): Promise<void>;
}

type Site = Readonly<{ gate: ClusterGate; lanes: Map<string, CopyLane> }>;

/** Creates watches that watch nothing yet. */
export function createCopyWatches(options: CopyWatchesOptions): CopyWatches {
  const { hubId, types, clock, random } = options;
  const known = new Map<string, WorkloadType>(types.map((each) => [typeId(each.type), each]));
  const byKind = new Map(types.map((each) => [`${each.apiVersion} ${each.kind}`, each]));
  const sites = new Map<string, Site>();
  const ending = new Set<Promise<void>>();

  const laneAt = ({ registration, object }: CopyAddress): CopyLane | undefined =>
    sites.get(formatKey(registration))?.lanes.get(typeId(object.type));
  const peekIn = (lane: CopyLane | undefined, { object }: CopyAddress): Peek | undefined =>
    lane?.isFresh === true ? lane.cache.peek(object) : undefined;
  const end = (lane: CopyLane): void => {
    const ended = lane.stop().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  /** The name of the key of a copy's workload; the logical cluster is not for the copy to say. */
  const workloadOf = (registration: ObjectKey, object: KubeObject): string | undefined => {
    const origin = ownOrigin(object, registration);
    const type = origin === undefined ? undefined : byKind.get(`${origin.apiVersion} ${origin.kind}`);
    return origin === undefined || type === undefined
      ? undefined
      : workloadKey(registration.logicalCluster, { ...origin, type: type.type }).name;
  };
  const tell = (registration: ObjectKey, { kind }: WorkloadType, names: readonly string[]): void => {
    const { logicalCluster } = registration;
    for (const name of names) {
      options.onChanged({ logicalCluster, kind: "Workload", name });
      const address = isReference(kind) ? workloadAddress({ name }) : undefined;
      if (address === undefined || !isReference(kind)) continue;
      options.onCompanionChanged?.({ registration, namespace: address.namespace, kind, name: address.name });
    }
  };
  const start = (registration: ObjectKey, type: WorkloadType, gate: ClusterGate): CopyLane =>
    startCopyLane({
      ...type,
      metadataOnly: isClaimed(type),
      labelSelector: `${syncedLabel}=${tenantLabelValue(hubId, registration.logicalCluster)}`,
      open: (signal) => options.clientFor(registration, signal),
      gate,
      cache: createCopyCache((object) => {
        const workload = workloadOf(registration, object);
        const isMarked = object.metadata.labels?.[syncedLabel] !== undefined;
        if (workload === undefined && isMarked) options.onIgnored?.(registration);
        return workload;
      }),
      clock,
      random,
      relistSeconds: options.relistSeconds,
      onChanged: (names) => tell(registration, type, names),
      onTrouble: (trouble) => options.onTrouble({ registration, type: type.type, ...trouble }),
      onRefused: () => options.onRefused?.(registration),
    });
  const unwant = (registration: ObjectKey): void => {
    const id = formatKey(registration);
    for (const lane of sites.get(id)?.lanes.values() ?? []) end(lane);
    sites.delete(id);
  };
  const lanes = (): readonly CopyLane[] => [...sites.values()].flatMap((site) => [...site.lanes.values()]);

  return {
    want: (registration, wanted) => {
      if (options.mayWatch?.(registration) === false) return;
      const id = formatKey(registration);
      const site = sites.get(id) ?? { gate: createClusterGate({ clock, random }), lanes: new Map<string, CopyLane>() };
      sites.set(id, site);
      for (const each of wanted) {
        const type = known.get(typeId(each));
        if (type === undefined || site.lanes.has(typeId(each))) continue;
        site.lanes.set(typeId(each), start(registration, type, site.gate));
      }
    },
    unwant,
    peek: (address) => peekIn(laneAt(address), address),
    look: async (address, signal) => {
      const lane = laneAt(address);
      await lane?.whenListed(signal);
      return peekIn(lane, address);
    },
    ask: (address) => laneAt(address)?.cache.ask(address.object) ?? (() => {}),
    doubt: (address) => laneAt(address)?.cache.doubt(address.object),
    get size() {
      return lanes().reduce((sum, { cache }) => sum + cache.size, 0);
    },
    get watches() {
      const all = lanes();
      return { all: all.length, down: all.filter(({ isFresh }) => !isFresh).length };
    },
    stop: async () => {
      for (const lane of lanes()) end(lane);
      sites.clear();
      await Promise.all(ending);
    },
  };
}

function isReference(kind: string): kind is Reference["kind"] {
  return kind in referenceTypes;
}
