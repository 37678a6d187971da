import type { Clock } from "@tmc/kube/clock.ts";
import { type TypeId, typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import type { OptIn } from "../upsync/opt-in.ts";
import type { UpsyncSource } from "../upsync/world.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { type ClusterGate, createClusterGate } from "./connection-gate.ts";
import { createCopyCache } from "./copy-cache.ts";
import { type CopyLane, startCopyLane } from "./copy-informer.ts";
import type { CopyTrouble } from "./copy-watch.ts";
import { type CallRate, defaultCallRate } from "./rate-limit.ts";
import { createSites } from "./session.ts";
import { birthIn, birthSelector, createBirthReader, printIn, traceOfBorn } from "./upsync-projection.ts";

export type BirthWatchesOptions = Readonly<{
  clientFor: ClientFor;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** How many calls each cluster gets for what is born there. */
  rate?: CallRate | undefined;
  /** The name, as a workload, of what was born, changed or went. Its logical cluster is always the registration's own. */
  onChanged(key: WorkloadKey): void;
  onTrouble(trouble: CopyTrouble): void;
  /** A cluster does not accept its credentials: others should be found. */
  onRefused?: ((registration: ObjectKey) => void) | undefined;
}>;

/** Watches clusters for what is born there. */
export interface BirthWatches extends UpsyncSource {
  readonly size: number;
  /** How many watches there are, and how many of them have not been open for too long. */
  readonly watches: Readonly<{ all: number; down: number }>;
  stop(): Promise<void>;
}

/** What a lane was begun for: with other rules it is another one. */
type Lane = Readonly<{ lane: CopyLane; rules: string }>;
type Site = Readonly<{ gate: ClusterGate; lanes: Map<TypeId, Lane> }>;

/**
 * Creates watches that watch nothing yet.
 *
 * Of each object that is born and opted in no more is kept than its place, uid, version, a print of what it says, and its
 * status; of any other nothing.
 */
export function createBirthWatches(options: BirthWatchesOptions): BirthWatches {
  const { clientFor, clock, random, relistSeconds, onRefused, rate = defaultCallRate } = options;
  const onSite = createSites({ clientFor, clock, rate, onRefused });
  const sites = new Map<string, Site>();
  const ending = new Set<Promise<void>>();

  const end = ({ lane }: Lane): void => {
    const ended = lane.stop().finally(() => ending.delete(ended));
    ending.add(ended);
  };
  const start = (registration: ObjectKey, optIn: OptIn, gate: ClusterGate): CopyLane => {
    const { type, apiVersion, kind } = optIn.type;
    const { logicalCluster } = registration;
    return startCopyLane({
      type,
      apiVersion,
      kind,
      metadataOnly: false,
      labelSelector: birthSelector,
      trace: (object) => traceOfBorn(object, optIn),
      open: (signal) => clientFor(registration, signal),
      gate,
      cache: createCopyCache(({ metadata, print }) => {
        const { namespace = "", name = "" } = metadata;
        return typeof print === "string" ? workloadKey(logicalCluster, { type, namespace, name }).name : undefined;
      }, printIn),
      clock,
      random,
      relistSeconds,
      onChanged: (names) => {
        for (const name of names) options.onChanged({ logicalCluster, kind: "Workload", name });
      },
      onTrouble: (trouble) => options.onTrouble({ registration, type, ...trouble }),
      onRefused: () => onRefused?.(registration),
    });
  };
  const laneAt = ({ registration, object }: CopyAddress): CopyLane | undefined =>
    sites.get(formatKey(registration))?.lanes.get(typeId(object.type))?.lane;
  const lanes = (): readonly Lane[] => [...sites.values()].flatMap((site) => [...site.lanes.values()]);
  const readObject = createBirthReader(onSite);

  return {
    isWatching: true,
    subscribe: (registration, optIns) => {
      const id = formatKey(registration);
      const site = sites.get(id) ?? { gate: createClusterGate({ clock, random }), lanes: new Map<TypeId, Lane>() };
      sites.set(id, site);
      const wanted = new Map(optIns.map((each) => [typeId(each.type.type), each]));
      for (const [type, lane] of site.lanes) {
        const optIn = wanted.get(type);
        if (optIn !== undefined && rulesOf(optIn) === lane.rules) continue;
        end(lane);
        site.lanes.delete(type);
      }
      for (const [type, optIn] of wanted) {
        if (site.lanes.has(type)) continue;
        site.lanes.set(type, { lane: start(registration, optIn, site.gate), rules: rulesOf(optIn) });
      }
    },
    unsubscribe: (registration) => {
      const id = formatKey(registration);
      for (const lane of sites.get(id)?.lanes.values() ?? []) end(lane);
      sites.delete(id);
    },
    cached: (address) => {
      const lane = laneAt(address);
      const peek = lane?.isFresh === true ? lane.cache.peek(address.object) : undefined;
      if (peek === undefined || peek.kind === "absent") return peek;
      return { kind: "born", copy: peek.copy, print: peek.print ?? "" };
    },
    readUncached: async (address, optIn, signal) => {
      const take = laneAt(address)?.cache.ask(address.object);
      const object = await readObject(address, signal);
      const { apiVersion, kind } = optIn.type;
      take?.(object && traceOfBorn({ ...object, apiVersion, kind }, optIn));
      return birthIn(object, optIn);
    },
    readObject,
    listUids: async (registration) => {
      const site = sites.get(formatKey(registration));
      const all = [...(site?.lanes.values() ?? [])];
      if (site === undefined || all.some(({ lane }) => !lane.isFresh)) return undefined;
      return new Map(all.flatMap(({ lane }) => [...lane.cache.uids()]));
    },
    invalidate: () => {},
    get size() {
      return lanes().reduce((sum, { lane }) => sum + lane.cache.size, 0);
    },
    get watches() {
      const all = lanes();
      return { all: all.length, down: all.filter(({ lane }) => !lane.isFresh).length };
    },
    stop: async () => {
      for (const lane of lanes()) end(lane);
      sites.clear();
      await Promise.all(ending);
    },
  };
}

const rulesOf = ({ rules }: OptIn): string => JSON.stringify(rules);
