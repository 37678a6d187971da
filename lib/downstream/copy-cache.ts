import type { JsonObject, KubeObject } from "@tmc/kube/kube-object.ts";
import { compareResourceVersions } from "@tmc/kube/resource-version.ts";
import { copyOf } from "../sync/downstream.ts";
import type { Copy } from "../sync/sync-objects.ts";

/** A copy's place on its cluster. */
export type CopyPlace = Readonly<{ namespace: string; name: string }>;

/** What is known of a place: a copy of ours, or none. */
export type Peek = Readonly<{ kind: "there"; copy: Copy; print?: string | undefined }> | Readonly<{ kind: "absent" }>;

/**
 * The copies of one type on one cluster, as its watch tells of them: what a reconcile needs, no spec, no managed fields.
 *
 * Versions are compared, which they may be within one type of one cluster: nothing older takes the place of something newer.
 * Each `take…` of what the watch says answers the workloads whose copies are not what they were, by the names of their keys;
 * what a request has answered is news to nobody.
 */
export interface CopyCache {
  readonly size: number;
  readonly isListed: boolean;
  /** Undefined while it is not listed, or the copy is in doubt. */
  peek(place: CopyPlace): Peek | undefined;
  /** The uids of all, those in doubt among them, by the names of the keys of their workloads. */
  uids(): Iterable<readonly [string, string]>;

  /** Takes in a whole list. What was known and is not in it is in doubt from then on: not seen is not gone. */
  takeList(objects: readonly KubeObject[], version: string): readonly string[];
  takeSeen(object: KubeObject): readonly string[];
  takeDeleted(object: KubeObject): readonly string[];
  /** Everything up to this version has been told. */
  passed(version: string): void;

  /**
   * Says, before a request, that the cluster is asked about a copy. The answer takes in what it said: the object, which does
   * not come back when the watch has told of its end since, or that there is none, unless a newer one is known by then.
   */
  ask(place: CopyPlace): (object: KubeObject | undefined) => void;
  /** Has the next look at a copy ask the cluster: nobody knows what has become of it. */
  doubt(place: CopyPlace): void;
}

/** Says whose copy an object is: the name of the workload's key, or undefined for what is not ours. */
export type WorkloadOf = (object: KubeObject) => string | undefined;

/** Says of an object in a short text all that a reconcile looks at besides its status; undefined where the generation tells. */
export type PrintOf = (object: KubeObject) => string | undefined;

type Entry = Readonly<{
  workload: string;
  print: string | undefined;
  uid: string;
  resourceVersion: string;
  generation: number | undefined;
  isDeleting: boolean;
  /** As text: it takes a quarter of the room, and says whether anything has changed. */
  status: string | undefined;
}>;

/** Creates an empty cache. */
export function createCopyCache(workloadOf: WorkloadOf, printOf: PrintOf = () => undefined): CopyCache {
  const entries = new Map<string, Entry>();
  const doubted = new Set<string>();
  let isListed = false;
  /** How far the watch has told. */
  let position = "";

  const pass = (version: string | undefined): void => {
    if (version !== undefined && (position === "" || compareResourceVersions(version, position) > 0))
      position = version;
  };
  const put = (id: string, entry: Entry): void => {
    entries.set(id, entry);
    doubted.delete(id);
  };
  const drop = (id: string): void => {
    entries.delete(id);
    doubted.delete(id);
  };
  const entryOf = (object: KubeObject): Entry | undefined => {
    const workload = workloadOf(object);
    if (workload === undefined) return undefined;
    const { status, ...copy } = copyOf(object);
    return {
      workload,
      print: printOf(object),
      ...copy,
      status: status === undefined ? undefined : JSON.stringify(status),
    };
  };
  const takeAnswer = (id: string, object: KubeObject): void => {
    const [before, entry] = [entries.get(id), entryOf(object)];
    const { resourceVersion } = object.metadata;
    if (before === undefined) {
      const isNews = !isListed || compareResourceVersions(resourceVersion, position) > 0;
      if (entry !== undefined && isNews) put(id, entry);
    } else if (compareResourceVersions(resourceVersion, before.resourceVersion) >= 0) {
      if (entry === undefined) drop(id);
      else put(id, entry);
    }
  };
  const takeListed = (id: string, entry: Entry): readonly string[] => {
    const before = entries.get(id);
    // Of the same object a request may have answered something newer while the list was on its way.
    if (before?.uid === entry.uid && compareResourceVersions(before.resourceVersion, entry.resourceVersion) > 0)
      return [];
    put(id, entry);
    return isSame(before, entry) ? [] : [entry.workload];
  };

  return {
    get size() {
      return entries.size;
    },
    get isListed() {
      return isListed;
    },
    peek: (place) => {
      const id = idOf(place);
      if (!isListed || doubted.has(id)) return undefined;
      const entry = entries.get(id);
      if (entry === undefined) return { kind: "absent" };
      const { print } = entry;
      return { kind: "there", copy: copyIn(entry), ...(print === undefined ? {} : { print }) };
    },
    *uids() {
      for (const { workload, uid } of entries.values()) yield [workload, uid] as const;
    },

    takeList: (objects, version) => {
      const changed: string[] = [];
      if (compareResourceVersions(version, position) < 0) {
        // The cluster has gone back in time, or is another one: no version of before says anything about its own.
        changed.push(...[...entries.values()].map(({ workload }) => workload));
        entries.clear();
        doubted.clear();
        position = "";
      }
      const missing = new Set(entries.keys());
      for (const object of objects) {
        const entry = entryOf(object);
        if (entry === undefined) continue;
        const id = idOf(placeOf(object));
        missing.delete(id);
        changed.push(...takeListed(id, entry));
      }
      isListed = true;
      pass(version);
      for (const id of missing) {
        const entry = entries.get(id);
        if (entry === undefined || compareResourceVersions(entry.resourceVersion, version) > 0) continue;
        doubted.add(id);
        changed.push(entry.workload);
      }
      return [...new Set(changed)];
    },
    takeSeen: (object) => {
      const id = idOf(placeOf(object));
      const [before, entry] = [entries.get(id), entryOf(object)];
      pass(object.metadata.resourceVersion);
      if (before !== undefined && !isNewer(object.metadata.resourceVersion, before)) return [];
      if (entry === undefined) {
        // It was ours, and does not say so any more.
        drop(id);
        return before === undefined ? [] : [before.workload];
      }
      put(id, entry);
      return isSame(before, entry) ? [] : [entry.workload];
    },
    takeDeleted: (object) => {
      const id = idOf(placeOf(object));
      const before = entries.get(id);
      const { resourceVersion } = object.metadata;
      pass(resourceVersion);
      // There is another one of that name by now.
      if (before !== undefined && compareResourceVersions(before.resourceVersion, resourceVersion) > 0) return [];
      drop(id);
      // Told even where a request has found out before: others may need what has gone.
      const workload = before?.workload ?? workloadOf(object);
      return workload === undefined ? [] : [workload];
    },
    passed: pass,

    ask: (place) => {
      const id = idOf(place);
      const known = entries.get(id)?.resourceVersion;
      return (object) => {
        if (object !== undefined) takeAnswer(id, object);
        else if (known !== undefined && compareResourceVersions(entries.get(id)?.resourceVersion, known) <= 0) drop(id);
      };
    },
    doubt: (place) => {
      const id = idOf(place);
      if (entries.has(id)) doubted.add(id);
    },
  };
}

const idOf = ({ namespace, name }: CopyPlace): string => `${namespace}/${name}`;
const placeOf = ({ metadata }: KubeObject): CopyPlace => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name ?? "",
});

function isNewer(version: string | undefined, before: Entry): boolean {
  // Versions that cannot be ordered are taken as they come.
  return version !== before.resourceVersion && compareResourceVersions(version, before.resourceVersion) >= 0;
}

/** Whether a reconcile would find the same. Without a generation or a print there is nothing but the version to go by. */
function isSame(before: Entry | undefined, after: Entry): boolean {
  return (
    before !== undefined &&
    before.uid === after.uid &&
    before.isDeleting === after.isDeleting &&
    before.status === after.status &&
    before.print === after.print &&
    (after.generation === undefined && after.print === undefined
      ? before.resourceVersion === after.resourceVersion
      : before.generation === after.generation)
  );
}

function copyIn({ uid, resourceVersion, generation, isDeleting, status }: Entry): Copy {
  return {
    uid,
    resourceVersion,
    generation,
    isDeleting,
    // The text is what the status of an object was made into.
    status: status === undefined ? undefined : (JSON.parse(status) as JsonObject),
  };
}
