import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { typeId } from "../api/workload-kinds.ts";
import { forEachConcurrently } from "../model/concurrency.ts";
import { isServerCreated } from "../sync/desired/server-fields.ts";
import type { ClusterSession } from "./session.ts";

/** Accepts aggregated discovery (Kubernetes 1.27 and later) and the list of groups that older servers return. */
const accept = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

/** Concurrent lists: a check of hundreds of types must not delay the other requests to the cluster for long. */
const concurrency = 8;

/** More than the objects that servers create in every namespace, so that one page shows whether there are others. */
const pageSize = 10;

/** A type of objects, as discovery lists it. */
export type ListedType = Readonly<{ type: ResourceType; kind: string }>;

/** What discovery says about the namespaced types of a cluster. */
export type NamespacedTypes = Readonly<{
  /** The types whose objects a deletion of their namespace deletes, each in one version. */
  deletable: readonly ListedType[];
  /** All namespaced kinds, such as `apps/v1 Deployment`. */
  kinds: ReadonlySet<string>;
  /** Whether discovery lists every API of the cluster. An API server that is down leaves it incomplete. */
  isComplete: boolean;
}>;

/**
 * Types whose objects never keep a namespace. Events only report. An Endpoints object belongs to the Service of its name, which
 * keeps the namespace itself; the cluster deletes it some time after that Service.
 */
const ignoredPlurals: ReadonlySet<string> = new Set(["core/events", "core/endpoints", "events.k8s.io/events"]);

/** Whether a namespace has no object of any type that the cluster serves. A type that cannot be listed may have some. */
export async function isNamespaceEmpty(
  session: ClusterSession,
  { namespace, listedBefore }: Readonly<{ namespace: string; listedBefore: ReadonlySet<string> }>,
  signal: AbortSignal,
): Promise<boolean> {
  const { deletable, kinds, isComplete } = await readNamespacedTypes(session, signal);
  if (!isComplete) return false;
  const isIgnored = (object: KubeObject): boolean => isDependent(object, kinds);
  const types = deletable.filter(({ type }) => !listedBefore.has(typeId(type)));
  let isEmpty = true;
  await forEachConcurrently(types, concurrency, async (each) => {
    if (!isEmpty) return; // the others need not be listed any more
    const list = { ...each, namespace, isIgnored, ifNotServed: false };
    if (!(await isEmptyOf(session, list, signal))) isEmpty = false;
  });
  return isEmpty;
}

/** Whether all owners of an object are in its namespace: they are listed themselves, and the object is deleted after them. */
function isDependent({ metadata }: KubeObject, namespacedKinds: ReadonlySet<string>): boolean {
  const owners = metadata.ownerReferences ?? [];
  return owners.length > 0 && owners.every(({ apiVersion, kind }) => namespacedKinds.has(`${apiVersion} ${kind}`));
}

type ListedObjects = ListedType &
  Readonly<{
    namespace: string;
    /** Objects that do not count. @default only those that servers create in every namespace */
    isIgnored?: ((object: KubeObject) => boolean) | undefined;
    /** What a type means that is not served. */
    ifNotServed: boolean;
  }>;

/** Whether a namespace has no object of a type, besides those that servers create in every namespace. */
export async function isEmptyOf(
  session: ClusterSession,
  { type, kind, namespace, isIgnored, ifNotServed }: ListedObjects,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { items, metadata } = await session.client.metadata.list<KubeObject>(
      { type, namespace },
      {
        limit: pageSize,
        // Servers before Kubernetes 1.24 create a token Secret for every service account.
        fieldSelector: kind === "Secret" ? "type!=kubernetes.io/service-account-token" : undefined,
        signal,
      },
    );
    const isOther = (each: KubeObject): boolean =>
      !isServerCreated(kind, each.metadata.name ?? "") && isIgnored?.(each) !== true;
    return !metadata.continue && !items.some(isOther);
  } catch (error) {
    switch (faultOf(error)) {
      case "not-found":
        return ifNotServed;
      case "forbidden":
      case "invalid":
        // A type that TMC may not list may have any objects.
        return false;
      default:
        throw error;
    }
  }
}

/** Reads the namespaced types of a cluster: two requests, or one per group and version for older servers. */
export async function readNamespacedTypes(
  { client }: Pick<ClusterSession, "client">,
  signal: AbortSignal,
): Promise<NamespacedTypes> {
  const read = async (path: string): Promise<Entry | undefined> => {
    const { status, text } = await client.raw("GET", path, { accept, signal });
    if (status === 429 || status >= 500) {
      throw new ControllerError("unreachable", `${client.server}: discovery of ${path}: status ${status}`);
    }
    return status === 200 ? parseEntry(text) : undefined;
  };
  const roots = await Promise.all(["/api", "/apis"].map((path) => readRoot(read, path)));
  const groupVersions = roots.flatMap((root) => root ?? []);
  const resources = groupVersions.flatMap(({ resources: each }) => each ?? []).filter(({ namespaced }) => namespaced);
  const byPlural = new Map<string, ListedType>();
  for (const { type, kind, verbs } of resources) {
    const id = `${type.group || "core"}/${type.plural}`;
    const isLost = verbs.includes("list") && (verbs.includes("delete") || verbs.includes("deletecollection"));
    // The first version is the preferred one; all versions list the same objects.
    if (isLost && !ignoredPlurals.has(id) && !byPlural.has(id)) byPlural.set(id, { type, kind });
  }
  return {
    deletable: [...byPlural.values()],
    kinds: new Set(
      resources.map(
        ({ type: { group, version }, kind }) => `${group === "" ? version : `${group}/${version}`} ${kind}`,
      ),
    ),
    isComplete: roots.every((root) => root?.every(({ resources: each }) => each !== undefined) === true),
  };
}

type Entry = Readonly<Record<string, unknown>>;
type Resource = ListedType & Readonly<{ namespaced: boolean; verbs: readonly string[] }>;
/** The resources of one version of a group; undefined when the server that has them does not answer. */
type GroupVersion = Readonly<{ resources: readonly Resource[] | undefined }>;

async function readRoot(
  read: (path: string) => Promise<Entry | undefined>,
  path: string,
): Promise<readonly GroupVersion[] | undefined> {
  const body = await read(path);
  if (body === undefined) return undefined;
  if (body.kind === "APIGroupDiscoveryList") return entriesOf(body.items).flatMap(parseAggregatedGroup);
  if (body.kind !== (path === "/api" ? "APIVersions" : "APIGroupList")) return undefined;
  const groupVersions =
    path === "/api"
      ? textsOf(body.versions)
      : entriesOf(body.groups).flatMap((group) => entriesOf(group.versions).map((each) => textOf(each.groupVersion)));
  const lists: GroupVersion[] = [];
  for (const groupVersion of groupVersions) {
    // The server of one group that is down makes discovery incomplete, and does not make the cluster unreachable.
    const list = await read(`${path}/${groupVersion}`).catch((error: unknown) => {
      if (!(error instanceof ControllerError)) throw error;
      return undefined;
    });
    lists.push({ resources: list && entriesOf(list.resources).flatMap((each) => parseResource(each, groupVersion)) });
  }
  return lists;
}

function parseAggregatedGroup({ metadata, versions }: Entry): readonly GroupVersion[] {
  const group = isRecord(metadata) ? textOf(metadata.name) : "";
  return entriesOf(versions).map(({ version, freshness, resources }) => ({
    resources:
      freshness === "Stale"
        ? undefined
        : entriesOf(resources).map((each) => ({
            type: { group, version: textOf(version), plural: textOf(each.resource) },
            kind: isRecord(each.responseKind) ? textOf(each.responseKind.kind) : "",
            namespaced: each.scope === "Namespaced",
            verbs: textsOf(each.verbs),
          })),
  }));
}

function parseResource({ name, kind, namespaced, verbs }: Entry, groupVersion: string): readonly Resource[] {
  const [version = "", group = ""] = groupVersion.split("/").toReversed();
  const plural = textOf(name);
  // A subresource is no type of its own.
  if (plural.includes("/")) return [];
  return [
    { type: { group, version, plural }, kind: textOf(kind), namespaced: namespaced === true, verbs: textsOf(verbs) },
  ];
}

function parseEntry(text: string): Entry | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isRecord(body) ? body : undefined;
  } catch {
    return undefined; // not discovery
  }
}

const entriesOf = (value: unknown): readonly Entry[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
