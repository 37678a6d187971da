import { compareResourceVersions } from "@tmc/kube/informer/resource-version.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { type ResourcePath, resourcePathOf } from "./resource-path.ts";

/** How a process has heard of an object. */
export type Source =
  | "read"
  | "write"
  | "list"
  | "event"
  /** Not delivered: what the server had of it when it was restored from a backup. */
  | "restore";

/** An object as it was delivered to a process; without one where the server said that there is none. */
export type Delivered = Readonly<{ seq: number; atMs: number; source: Source; object: KubeObject | undefined }>;

/** What a view calls kcp. */
export const kcpServer = "kcp";

/** Where an object is: `server` is `kcpServer`, or the key of the registration by which a cluster is reached. */
export type ViewAddress = Readonly<{ server: string; logicalCluster: string; plural: string }> &
  Readonly<{ namespace: string; name: string }>;
export type ViewCollection = Pick<ViewAddress, "server" | "logicalCluster" | "plural">;

/** One run of the work on a key, as part of the history of a process. */
export type ViewRun = Readonly<{
  startSeq: number;
  startMs: number;
  /** What was delivered after this in the moment in which the run began may not have been read yet. */
  knownSeq: number;
}>;

/**
 * Everything that the wire has delivered to one process: from answers, pages of lists and watch events. A law can ask what the
 * process could know at any time of a run. An object that a list lacks stays: not seen is not gone.
 */
export interface ProcessView {
  begin(): ViewRun;
  end(run: ViewRun): void;
  /** A complete answer has been delivered. */
  answered(server: string, request: TransportRequest, answer: Readonly<{ status: number; text: string }>): void;
  /** A watch is open; the lines that it delivers, and its end. */
  watching(server: string, request: TransportRequest): Readonly<{ line(text: string): void; end(): void }>;
  /** What a run may go by: what was known of an object when it began, and everything that was delivered since. */
  versions(run: ViewRun, address: ViewAddress): readonly Delivered[];
  /** What was delivered of an object since a run began, from one source. */
  since(run: ViewRun, address: ViewAddress, source: Source): readonly Delivered[];
  /** Everything that was ever delivered of a kind and may still be known, with what a run may go by. */
  all(run: ViewRun, collection: ViewCollection): readonly (readonly Delivered[])[];
  /** What the cache of the process has of a kind: the newest of what was delivered, without what is gone or missing from a later list. */
  latest(collection: ViewCollection): readonly KubeObject[];
  /** The names in the last list of a whole namespace since a run began; undefined when there was none. */
  listed(run: ViewRun, collection: ViewCollection, namespace: string): readonly string[] | undefined;
  /**
   * A server was restored from a backup: `stored` returns what it has of an object now. From now on the process may go by that
   * too, because nobody reports what the restore removed; and by what it knew before, until it is told otherwise.
   */
  wentBack(server: string, stored: (address: ViewAddress) => KubeObject | undefined): void;
  /** Whether a complete list of a type, of all namespaces, has been delivered since a run began and lacks an object. */
  isUnlisted(run: ViewRun, address: ViewAddress): boolean;
  /** When the process last heard of an object, or had an open watch that would have told of a change. */
  heardMs(address: ViewAddress): number;
}

type Watched = { open: number; closedMs: number };
type Listed = Readonly<{ seq: number; names: readonly string[] }>;

/** Types that some law asks for, in kcp and on clusters. */
const plurals: ReadonlySet<string> = new Set([
  "clusterregistrations",
  "workloadplacements",
  "workloadsyncs",
  "deployments",
  "services",
  "configmaps",
  "secrets",
  "pods",
]);

/** A run that was given up may still have a request on its way; none takes longer than this. */
const keepMs = 120_000;

/** Types without a status, of which clusters are asked for the metadata only. */
const isContent = ({ plural }: ResourcePath): boolean => plural === "configmaps" || plural === "secrets";

const clusterAnnotation = "kcp.io/cluster";

/** Creates the view of a process that has heard of nothing yet. */
export function createProcessView(nowMs: () => number): ProcessView {
  const collections = new Map<string, Map<string, Delivered[]>>();
  const watches = new Map<string, Watched>();
  const lists = new Map<string, Listed>();
  const wholeLists = new Map<string, Listed>();
  const runs = new Set<ViewRun>();
  let seq = 0;
  let moment = { atMs: Number.NEGATIVE_INFINITY, seqBefore: 0 };

  const collectionId = ({ server, logicalCluster, plural }: ViewCollection): string =>
    `${server} ${logicalCluster} ${plural}`;
  const historyOf = (address: ViewAddress): Delivered[] | undefined =>
    collections.get(collectionId(address))?.get(`${address.namespace}/${address.name}`);

  const note = (address: ViewAddress, source: Source, object: KubeObject | undefined): void => {
    if (moment.atMs !== nowMs()) moment = { atMs: nowMs(), seqBefore: seq };
    seq += 1;
    const id = collectionId(address);
    const objects = collections.get(id) ?? new Map<string, Delivered[]>();
    collections.set(id, objects);
    const name = `${address.namespace}/${address.name}`;
    const history = objects.get(name) ?? [];
    objects.set(name, history);
    if (moment.atMs !== nowMs()) moment = { atMs: nowMs(), seqBefore: seq - 1 };
    history.push({ seq, atMs: nowMs(), source, object });
    prune(history);
  };
  /** Forgets what no run can go by any more. */
  const prune = (history: Delivered[]): void => {
    const [oldest = { knownSeq: Number.POSITIVE_INFINITY }] = runs;
    for (let [first, second] = history; first !== undefined && second !== undefined; [first, second] = history) {
      const isRecent = second.seq > oldest.knownSeq || second.atMs > nowMs() - keepMs;
      const isNeeded = isRecent || second.source === "restore" || isLater(first, second);
      if (isNeeded) return;
      history.shift();
    }
  };
  const addressOf = (server: string, path: ResourcePath, { metadata }: KubeObject): ViewAddress => ({
    server,
    logicalCluster:
      path.logicalCluster === "*" ? (metadata.annotations?.[clusterAnnotation] ?? "") : path.logicalCluster,
    plural: path.plural,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
  });
  const noteAnswer = (server: string, path: ResourcePath, request: TransportRequest, body: unknown): void => {
    // Metadata alone says nothing of the spec and status that are known of a workload.
    const isPart = request.headers.accept?.includes("as=PartialObjectMetadata") === true && !isContent(path);
    if (isObject(body)) {
      if (!isPart) note(addressOf(server, path, body), request.method === "GET" ? "read" : "write", body);
      return;
    }
    if (!isRecord(body) || !Array.isArray(body.items)) return;
    const items = body.items.filter(isObject);
    if (!isPart) for (const item of items) note(addressOf(server, path, item), "list", item);
    const isComplete = !/(labelSelector|fieldSelector|continue)=/.test(path.query) && isLastPage(body);
    if (path.namespace === "" && isComplete) {
      seq += 1;
      const all = items.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`);
      wholeLists.set(collectionId({ ...path, server }), { seq, names: all });
    }
    const isWholeNamespace = path.namespace !== "" && !path.query.includes("labelSelector=");
    if (!isWholeNamespace) return;
    seq += 1;
    const names = items.map(({ metadata }) => metadata.name ?? "");
    lists.set(`${collectionId({ ...path, server })} ${path.namespace}`, { seq, names });
  };
  const watchedAt = (server: string, path: ResourcePath): Watched => {
    const id = collectionId({ ...path, server });
    const known = watches.get(id) ?? { open: 0, closedMs: Number.NEGATIVE_INFINITY };
    watches.set(id, known);
    return known;
  };
  const versionsOf = (run: ViewRun, history: readonly Delivered[]): readonly Delivered[] => {
    const before = history.filter((each) => each.seq <= run.knownSeq);
    const last = before.at(-1);
    // A cache keeps the newest, also where an older one was delivered after it.
    const newest = last?.object === undefined ? undefined : before.findLast((each) => isLater(each, last));
    const told = last?.source === "restore" ? before.findLast(({ source }) => source !== "restore") : undefined;
    const known = [newest, told, last].filter((each) => each !== undefined);
    return [...known, ...history.filter((each) => each.seq > run.knownSeq)];
  };

  return {
    begin: () => {
      const startMs = nowMs();
      const run = { startSeq: seq, startMs, knownSeq: moment.atMs === startMs ? moment.seqBefore : seq };
      runs.add(run);
      return run;
    },
    end: (run) => {
      runs.delete(run);
    },
    answered: (server, request, { status, text: body }) => {
      const { method } = request;
      const path = resourcePathOf(request.path);
      if (path === undefined || !plurals.has(path.plural)) return;
      if (status === 404 && method === "GET" && path.name !== "" && saysThatNamedIsGone(body, path.name)) {
        note({ ...path, server }, "read", undefined);
      } else if (status >= 200 && status < 300 && method !== "DELETE") {
        noteAnswer(server, path, request, parsed(body));
      }
    },
    watching: (server, { path: text }) => {
      const path = resourcePathOf(text);
      if (path === undefined || !plurals.has(path.plural)) return { line: () => {}, end: () => {} };
      const watched = watchedAt(server, path);
      watched.open += 1;
      return {
        line: (line) => {
          const event = parsed(line);
          if (!isRecord(event) || !isObject(event.object)) return;
          const { type, object } = event;
          const isKnown = type === "ADDED" || type === "MODIFIED" || type === "DELETED";
          if (isKnown) note(addressOf(server, path, object), "event", type === "DELETED" ? undefined : object);
        },
        end: () => {
          watched.open -= 1;
          watched.closedMs = nowMs();
        },
      };
    },
    versions: (run, address) => versionsOf(run, historyOf(address) ?? []),
    since: (run, address, source) =>
      (historyOf(address) ?? []).filter((each) => each.seq > run.startSeq && each.source === source),
    all: (run, collection) =>
      [...(collections.get(collectionId(collection))?.values() ?? [])].map((history) => versionsOf(run, history)),
    latest: (collection) => {
      const id = collectionId(collection);
      const list = wholeLists.get(id);
      return [...(collections.get(id) ?? [])].flatMap(([name, history]) => {
        const told = history.filter(({ source }) => source !== "restore");
        const last = told.at(-1);
        if (last?.object === undefined) return [];
        if (list !== undefined && list.seq > last.seq && !list.names.includes(name)) return [];
        return (told.findLast((each) => isLater(each, last)) ?? last).object ?? [];
      });
    },
    listed: (run, collection, namespace) => {
      const list = lists.get(`${collectionId(collection)} ${namespace}`);
      return list !== undefined && list.seq > run.startSeq ? list.names : undefined;
    },
    isUnlisted: (run, address) => {
      const list = wholeLists.get(collectionId(address));
      const last = historyOf(address)?.at(-1);
      if (list === undefined || list.seq <= run.startSeq || (last !== undefined && last.seq > list.seq)) return false;
      return !list.names.includes(`${address.namespace}/${address.name}`);
    },
    wentBack: (server, stored) => {
      for (const [id, objects] of collections) {
        const [of = "", logicalCluster = "", plural = ""] = id.split(" ");
        if (of !== server) continue;
        for (const each of objects.keys()) {
          const [namespace = "", name = ""] = each.split("/");
          const address = { server, logicalCluster, plural, namespace, name };
          note(address, "restore", stored(address));
        }
      }
    },
    heardMs: (address) => {
      const watched = watches.get(collectionId(address));
      if (watched !== undefined && watched.open > 0) return nowMs();
      const last = historyOf(address)?.findLast(({ source }) => source !== "restore");
      return Math.max(watched?.closedMs ?? Number.NEGATIVE_INFINITY, last?.atMs ?? Number.NEGATIVE_INFINITY);
    },
  };
}

/** The registrations of a tenant that a process knows. kcp has validated them against the schema. */
export function registrationsKnownTo(view: ProcessView, tenant: string): readonly ClusterRegistration[] {
  const known = view.latest({ server: kcpServer, logicalCluster: tenant, plural: "clusterregistrations" });
  return known as readonly KubeObject[] as readonly ClusterRegistration[];
}

/** What a text says as JSON; undefined for anything else, such as the answer of a broken server. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is KubeObject =>
  isRecord(value) && value.kind !== "Status" && isRecord(value.metadata) && typeof value.metadata.name === "string";

function isLastPage({ metadata }: Readonly<Record<string, unknown>>): boolean {
  return !isRecord(metadata) || metadata.continue === undefined || metadata.continue === "";
}

function saysThatNamedIsGone(text: string, name: string): boolean {
  const body = parsed(text);
  return isRecord(body) && isRecord(body.details) && body.details.name === name;
}

/** Whether one version of an object is later than another by the server's count. */
function isLater(one: Delivered, other: Delivered): boolean {
  return compareResourceVersions(one.object?.metadata.resourceVersion, other.object?.metadata.resourceVersion) > 0;
}
