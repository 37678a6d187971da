import { createHash } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { WorkKey } from "../model/key.ts";
import { clientOf } from "./logical-cluster.ts";

/** What an Event names of the object that it is about. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind"> &
  Readonly<{ metadata: Pick<KubeObject["metadata"], "namespace" | "name" | "uid"> }>;

/** In which logical cluster the object is, and on which kind of key the work was that tells of it, if it was any. */
export type EventPlace = Readonly<{ logicalCluster: string; kind?: WorkKey["kind"] }>;

/** Tells people about objects of the hub, by Events beside them. */
export interface HubEvents {
  /** Tells something; the same news are one Event however often they come, and cost a request once a minute at most. */
  tell(place: EventPlace, about: EventSubject, event: ObjectEvent): void;
  /** Resolves when all that was told has been written or given up. */
  whenTold(): Promise<void>;
}

/** Which object could not be told about. */
export type Untold = Readonly<{ logicalCluster: string; name: string }>;

export type HubEventsOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  clock: Clock;
  /** Hears of what could not be told; nothing else comes of it. */
  onTrouble?: ((error: unknown, about: Untold) => void) | undefined;
  /** Told of every write before it is made. */
  onWrite?: ((place: EventPlace) => void) | undefined;
}>;

const events: ResourceType = { group: "", version: "v1", plural: "events" };
const quietMs = 60_000;
/** News are remembered so that they are not told again; beyond this many, the server says that they are none. */
const mostRemembered = 4_096;
/** Nobody waits for an Event, so they must not take the connections of those who are waited for. */
const atOnce = 2;
/** What nobody could tell in time nobody needs to hear. */
const mostWaiting = 1_000;
const longestMessage = 1_024;
const longestName = 200;
const fieldManager = "tmc";
/** Where Events about objects without a namespace are kept: servers take them nowhere else. */
const namespaceOfNone = "default";

type News = Readonly<{ place: EventPlace; about: EventSubject; event: ObjectEvent; namespace: string; name: string }>;
type Told = { atMs: number; count: number };

/** Creates what tells. */
export function createHubEvents({
  client,
  clock,
  onTrouble = () => {},
  onWrite = () => {},
}: HubEventsOptions): HubEvents {
  /** In the order in which they were first told. */
  const told = new Map<string, Told>();
  const waiting: News[] = [];
  const idle = new Set<() => void>();
  let underWay = 0;

  const remember = (id: string): Told => {
    const known = told.get(id);
    if (known !== undefined) return known;
    const [oldest] = told.keys();
    if (told.size >= mostRemembered && oldest !== undefined) told.delete(oldest);
    const made: Told = { atMs: Number.NEGATIVE_INFINITY, count: 0 };
    told.set(id, made);
    return made;
  };

  const write = async (news: News): Promise<void> => {
    const { place, namespace } = news;
    const at = clientOf(client, place.logicalCluster);
    const collection = { type: events, namespace };
    const memory = remember(idOf(news));
    const nowText = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const create = async (): Promise<void> => {
      onWrite(place);
      await at.create(collection, eventOf(news, nowText), { fieldManager });
      memory.count = 1;
    };
    const repeat = async (count: number): Promise<void> => {
      onWrite(place);
      const patch = { type: "merge", body: { count, lastTimestamp: nowText } } as const;
      await at.patch({ ...collection, name: news.name }, patch, { fieldManager });
      memory.count = count;
    };
    if (memory.count > 0) {
      try {
        await repeat(memory.count + 1);
        return;
      } catch (error) {
        if (faultOf(error) !== "not-found") throw error; // servers forget events after a while
      }
    }
    try {
      await create();
    } catch (error) {
      if (faultOf(error) !== "exists") throw error;
      const present = await at.get<KubeObject>({ ...collection, name: news.name });
      await repeat((typeof present.count === "number" ? present.count : 1) + 1);
    }
  };

  const work = (): void => {
    while (underWay < atOnce) {
      const news = waiting.shift();
      if (news === undefined) break;
      underWay += 1;
      write(news)
        .catch((error: unknown) =>
          onTrouble(error, { logicalCluster: news.place.logicalCluster, name: news.about.metadata.name ?? "" }),
        )
        .finally(() => {
          underWay -= 1;
          work();
        });
    }
    if (underWay > 0 || waiting.length > 0) return;
    for (const tell of idle) tell();
    idle.clear();
  };

  return {
    tell: (place, about, event) => {
      const namespace = about.metadata.namespace ?? namespaceOfNone;
      const news: News = { place, about, event, namespace, name: nameOf(about, event) };
      const memory = remember(idOf(news));
      if (clock.now() - memory.atMs < quietMs || waiting.length >= mostWaiting) return;
      memory.atMs = clock.now();
      waiting.push(news);
      work();
    },
    whenTold: () =>
      new Promise((resolve) => {
        if (underWay === 0 && waiting.length === 0) resolve();
        else idle.add(resolve);
      }),
  };
}

/** The same news about the same object have the same name, in every process. */
function nameOf({ apiVersion, kind, metadata }: EventSubject, { type, reason, message }: ObjectEvent): string {
  const parts = [apiVersion, kind, metadata.name, metadata.uid ?? "", type, reason, message];
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
  return `${(metadata.name ?? "").slice(0, longestName)}.${hash}`;
}

const idOf = ({ place, namespace, name }: News): string => `${place.logicalCluster}|${namespace}/${name}`;

function eventOf({ about, event, namespace, name }: News, nowText: string): object {
  const { apiVersion, kind, metadata } = about;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: {
      apiVersion,
      kind,
      ...(metadata.namespace !== undefined && { namespace }),
      name: metadata.name,
      uid: metadata.uid,
    },
    type: event.type,
    reason: event.reason,
    message: event.message.slice(0, longestMessage),
    source: { component: "tmc" },
    reportingComponent: "tmc.kcp.io/controller",
    reportingInstance: "tmc",
    firstTimestamp: nowText,
    lastTimestamp: nowText,
    count: 1,
  };
}
