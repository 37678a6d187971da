import { hash } from "node:crypto";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { forEachConcurrently } from "../model/concurrency.ts";
import { type ReconciledKind, reconciledKinds, type WorkKey, workloadKey } from "../model/key.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import { selectedTypes } from "../sync/selection.ts";
import { reconciledTypes, recordResource, workloadAddressOf } from "../upstream/watched-resources.ts";
import { optInsOf } from "../upsync/opt-in.ts";
import type { ResyncPlace } from "./messages.ts";
import type { ListFailure, ListForm, WorkspaceLister, WorkspacePage } from "./workspaces.ts";

export type ResyncWalkOptions = Readonly<{
  lister: Pick<WorkspaceLister, "sources" | "page">;
  /** The workload types to resync; empty without sync. */
  types: readonly WorkloadType[];
  /** Called with the keys of each page. A failure ends the walk. */
  send: (keys: readonly WorkKey[]) => Promise<void>;
  /** Where to continue; undefined for everything. */
  from?: Readonly<{ places: readonly ResyncPlace[]; after: string }> | undefined;
  /** Varies the hashes of keys between invocations. */
  salt: number;
  /** Ends the walk after the page in progress. */
  signal: AbortSignal;
}>;

export type ResyncWalk = Readonly<{
  keys: number;
  /** Lists that failed. */
  failures: readonly ListFailure[];
  /** Lists that were read completely. */
  readCount: number;
  /** Where to continue; undefined if the walk has reached the end. */
  rest: Readonly<{ places: readonly ResyncPlace[]; after: string; sources: number }> | undefined;
}>;

/** Sources that are listed concurrently; bounds the load on the upstream and the memory for pages. */
const maxConcurrentSources = 4;
/** A list whose snapshot expires more often in one invocation counts as failed. */
const maxRestarts = 2;

/** Faults that the other lists of a source would have too. */
const faultsOfSource: ReadonlySet<unknown> = new Set(["unreachable", "throttled", "unauthorized"]);

/**
 * Sends every key, page by page: all registrations and placements, and of these types the workloads that have a sync record,
 * that were upsynced, or whose type a placement of their workspace may select. Evaluating selectors here would cost more than an
 * unnecessary reconcile.
 */
export async function walkResync(options: ResyncWalkOptions): Promise<ResyncWalk> {
  const { lister, from, signal } = options;
  const sources = [...(await lister.sources(signal))].toSorted();
  const begin = (source: string): ResyncPlace => ({ source, list: "" });
  const pending =
    from === undefined
      ? sources.map(begin)
      : [
          ...from.places.filter(({ source }) => sources.includes(source)),
          ...sources.filter((source) => source > from.after).map(begin),
        ];
  const progress = { keys: 0, readCount: 0, failures: [] as ListFailure[] };
  const places: ResyncPlace[] = [];
  let after = from?.after ?? "";
  let begun = 0;
  await forEachConcurrently(pending, maxConcurrentSources, async (place) => {
    if (signal.aborted) return;
    begun += 1;
    if (place.source > after) after = place.source;
    const left = await walkSource(options, place, progress);
    if (left !== undefined) places.push(left);
  });
  const untouched = pending.slice(begun).filter(({ list }) => list !== "");
  const unfinished = [...places, ...untouched];
  const left = unfinished.length + pending.slice(begun).filter(({ list }) => list === "").length;
  return { ...progress, rest: left === 0 ? undefined : { places: unfinished, after, sources: left } };
}

type Progress = { keys: number; readCount: number; failures: ListFailure[] };
type ListRequest = Readonly<{ type: ResourceType; form: ListForm; isOptional: boolean }>;
/** Reads a list and passes each page on; returns where to continue if it was cut off. */
type ReadList = (
  list: string,
  request: ListRequest,
  handle: (page: WorkspacePage) => Promise<void>,
) => Promise<ResyncPlace | undefined>;

/** Walks one source from a place on; returns where to continue, or undefined at the end. */
async function walkSource(
  options: ResyncWalkOptions,
  place: ResyncPlace,
  progress: Progress,
): Promise<ResyncPlace | undefined> {
  const { types, send } = options;
  const isSynced = types.length > 0;
  const readList = createListReader(options, place, progress);
  const collected = createCollectedTypes(types);
  const sent = createKeySet(options.salt);

  const sendKeys = async (keys: readonly WorkKey[]): Promise<void> => {
    const fresh = keys.filter((key) => sent.add(key));
    if (fresh.length > 0) await send(fresh);
    progress.keys += fresh.length;
  };
  const readKind = async (kind: ReconciledKind): Promise<ResyncPlace | undefined> => {
    const wasSent = listIdOf(kind) < place.list;
    if (wasSent && !isSynced) return undefined;
    // Selectors and upsync opt-ins are in the specs; without sync, names are enough.
    const request = { type: reconciledTypes[kind], form: isSynced ? "whole" : "metadata", isOptional: false } as const;
    const left = await readList(listIdOf(kind), request, async ({ found }) => {
      if (isSynced) for (const { logicalCluster, objects } of found) collected.add(kind, logicalCluster, objects);
      if (wasSent) return;
      await sendKeys(
        found.flatMap(({ logicalCluster, objects }) =>
          objects.map(({ metadata }) => ({ logicalCluster, kind, name: metadata.name ?? "" })),
        ),
      );
    });
    if (left === undefined || !isSynced) return left;
    // The next invocation has to collect the types from the first page on.
    return wasSent ? place : { ...left, token: undefined };
  };
  const readType = (workloadType: WorkloadType): Promise<ResyncPlace | undefined> => {
    const { type, apiVersion, kind } = workloadType;
    return readList(listIdOf(workloadType), { type, form: "metadata", isOptional: true }, ({ found }) =>
      sendKeys(
        found.flatMap(({ logicalCluster, objects }) => {
          const interest = collected.interestIn(workloadType, logicalCluster);
          if (interest === "none") return [];
          return objects
            .filter(
              ({ metadata }) =>
                interest === "all" || upsyncOriginOf({ apiVersion, kind, metadata }, logicalCluster) !== undefined,
            )
            .map(({ metadata: { namespace = "", name = "" } }) =>
              workloadKey(logicalCluster, { type, namespace, name }),
            );
        }),
      ),
    );
  };
  const readRecords = (): Promise<ResyncPlace | undefined> =>
    readList(listIdOf("records"), { type: recordResource.type, form: "whole", isOptional: true }, ({ found }) =>
      sendKeys(
        found.flatMap(({ logicalCluster, objects }) =>
          // The server validates them against the schema of the kind.
          (objects as readonly WorkloadSync[])
            .flatMap((record) => workloadAddressOf(record, types) ?? [])
            .map((address) => workloadKey(logicalCluster, address)),
        ),
      ),
    );

  try {
    for (const kind of reconciledKinds) {
      const left = await readKind(kind);
      if (left !== undefined) return left;
    }
    if (!isSynced) return undefined;
    for (const workloadType of collected.types()) {
      if (listIdOf(workloadType) < place.list) continue;
      const left = await readType(workloadType);
      if (left !== undefined) return left;
    }
    return await readRecords();
  } catch (error) {
    if (error instanceof SourceFailed) return undefined;
    throw error;
  }
}

/** Creates the reader for the lists of one source. The server prepares the next page while the keys of one are sent. */
function createListReader({ lister, signal }: ResyncWalkOptions, place: ResyncPlace, progress: Progress): ReadList {
  const { source } = place;
  return async (list, request, handle) => {
    const read = (token: string | undefined) =>
      lister.page(source, { ...request, token }, signal).then(
        (page) => ({ page, token }),
        (error: unknown) => ({ error, token }),
      );
    let restarts = 0;
    let next = read(list === place.list ? place.token : undefined);
    for (;;) {
      const result = await next;
      const { token } = result;
      if (signal.aborted) return { source, list, token };
      if ("page" in result) {
        const following = result.page.token;
        if (following === undefined) {
          await handle(result.page);
          progress.readCount += 1;
          return undefined;
        }
        next = read(following);
        await handle(result.page);
      } else if (faultOf(result.error) === "expired" && token !== undefined && restarts < maxRestarts) {
        restarts += 1;
        next = read(undefined);
      } else {
        progress.failures.push({ workspace: source, error: result.error });
        if (faultsOfSource.has(faultOf(result.error))) throw new SourceFailed();
        return undefined;
      }
    }
  };
}

/** Creates the set of types that placements select, or registrations opt in to upsync, by logical cluster. */
function createCollectedTypes(types: readonly WorkloadType[]) {
  const selected = new Map<string, Set<WorkloadType>>();
  const optedIn = new Map<string, Set<WorkloadType>>();
  return {
    add: (kind: ReconciledKind, logicalCluster: string, objects: readonly KubeObject[]): void => {
      // The server validates the objects against the schema of the kind.
      const found =
        kind === "WorkloadPlacement"
          ? selectedTypes(objects as readonly WorkloadPlacement[], types)
          : (objects as readonly ClusterRegistration[]).flatMap((registration) =>
              optInsOf(registration, types).optIns.map(({ type }) => type),
            );
      const byCluster = kind === "WorkloadPlacement" ? selected : optedIn;
      const known = byCluster.get(logicalCluster) ?? new Set<WorkloadType>();
      for (const type of found) known.add(type);
      byCluster.set(logicalCluster, known);
    },
    /** In the order of their lists. */
    types: (): readonly WorkloadType[] => {
      const all = new Set([...selected.values(), ...optedIn.values()].flatMap((each) => [...each]));
      return [...all].toSorted((one, other) => (listIdOf(one) < listIdOf(other) ? -1 : 1));
    },
    /** Which workloads of a type are resynced there. */
    interestIn: (type: WorkloadType, logicalCluster: string): "all" | "upsynced" | "none" => {
      if (selected.get(logicalCluster)?.has(type) === true) return "all";
      return optedIn.get(logicalCluster)?.has(type) === true ? "upsynced" : "none";
    },
  };
}

/** Ends the walk of a source; the failure has been recorded already. */
class SourceFailed extends Error {}

/** The lists of a source in their order: their ids sort alphabetically. */
export function listIdOf(list: ReconciledKind | WorkloadType | "records"): string {
  if (list === "records") return "3/records";
  if (typeof list !== "string") return `2/${list.apiVersion}/${list.kind}`;
  return `${reconciledKinds.indexOf(list)}/${list}`;
}

/**
 * Creates a set of keys: a workload can be selected and also have a sync record. It keeps 48 bits of a hash instead of the
 * key: 8 MB for 200,000 keys. Two keys with the same bits cost one of them this resync, about once in a thousand resyncs of a
 * million keys; the salt makes it another one each time.
 */
function createKeySet(salt: number): Readonly<{ add: (key: WorkKey) => boolean }> {
  const hashes = new Set<number>();
  return {
    add: ({ logicalCluster, kind, name }) => {
      const { size } = hashes;
      const text = `${salt}|${logicalCluster}|${kind}/${name}`;
      hashes.add(Number.parseInt(hash("sha256", text, "hex").slice(0, 12), 16));
      return hashes.size > size;
    },
  };
}
