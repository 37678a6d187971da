import type { KubeClient } from "@tmc/kube/client.ts";
import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { RegistrationStatus, ServedApi } from "./probe-outcome.ts";

/** Accepts aggregated discovery (Kubernetes 1.27 and later) and the list of groups that older servers return. */
const accept = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

/** Bounds that keep the status small; a cluster with more kinds is not described completely. */
const maxKinds = 2_000;
const maxGroupVersions = 1_000;
/** Concurrent requests for the resource lists of an older server. */
const concurrency = 8;

export type DetectionCall = Readonly<{ signal: AbortSignal; timeoutMs: () => number }>;
type Entry = Readonly<Record<string, unknown>>;

/**
 * Reads which kinds can be created on a cluster: two requests, or one per group and version for older servers. Undefined
 * if discovery fails.
 */
export async function readServedApis(
  client: KubeClient,
  call: DetectionCall,
): Promise<readonly ServedApi[] | undefined> {
  const roots = await Promise.all(["/api", "/apis"].map((path) => readRoot(client, path, call)));
  const lists = roots.filter((root) => root !== undefined);
  return lists.length < roots.length ? undefined : sortAndBound(lists.flat());
}

async function readRoot(
  client: KubeClient,
  path: string,
  call: DetectionCall,
): Promise<readonly ServedApi[] | undefined> {
  const body = await readJson(client, path, call);
  if (body === undefined) return undefined;
  if (body.kind === "APIGroupDiscoveryList") return entriesOf(body.items).flatMap(parseAggregatedGroup);
  const groupVersions =
    path === "/api"
      ? textsOf(body.versions)
      : entriesOf(body.groups).flatMap((group) => entriesOf(group.versions).map((each) => textOf(each.groupVersion)));
  const lists: ServedApi[] = [];
  const pending = groupVersions.filter(isGroupVersion).slice(0, maxGroupVersions);
  const worker = async (): Promise<void> => {
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      const list = await readJson(client, `${path}/${next}`, call);
      // A group whose API server is down is omitted, as aggregated discovery omits it.
      if (list !== undefined)
        lists.push({ groupVersion: next, kinds: entriesOf(list.resources).flatMap(parseResourceKind) });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return lists;
}

async function readJson(client: KubeClient, path: string, call: DetectionCall): Promise<Entry | undefined> {
  const { status, text } = await client.raw("GET", path, { accept, signal: call.signal, timeoutMs: call.timeoutMs() });
  if (status !== 200) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    return isEntry(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function parseAggregatedGroup(item: Entry): ServedApi[] {
  const group = isEntry(item.metadata) ? textOf(item.metadata.name) : "";
  return entriesOf(item.versions).map((version) => ({
    groupVersion: group === "" ? textOf(version.version) : `${group}/${textOf(version.version)}`,
    kinds: entriesOf(version.resources)
      .filter((resource) => textsOf(resource.verbs).includes("create"))
      .map((resource) => (isEntry(resource.responseKind) ? textOf(resource.responseKind.kind) : "")),
  }));
}

function parseResourceKind(resource: Entry): string[] {
  const isSubresource = textOf(resource.name).includes("/");
  return isSubresource || !textsOf(resource.verbs).includes("create") ? [] : [textOf(resource.kind)];
}

/** Sorts the APIs and applies the bounds. Built-in kinds take precedence over custom ones. */
function sortAndBound(lists: readonly ServedApi[]): readonly ServedApi[] {
  const kinds = new Map<string, Set<string>>();
  for (const list of lists.filter(({ groupVersion }) => isGroupVersion(groupVersion))) {
    const present = kinds.get(list.groupVersion) ?? new Set();
    for (const kind of list.kinds) if (isKind(kind)) present.add(kind);
    kinds.set(list.groupVersion, present);
  }
  let remaining = maxKinds;
  return [...kinds]
    .filter(([, names]) => names.size > 0)
    .toSorted(([a], [b]) => rank(a) - rank(b) || compareStrings(a, b))
    .slice(0, maxGroupVersions)
    .map(([groupVersion, names]) => {
      const kept = [...names].toSorted().slice(0, remaining);
      remaining -= kept.length;
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

/** The state of one APIBinding of the registration's workspace. */
export type ObservedBinding = Readonly<{
  name: string;
  /** Undefined if TMC cannot read it. */
  isBound: boolean | undefined;
  /** Why it is not bound or cannot be read; the same text each time. */
  error?: string | undefined;
}>;

/** Reads APIBindings of one logical cluster by name. */
export type ReadBindings = (
  address: Readonly<{ logicalCluster: string; names: readonly string[] }>,
  signal: AbortSignal,
) => Promise<readonly ObservedBinding[]>;

/** The APIBindings that a registration names in its spec. */
export function bindingNames({ spec }: ClusterRegistration): readonly string[] {
  return (spec.apiBindings ?? []).map(({ name }) => name);
}

/** Builds `status.connectedAPIs`. `connected` is unset for a binding that TMC could not read. */
export function connectedApis(
  names: readonly string[],
  observed: readonly ObservedBinding[],
): NonNullable<RegistrationStatus["connectedAPIs"]> {
  return names.map((apiBinding) => {
    const { isBound, error = "TMC has not read the APIBinding" } =
      observed.find(({ name }) => name === apiBinding) ?? {};
    return {
      apiBinding,
      ...(isBound !== undefined && { connected: isBound }),
      ...(isBound !== true && { error }),
    };
  });
}
