import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listByPages } from "@tmc/kube/paged-list.ts";
import { typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey, workloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import { createBatchLists } from "../upstream/batch-lists.ts";
import type { UpsyncState } from "../upsync/decide.ts";
import type { OptIn } from "../upsync/opt-in.ts";
import type { UpsyncSource } from "../upsync/world.ts";
import type { ClientFor } from "./cluster-clients.ts";
import type { CallRate } from "./rate-limit.ts";
import { createSites } from "./session.ts";
import { birthIn, birthSelector, createBirthReader, printIn, traceOfBorn } from "./upsync-projection.ts";

export type BirthLooksOptions = Readonly<{
  clientFor: ClientFor;
  clock: Clock;
  /** How many calls each cluster gets for what is born there. */
  rate: CallRate;
  /** How long one call may take. */
  callSeconds: number;
  /** A cluster does not accept its credentials: others should be found. */
  onRefused?: ((registration: ObjectKey) => void) | undefined;
}>;

/** Asks clusters for what is born there. */
export interface BirthLooks extends UpsyncSource {
  /** Forgets what was answered: what is decided from now on is decided on what is asked from now on. */
  beginBatch(): void;
}

/**
 * Creates the way to what is born on clusters for processes that watch none: functions, and workers that others tell.
 *
 * A list of everything is asked for once by all that work on the same batch, and is all of it or nothing. What a cluster has said
 * of one object is known until the next batch: who syncs it right after that need not ask again.
 */
export function createBirthLooks({ clientFor, clock, rate, callSeconds, onRefused }: BirthLooksOptions): BirthLooks {
  const onSite = createSites({ clientFor, clock, rate, callSeconds, onRefused });
  const readObject = createBirthReader(onSite);
  const lists = createBatchLists();
  const answers = new Map<string, Extract<UpsyncState, { kind: "born" | "absent" }>>();

  const listId = (registration: ObjectKey, { type: { type }, rules }: OptIn): string =>
    JSON.stringify([formatKey(registration), typeId(type), rules]);
  /** Those that were asked for in this batch. */
  const listed = new Map<string, Set<string>>();
  const listBorn = async (registration: ObjectKey, optIn: OptIn, signal: AbortSignal) => {
    const { type, apiVersion, kind } = optIn.type;
    const id = listId(registration, optIn);
    listed.set(formatKey(registration), (listed.get(formatKey(registration)) ?? new Set()).add(id));
    const trace = (object: KubeObject): KubeObject => traceOfBorn({ ...object, apiVersion, kind }, optIn);
    const readList = () =>
      onSite(registration, neverAborted, async ({ client }) => {
        const { items } = await listByPages(client, { slim: trace }, { type }, { labelSelector: birthSelector });
        return items.filter((item) => printIn(item) !== undefined);
      });
    const born = await lists.list(id, readList, signal);
    return born.map(({ metadata: { namespace = "", name = "", uid = "" } }): [string, string] => [
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
      const birth = birthIn(await readObject(address, signal), optIn);
      if (birth.kind === "other") answers.delete(idOf(address));
      else answers.set(idOf(address), birth);
      return birth;
    },
    readObject,
    listUids: async (registration, optIns, signal) => {
      const all: [string, string][] = [];
      // One after the other: a type may have thousands, and nobody is waiting for them.
      for (const optIn of optIns) all.push(...(await listBorn(registration, optIn, signal)));
      return new Map(all);
    },
    invalidate: (registration) => {
      for (const id of listed.get(formatKey(registration)) ?? []) lists.renew(id);
    },
    beginBatch: () => {
      lists.begin();
      listed.clear();
      answers.clear();
    },
  };
}

const idOf = ({ registration, object }: CopyAddress): string =>
  JSON.stringify([formatKey(registration), typeId(object.type), object]);
