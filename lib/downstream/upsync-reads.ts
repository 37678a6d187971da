import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import { listByPages } from "@tmc/kube/informer/paged-list.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey, workloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import { createBatchLists } from "../upstream/batch-lists.ts";
import type { UpsyncState } from "../upsync/decide.ts";
import type { OptIn } from "../upsync/opt-in.ts";
import type { UpsyncSource } from "../upsync/world.ts";
import type { ClientFor } from "./cluster-clients.ts";
import type { RateLimit } from "./rate-limit.ts";
import { createSessions } from "./session.ts";
import { createUpsyncReader, hashIn, projectUpsynced, upsyncSelector, upsyncStateOf } from "./upsync-projection.ts";

export type UpsyncReadsOptions = Readonly<{
  clientFor: ClientFor;
  clock: Clock;
  /** The rate limit of each cluster for upsync. */
  rate: RateLimit;
  /** Timeout of one request. */
  callSeconds: number;
  /** A cluster rejected its credentials: others should be found. */
  onUnauthorized?: ((registration: ObjectKey) => void) | undefined;
  /** The deletions that watches of this process have observed. @default there are no watches */
  observedDeletions?: UpsyncSource["observedDeletions"] | undefined;
}>;

/** Reads objects to upsync from clusters, without watches. */
export interface UpsyncReads extends UpsyncSource {
  /** Drops all answers: decisions after this call use lists and reads that start after it. */
  beginBatch(): void;
}

/**
 * Creates the upsync source of processes without watches: Lambda functions, and workers whose keys come from another process.
 *
 * Each list is read once per batch, completely or not at all. The answer for a single object is cached until the next batch, so
 * a sync right after an upsync sends no second request.
 */
export function createUpsyncReads({
  clientFor,
  clock,
  rate,
  callSeconds,
  onUnauthorized,
  observedDeletions = () => noDeletions,
}: UpsyncReadsOptions): UpsyncReads {
  const withSession = createSessions({ clientFor, clock, rate, callSeconds, onUnauthorized });
  const readObject = createUpsyncReader(withSession);
  const lists = createBatchLists();
  const answers = new Map<string, Extract<UpsyncState, { kind: "present" | "absent" }>>();

  const listId = (registration: ObjectKey, { type: { type }, rules }: OptIn): string =>
    JSON.stringify([formatKey(registration), typeId(type), rules]);
  /** The ids of the lists of this batch, by registration. */
  const listIds = new Map<string, Set<string>>();
  const listUpsynced = async (registration: ObjectKey, optIn: OptIn, signal: AbortSignal) => {
    const { type, apiVersion, kind } = optIn.type;
    const id = listId(registration, optIn);
    listIds.set(formatKey(registration), (listIds.get(formatKey(registration)) ?? new Set()).add(id));
    const transform = (object: KubeObject): KubeObject => projectUpsynced({ ...object, apiVersion, kind }, optIn);
    const readList = () =>
      withSession(registration, neverAborted, async ({ client }) => {
        const { items } = await listByPages(client, { transform }, { type }, { labelSelector: upsyncSelector });
        return items.filter((item) => hashIn(item) !== undefined);
      });
    const upsynced = await lists.list(id, readList, signal);
    return upsynced.map(({ metadata: { namespace = "", name = "", uid = "" } }): [string, string] => [
      workloadKey(registration.logicalCluster, { type, namespace, name }).name,
      uid,
    ]);
  };

  return {
    isWatching: false,
    subscribe: () => {},
    unsubscribe: () => {},
    cached: (address) => answers.get(idOf(address)),
    readUncached: async (address, optIn, signal) => {
      const state = upsyncStateOf(await readObject(address, signal), optIn);
      if (state.kind === "other") answers.delete(idOf(address));
      else answers.set(idOf(address), state);
      return state;
    },
    readObject,
    listUids: async (registration, optIns, signal) => {
      const all: [string, string][] = [];
      // One type after the other: a type may have thousands of objects, and the caller is in no hurry.
      for (const optIn of optIns) all.push(...(await listUpsynced(registration, optIn, signal)));
      return new Map(all);
    },
    observedDeletions,
    invalidate: (registration) => {
      for (const id of listIds.get(formatKey(registration)) ?? []) lists.invalidate(id);
    },
    beginBatch: () => {
      lists.clear();
      listIds.clear();
      answers.clear();
    },
  };
}

const noDeletions: ReadonlyMap<string, string> = new Map();

const idOf = ({ registration, object }: CopyAddress): string =>
  JSON.stringify([formatKey(registration), typeId(object.type), object]);
