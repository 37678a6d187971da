import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { forbiddenObject, objectNotFound, resourceNotFound } from "../api-errors.ts";
import { ApiFailure } from "../api-failure.ts";
import { forbidden } from "../auth/rbac.ts";
import type { Catalog, ResourceDefinition } from "../definition.ts";
import { listAt, textAt, textsByName } from "../fields.ts";
import type { Attributes, Place } from "../frontend.ts";
import type { User } from "../http.ts";
import type { ObjectTarget } from "../operations.ts";
import { parseRequestInfo } from "../request-info.ts";
import type { KcpAuthorizer } from "./authorization.ts";
import { type Catalogs, createCatalog } from "./catalogs.ts";
import { isBuiltinClaim } from "./claimable-types.ts";
import {
  bindingClaims,
  claimedGroup,
  exportClaims,
  isSameClaim,
  type PermissionClaim,
  selectorTakes,
} from "./claims.ts";
import { clusterOf, type Directory, storages } from "./directory.ts";
import { claimLabelPrefix, claimValue, exportHash, exportLabel, reflexiveClaimValue } from "./names.ts";

/** A type that an export's virtual workspace serves, and when it is torn down. */
type ServedType = Readonly<{
  definition: ResourceDefinition;
  /** Where the type comes from; kcp keeps a type while this stays the same. */
  source: string;
  /** Claimed objects are seen only with the claim's label. */
  label?: Readonly<{ key: string; values: readonly string[] }> | undefined;
  closing: AbortController;
}>;

type ServedSet = Readonly<{
  types: readonly ServedType[];
  catalog: Catalog;
  byDefinition: ReadonlyMap<string, ServedType>;
}>;

/** The virtual workspaces of exports: each shows its providers what their consumers have, and nothing else. */
export interface VirtualWorkspaces {
  /** A place in the virtual workspace of an export; `cluster` is a consumer's logical cluster or "*". */
  place(request: PlaceRequest): Place;
  /** Brings what is served into line with an export that has changed, or goes. */
  refresh(exportCluster: string, exportName: string): void;
}

export type PlaceRequest = Readonly<{ exportCluster: string; exportName: string; cluster: string; path: string }>;

export function createVirtualWorkspaces({
  directory,
  catalogs,
  authorizer,
}: Readonly<{ directory: Directory; catalogs: Catalogs; authorizer: KcpAuthorizer }>): VirtualWorkspaces {
  const sets = new Map<string, ServedSet>();

  const refresh = (exportCluster: string, exportName: string): void => {
    const key = `${exportCluster}/${exportName}`;
    const old = sets.get(key);
    const apiExport = directory.apiExport(exportCluster, exportName);
    if (apiExport === undefined || textAt(apiExport, "status", "identityHash") === "") {
      sets.delete(key);
      for (const { closing } of old?.types ?? []) closing.abort(tornDown());
      return;
    }
    const types = typesOf(directory, catalogs, apiExport, exportCluster).map((type) => {
      const kept = old?.byDefinition.get(nameOf(type.definition));
      return kept?.source === type.source
        ? { ...kept, label: type.label }
        : { ...type, closing: new AbortController() };
    });
    const byDefinition = new Map(types.map((type) => [nameOf(type.definition), type]));
    sets.set(key, { types, byDefinition, catalog: createCatalog(types.map(({ definition }) => definition)) });
    for (const { definition, closing } of old?.types ?? []) {
      if (byDefinition.get(nameOf(definition))?.closing !== closing) closing.abort(tornDown());
    }
  };

  return {
    refresh,
    place: ({ exportCluster, exportName, cluster, path }) => {
      const key = `${exportCluster}/${exportName}`;
      if (!sets.has(key)) refresh(exportCluster, exportName);
      const served = sets.get(key);
      const typeOf = (definition: ResourceDefinition): ServedType | undefined =>
        served?.byDefinition.get(nameOf(definition));
      const { group, version, resource } = parseRequestInfo("GET", path, new URLSearchParams());
      const isFiltered = served?.byDefinition.get(`${group}/${version}/${resource}`)?.label !== undefined;
      return {
        cluster,
        path,
        catalog: served?.catalog ?? createCatalog([]),
        authorize: (user, attributes) =>
          authorize({ directory, authorizer, exportCluster, exportName, cluster, user, attributes }),
        // Without a filter a list can say how many are left.
        visible: isFiltered
          ? (definition, object) => {
              const label = typeOf(definition)?.label;
              return label === undefined || label.values.includes(object.metadata.labels?.[label.key] ?? "");
            }
          : undefined,
        admit: (target, object) => admit(directory, { exportCluster, exportName, cluster }, target, object),
        closed: (definition) => typeOf(definition)?.closing.signal ?? AbortSignal.abort(),
      };
    },
  };
}

/** What a real kcp tells the watchers of a type that it takes away, before it ends their streams. */
const tornDown = (): ApiFailure => {
  const why = "unable to decode an event from the watch stream: context canceled";
  return new ApiFailure(
    500,
    "InternalError",
    `an error on the server (${JSON.stringify(why)}) has prevented the request from succeeding`,
    {
      causes: [
        { reason: "UnexpectedServerResponse", message: why },
        { reason: "ClientWatchDecoding", message: why },
      ],
    },
  );
};

const nameOf = ({ group, version, plural }: ResourceDefinition): string => `${group}/${version}/${plural}`;

function typesOf(
  directory: Directory,
  catalogs: Catalogs,
  apiExport: KubeObject,
  exportCluster: string,
): readonly Omit<ServedType, "closing">[] {
  const exportName = apiExport.metadata.name ?? "";
  const identity = textAt(apiExport, "status", "identityHash");
  const own = listAt(apiExport, "spec", "resources").flatMap((resource) => {
    const schema = directory.schema(exportCluster, textAt(resource, "schema"));
    if (schema === undefined) return [];
    const source = schema.metadata.uid ?? "";
    return catalogs.exported(schema, identity).map((definition) => ({ definition: withoutScale(definition), source }));
  });
  const taken = new Set(own.map(({ definition: { group, plural } }) => `${group}/${plural}`));
  const common = catalogs.of(exportCluster).definitions();
  const claimed = exportClaims(apiExport)
    .filter(({ group, resource }) => !taken.has(`${group}/${resource}`))
    .flatMap((claim) => {
      const label = {
        key: claimLabelPrefix + exportHash(exportCluster, exportName),
        values: [
          claimValue(claim),
          ...(claim.resource === "apibindings" && claim.group === "apis.kcp.io" ? [reflexiveClaimValue] : []),
        ],
      };
      return claimedDefinitions(catalogs, directory, common, claim).map((definition) => ({
        definition,
        source: `claim:${claim.identityHash}`,
        label,
      }));
    });
  const claimsBindings = claimed.some(({ definition }) => definition.storage === storages.bindings);
  const bindings = claimsBindings
    ? []
    : common
        .filter((definition) => definition.storage === storages.bindings)
        .map((definition) => ({
          definition: { ...definition, verbs: ["get", "list", "watch"] as const, status: false },
          source: "bindings",
          label: { key: exportLabel, values: [exportHash(exportCluster, exportName)] },
        }));
  return [...own, ...claimed, ...bindings];
}

/** No virtual workspace serves `/scale`. */
function withoutScale(definition: ResourceDefinition): ResourceDefinition {
  const { scale: _, ...rest } = definition;
  return rest;
}

/** A built-in type, as a virtual workspace serves it: by its schema only, like a bound one. */
const asClaimed = (definition: ResourceDefinition): ResourceDefinition => ({
  ...withoutScale(definition),
  flavour: "bound",
  shortNames: [],
  categories: [],
  columns: [],
});

function claimedDefinitions(
  catalogs: Catalogs,
  directory: Directory,
  common: readonly ResourceDefinition[],
  { group, resource, identityHash }: PermissionClaim,
): readonly ResourceDefinition[] {
  if (identityHash === "") {
    if (!isBuiltinClaim(group, resource) && group !== "apis.kcp.io") return [];
    return common
      .filter(
        (item) => item.plural === resource && claimedGroup(item.group, item.plural) === claimedGroup(group, resource),
      )
      .map(asClaimed);
  }
  for (const other of directory.exportsOfIdentity(identityHash)) {
    for (const item of listAt(other, "spec", "resources")) {
      if (textAt(item, "name") !== resource || textAt(item, "group") !== group) continue;
      const schema = directory.schema(clusterOf(other), textAt(item, "schema"));
      if (schema !== undefined) return catalogs.exported(schema, identityHash).map(withoutScale);
    }
  }
  return [];
}

type Question = Readonly<{
  directory: Directory;
  authorizer: KcpAuthorizer;
  exportCluster: string;
  exportName: string;
  cluster: string;
  user: User;
  attributes: Attributes;
}>;

/** Asks in the order in which kcp does: the export, the consumer's binding, then the provider's rights, then what the path allows. */
function authorize({ directory, authorizer, exportCluster, exportName, cluster, user, attributes }: Question): void {
  const refused = forbidden(user, attributes, "access denied");
  const isWildcard = cluster === "*";
  const isResource = attributes.resource !== "";
  const apiExport = directory.apiExport(exportCluster, exportName);
  if (!isWildcard && isResource) {
    if (apiExport === undefined) throw exportNotFound(exportName);
    const binding = findBinding(directory, { cluster, exportCluster, exportName });
    if (binding === undefined || !isGranted(binding, apiExport, attributes)) throw refused;
  }
  const content: Attributes = {
    verb: attributes.verb,
    group: "apis.kcp.io",
    version: "v1alpha1",
    resource: "apiexports",
    subresource: "content",
    namespace: "",
    name: exportName,
    path: "",
  };
  const home = exportCluster.includes(":") ? (directory.clusterAt(exportCluster) ?? "") : exportCluster;
  if (!authorizer.decide(home, user, content)) throw refused;
  if (apiExport === undefined) throw exportNotFound(exportName);
  if (isWildcard && isResource) checkWildcard(directory, { exportCluster, exportName, apiExport }, attributes);
  const { group, resource, subresource, name, path } = attributes;
  if (subresource !== "" && subresource !== "status") throw objectNotFound({ group, plural: resource }, name);
  if (!isResource && /^\/(healthz|readyz|livez)(\/|$)/.test(path)) throw resourceNotFound();
}

const exportNotFound = (name: string): ApiFailure =>
  new ApiFailure(500, "InternalError", `API export not found: apiexport.apis.kcp.io "${name}" not found`);

function checkWildcard(
  directory: Directory,
  {
    exportCluster,
    exportName,
    apiExport,
  }: Readonly<{ exportCluster: string; exportName: string; apiExport: KubeObject }>,
  { verb, group, resource, namespace, name }: Attributes,
): void {
  // A patch first reads what it changes, and that is what is not found.
  if (verb === "patch") throw objectNotFound({ group, plural: resource }, name);
  if (verb !== "list" && verb !== "watch") throw unknownToAll();
  if (namespace !== "" && !(group === "" && resource === "namespaces")) {
    const words = "cross-cluster LIST and WATCH are required to be cross-namespace, not scoped to namespace";
    throw new ApiFailure(400, "", `${words} ${namespace}`);
  }
  const isOwn = listAt(apiExport, "spec", "resources").some(
    (item) => textAt(item, "name") === resource && textAt(item, "group") === group,
  );
  const isServed = directory
    .bindingsOf(exportCluster, exportName)
    .some((binding) => listAt(binding, "status", "boundResources").some((item) => isResourceOf(item, group, resource)));
  if (isOwn && !isServed) throw unknownToAll();
}

const unknownToAll = (): ApiFailure => {
  const plain = resourceNotFound();
  const causes = [{ reason: "UnexpectedServerResponse", message: "404 page not found" }];
  return new ApiFailure(404, "NotFound", plain.message, { causes });
};

const isResourceOf = (item: unknown, group: string, resource: string): boolean =>
  textAt(item, "group") === group && textAt(item, "resource") === resource;

type Consumer = Readonly<{ cluster: string; exportCluster: string; exportName: string }>;

function findBinding(directory: Directory, { cluster, exportCluster, exportName }: Consumer): KubeObject | undefined {
  return directory.bindings(cluster).find((binding) => {
    if (textAt(binding, "spec", "reference", "export", "name") !== exportName) return false;
    const boundTo = textAt(binding, "status", "apiExportClusterName");
    return (
      boundTo === exportCluster ||
      (boundTo === "" && textAt(binding, "spec", "reference", "export", "path") === exportCluster)
    );
  });
}

/** What a binding grants: its types, the claims that both sides agree on word for word, and to be looked at. */
function isGranted(binding: KubeObject, apiExport: KubeObject, { verb, group, resource }: Attributes): boolean {
  if (listAt(binding, "status", "boundResources").some((item) => isResourceOf(item, group, resource))) return true;
  for (const claim of bindingClaims(binding)) {
    if (!claim.accepted || claim.resource !== resource || claim.group !== claimedGroup(group, resource)) continue;
    const asked = exportClaims(apiExport).find((other) => isSameClaim(other, claim));
    const both = claim.verbs.filter((item) => asked?.verbs.includes(item) === true);
    if (both.includes(verb) || both.includes("*")) return true;
  }
  return group === "apis.kcp.io" && resource === "apibindings" && ["get", "list", "watch"].includes(verb);
}

/** A claim with a selector takes only what it selects: labels that are missing are added, others refused. */
function admit(directory: Directory, consumer: Consumer, { definition }: ObjectTarget, object: KubeObject): void {
  const binding = findBinding(directory, consumer);
  const { group, plural } = definition;
  if (binding === undefined) return;
  if (listAt(binding, "status", "boundResources").some((item) => isResourceOf(item, group, plural))) return;
  const claim = bindingClaims(binding).find(
    (item) => item.accepted && item.resource === plural && item.group === claimedGroup(group, plural),
  );
  if (claim === undefined || claim.selector.matchAll === true) return;
  const name = object.metadata.name ?? "";
  const labels = { ...object.metadata.labels };
  for (const [key, value] of Object.entries(textsByName(claim.selector.matchLabels))) {
    labels[key] ??= value;
    if (labels[key] !== value) {
      throw forbiddenObject(definition, name, `protected label ${key} must have value ${value}`);
    }
  }
  object.metadata.labels = labels;
  if (!selectorTakes(claim.selector, labels)) {
    throw forbiddenObject(definition, name, "object does not match required labels");
  }
}
