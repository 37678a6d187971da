import { compareStrings } from "@tmc/kube/compare.ts";
import type { Catalog, ResourceDefinition, Verb } from "./definition.ts";

export type DiscoveryAnswer = Readonly<{ contentType: string; body: object }>;

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * Answers `/api`, `/apis` and what is below them as far as it tells what is served; undefined for every other path and for
 * groups and versions that are not served. Whoever accepts the aggregated form gets it, on `/api` and `/apis` (kcp: on `/api` only).
 */
export function respondDiscovery(catalog: Catalog, path: string, accept: string): DiscoveryAnswer | undefined {
  const [root, group, version, ...rest] = path.split("/").filter((part) => part !== "");
  if (rest.length > 0) return undefined;
  const definitions = catalog.definitions();
  if (root === "api") {
    const core = definitions.filter((definition) => definition.group === "");
    if (core.length === 0 || version !== undefined) return undefined;
    if (group === undefined) {
      return prefersAggregated(accept) ? aggregated(core) : plain({ kind: "APIVersions", versions: versionsOf(core) });
    }
    return resourceList("", group, definitions);
  }
  if (root !== "apis") return undefined;
  if (group === undefined) {
    const named = definitions.filter((definition) => definition.group !== "");
    if (prefersAggregated(accept) && catalog.plainGroups !== true) return aggregated(named);
    const groups = groupsOf(named).map(([name, members]) => describeGroup(name, members));
    return plain({ kind: "APIGroupList", apiVersion: "v1", groups });
  }
  const members = definitions.filter((definition) => definition.group === group);
  if (group === "" || members.length === 0) return undefined;
  if (version !== undefined) return resourceList(group, version, definitions);
  return plain({ kind: "APIGroup", apiVersion: "v1", ...describeGroup(group, members) });
}

/** Clients name what they accept in the order of their liking; of discovery's two forms the first one counts. */
function prefersAggregated(accept: string): boolean {
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== "application/json") continue;
    if (!parameters.some((parameter) => parameter.startsWith("as="))) return false;
    if (["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"].every((wanted) => parameters.includes(wanted))) {
      return true;
    }
  }
  return false;
}

const plain = (body: object): DiscoveryAnswer => ({ contentType: "application/json", body });

function describeGroup(name: string, members: readonly ResourceDefinition[]): object {
  const versions = versionsOf(members).map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] };
}

function resourceList(
  group: string,
  version: string,
  definitions: readonly ResourceDefinition[],
): DiscoveryAnswer | undefined {
  const members = definitions.filter((definition) => definition.group === group && definition.version === version);
  if (members.length === 0) return undefined;
  const resources = byName(members).flatMap((definition) => [
    {
      name: definition.plural,
      singularName: definition.singular,
      namespaced: definition.namespaced,
      kind: definition.kind,
      verbs: verbsOf(definition),
      ...unlessEmpty("shortNames", definition.shortNames),
      ...unlessEmpty("categories", definition.categories),
    },
    ...subresourcesOf(definition).map(({ name, verbs, group: kindGroup, version: kindVersion, kind }) => ({
      name: `${definition.plural}/${name}`,
      singularName: "",
      namespaced: definition.namespaced,
      ...(kindGroup === "" ? {} : { group: kindGroup }),
      ...(kindVersion === "" ? {} : { version: kindVersion }),
      kind,
      verbs,
    })),
  ]);
  const groupVersion = group === "" ? version : `${group}/${version}`;
  return plain({
    kind: "APIResourceList",
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion,
    resources,
  });
}

function aggregated(definitions: readonly ResourceDefinition[]): DiscoveryAnswer {
  const items = groupsOf(definitions).map(([name, members]) => ({
    metadata: name === "" ? {} : { name },
    versions: versionsOf(members).map((version) => ({
      version,
      resources: byName(members.filter((definition) => definition.version === version)).map(describeAggregated),
      freshness: "Current",
    })),
  }));
  const body = { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
  return { contentType: aggregatedType, body };
}

function describeAggregated(definition: ResourceDefinition): object {
  // Real servers leave group and version empty where they are those of the list; for custom types they fill them in.
  const isBuiltin = definition.flavour === "builtin";
  const own = { group: isBuiltin ? "" : definition.group, version: isBuiltin ? "" : definition.version };
  const subresources = subresourcesOf(definition).map(({ name, group, version, kind, verbs }) => ({
    subresource: name,
    responseKind: group === "" && version === "" ? { ...own, kind } : { group, version, kind },
    verbs,
  }));
  return {
    resource: definition.plural,
    responseKind: { ...own, kind: definition.kind },
    scope: definition.namespaced ? "Namespaced" : "Cluster",
    singularResource: definition.singular,
    verbs: verbsOf(definition),
    ...unlessEmpty("shortNames", definition.shortNames),
    ...unlessEmpty("categories", definition.categories),
    ...unlessEmpty("subresources", subresources),
  };
}

const verbsOfCustomTypes: readonly Verb[] = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];

/** Verbs in the order in which real servers name them: by the alphabet, but for custom types. */
function verbsOf({ flavour, verbs }: ResourceDefinition): readonly Verb[] {
  return flavour === "builtin" ? verbs.toSorted() : verbsOfCustomTypes.filter((verb) => verbs.includes(verb));
}

type ServedSubresource = Readonly<{
  name: string;
  group: string;
  version: string;
  kind: string;
  verbs: readonly Verb[];
}>;

function subresourcesOf(definition: ResourceDefinition): ServedSubresource[] {
  const verbs: readonly Verb[] = ["get", "patch", "update"];
  const own = { group: "", version: "" };
  const served = [
    ...(definition.status ? [{ name: "status", ...own, kind: definition.kind, verbs }] : []),
    ...(definition.scale === undefined
      ? []
      : [{ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs }]),
    ...Object.entries(definition.extraSubresources ?? {}).map(([name, subresource]) => ({
      name,
      group: subresource.group ?? "",
      version: subresource.version ?? "",
      kind: subresource.kind,
      verbs: subresource.verbs.toSorted(),
    })),
  ];
  return definition.flavour === "builtin" ? served.toSorted((a, b) => compareStrings(a.name, b.name)) : served;
}

function groupsOf(definitions: readonly ResourceDefinition[]): [string, ResourceDefinition[]][] {
  const groups = Map.groupBy(definitions, ({ group }) => group);
  return [...groups].toSorted(([a], [b]) => rank(a) - rank(b) || compareStrings(a, b));
}

/** kubectl takes the first group that has a short name: Kubernetes' own come before all others, in this order. */
const wellKnownGroups: readonly string[] = [
  "",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "discovery.k8s.io",
];

function rank(group: string): number {
  const at = wellKnownGroups.indexOf(group);
  return at < 0 ? wellKnownGroups.length : at;
}

function versionsOf(members: readonly ResourceDefinition[]): string[] {
  return [...new Set(members.map(({ version }) => version))].toSorted(compareVersions);
}

/** Orders versions as Kubernetes prefers them: stable before beta before alpha, higher before lower, others last by name. */
export function compareVersions(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    if (right !== undefined) return 1;
    return compareStrings(a, b);
  }
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

const stabilities: readonly string[] = ["alpha", "beta", ""];

function parseVersion(version: string): { stability: number; major: number; minor: number } | undefined {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return undefined;
  return { stability: stabilities.indexOf(match[2] ?? ""), major: Number(match[1]), minor: Number(match[3] ?? 0) };
}

function byName(definitions: readonly ResourceDefinition[]): ResourceDefinition[] {
  return definitions.toSorted((a, b) => compareStrings(a.plural, b.plural));
}

function unlessEmpty<K extends string, T>(key: K, values: readonly T[]): { [key in K]?: readonly T[] } {
  // A computed key is typed as an index; the key is K by construction.
  return values.length === 0 ? {} : ({ [key]: values } as { [key in K]?: readonly T[] });
}
