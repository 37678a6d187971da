import { compareStrings } from "@tmc/kube/compare.ts";
import type { Catalog, ResourceDefinition, Verb } from "./definition.ts";

export type DiscoveryDocument = Readonly<{ contentType: string; body: object }>;

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * Responds to the discovery paths `/api`, `/apis` and below; undefined for other paths and for groups and versions that
 * are not served. Clients that accept the aggregated form get it on `/api` and `/apis` (in kcp only on `/api`).
 */
export function respondDiscovery(catalog: Catalog, path: string, accept: string): DiscoveryDocument | undefined {
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

/** Clients list media types by preference; the first discovery form that the server supports wins. */
function prefersAggregated(accept: string): boolean {
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== "application/json") continue;
    if (!parameters.some((parameter) => parameter.startsWith("as="))) return false;
    if (
      ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"].every((expected) => parameters.includes(expected))
    ) {
      return true;
    }
  }
  return false;
}

const plain = (body: object): DiscoveryDocument => ({ contentType: "application/json", body });

function describeGroup(name: string, members: readonly ResourceDefinition[]): object {
  const versions = versionsOf(members).map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] };
}

function resourceList(
  group: string,
  version: string,
  definitions: readonly ResourceDefinition[],
): DiscoveryDocument | undefined {
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

function aggregated(definitions: readonly ResourceDefinition[]): DiscoveryDocument {
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
  // Real servers leave group and version empty for built-in types and fill them in for custom types.
  const isBuiltin = definition.flavor === "builtin";
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

/** Verbs in the order of real servers: alphabetical for built-in types, a fixed order for custom types. */
function verbsOf({ flavor, verbs }: ResourceDefinition): readonly Verb[] {
  return flavor === "builtin" ? verbs.toSorted() : verbsOfCustomTypes.filter((verb) => verbs.includes(verb));
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
  return definition.flavor === "builtin" ? served.toSorted((a, b) => compareStrings(a.name, b.name)) : served;
}

function groupsOf(definitions: readonly ResourceDefinition[]): [string, ResourceDefinition[]][] {
  const groups = Map.groupBy(definitions, ({ group }) => group);
  return [...groups].toSorted(([a], [b]) => rank(a) - rank(b) || compareStrings(a, b));
}

/** kubectl resolves a short name to the first group that has it: Kubernetes' own groups come first, in this order. */
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

/** Orders versions as Kubernetes prefers them: stable, beta, alpha; higher before lower; other names last. */
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
  // TypeScript types a computed key as an index; it is K by construction.
  return values.length === 0 ? {} : ({ [key]: values } as { [key in K]?: readonly T[] });
}
