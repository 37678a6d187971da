import type { KubeClient } from "@tmc/kube/client.ts";
import { compareStrings } from "@tmc/kube/compare.ts";
import type { ServedApi } from "./probe-outcome.ts";

/** Both forms in one request: servers of 1.27 and later give everything at once, older ones only the groups. */
const accept = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

/** The status of a registration must stay small; a cluster with more kinds than this is not fully described. */
const mostKinds = 2_000;
const mostGroupVersions = 1_000;
/** So many resource lists of an older server are asked for at once. */
const atOnce = 8;

export type Call = Readonly<{ signal: AbortSignal; timeoutMs: () => number }>;
type Entry = Readonly<Record<string, unknown>>;

/**
 * Finds out which kinds can be created on a cluster: two requests, or one per group and version where the server is old.
 * Undefined when the cluster does not tell.
 */
export async function findServedApis(client: KubeClient, call: Call): Promise<readonly ServedApi[] | undefined> {
  const found = await Promise.all(["/api", "/apis"].map((path) => readRoot(client, path, call)));
  const lists = found.filter((each) => each !== undefined);
  return lists.length < found.length ? undefined : inOrder(lists.flat());
}

async function readRoot(client: KubeClient, path: string, call: Call): Promise<readonly ServedApi[] | undefined> {
  const body = await readJson(client, path, call);
  if (body === undefined) return undefined;
  if (body.kind === "APIGroupDiscoveryList") return entriesOf(body.items).flatMap(aggregated);
  const groupVersions =
    path === "/api"
      ? textsOf(body.versions)
      : entriesOf(body.groups).flatMap((group) => entriesOf(group.versions).map((each) => textOf(each.groupVersion)));
  const lists: ServedApi[] = [];
  const waiting = groupVersions.filter(isGroupVersion).slice(0, mostGroupVersions);
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const list = await readJson(client, `${path}/${next}`, call);
      // A group whose own server is down is left out, as the aggregated form leaves it out.
      if (list !== undefined) lists.push({ groupVersion: next, kinds: entriesOf(list.resources).flatMap(plainKind) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return lists;
}

async function readJson(client: KubeClient, path: string, call: Call): Promise<Entry | undefined> {
  const { status, text } = await client.raw("GET", path, { accept, signal: call.signal, timeoutMs: call.timeoutMs() });
  if (status !== 200) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    return isEntry(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function aggregated(item: Entry): ServedApi[] {
  const group = isEntry(item.metadata) ? textOf(item.metadata.name) : "";
  return entriesOf(item.versions).map((version) => ({
    groupVersion: group === "" ? textOf(version.version) : `${group}/${textOf(version.version)}`,
    kinds: entriesOf(version.resources)
      .filter((resource) => textsOf(resource.verbs).includes("create"))
      .map((resource) => (isEntry(resource.responseKind) ? textOf(resource.responseKind.kind) : "")),
  }));
}

function plainKind(resource: Entry): string[] {
  const isSubresource = textOf(resource.name).includes("/");
  return isSubresource || !textsOf(resource.verbs).includes("create") ? [] : [textOf(resource.kind)];
}

/** In one order, whatever the server's, and within bounds: Kubernetes' own kinds come before custom ones. */
function inOrder(lists: readonly ServedApi[]): readonly ServedApi[] {
  const kinds = new Map<string, Set<string>>();
  for (const list of lists.filter(({ groupVersion }) => isGroupVersion(groupVersion))) {
    const present = kinds.get(list.groupVersion) ?? new Set();
    for (const kind of list.kinds) if (isKind(kind)) present.add(kind);
    kinds.set(list.groupVersion, present);
  }
  let left = mostKinds;
  return [...kinds]
    .filter(([, names]) => names.size > 0)
    .toSorted(([a], [b]) => rank(a) - rank(b) || compareStrings(a, b))
    .slice(0, mostGroupVersions)
    .map(([groupVersion, names]) => {
      const kept = [...names].toSorted().slice(0, left);
      left -= kept.length;
      return { groupVersion, kinds: kept };
    })
    .filter((api) => api.kinds.length > 0)
    .toSorted((a, b) => compareStrings(a.groupVersion, b.groupVersion));
}

function rank(groupVersion: string): number {
  const group = groupVersion.split("/", 1)[0] ?? "";
  return !group.includes(".") || group.endsWith(".k8s.io") ? 0 : 1;
}

const isEntry = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const entriesOf = (value: unknown): readonly Entry[] => (Array.isArray(value) ? value.filter(isEntry) : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
const isGroupVersion = (text: string): boolean =>
  text.length <= 317 && /^([a-z0-9][-a-z0-9.]*\/)?v[a-z0-9]+$/.test(text);
const isKind = (text: string): boolean => /^[A-Za-z][A-Za-z0-9]{0,62}$/.test(text);
