import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { forbiddenRequest } from "../auth/rbac.ts";
import type { Catalog, ResourceDefinition } from "../definitions/definition.ts";
import { ApiFailure, forbiddenObject, objectNotFound, resourceNotFound } from "../machinery/api-errors.ts";
import { listAt, textsByName } from "../machinery/fields.ts";
import type { ApiRoot, Attributes } from "../server/frontend.ts";
import type { User } from "../server/http.ts";
import { parseRequestInfo } from "../server/request-info.ts";
import type { ObjectTarget } from "../storage/operations.ts";
import type { KcpAuthorizer } from "./authorization.ts";
import { type Catalogs, createCatalog } from "./catalogs.ts";
import { isBuiltinClaim } from "./claimable-types.ts";
import {
  bindingClaims,
  claimedGroup,
  claimSelectorMatches,
  exportClaims,
  isSameClaim,
  type PermissionClaim,
} from "./claims.ts";
import { type Directory, logicalClusterOf, storages } from "./directory.ts";
import { claimLabelPrefix, claimValue, exportHash, exportLabel, reflexiveClaimValue } from "./names.ts";

/** A type that an export's virtual workspace serves. */
type ServedResource = Readonly<{
  definition: ResourceDefinition;
  /** Origin of the type. kcp keeps serving a type while its origin is unchanged. */
  source: string;
  /** Claimed objects are visible only with the claim's label. */
  label?: Readonly<{ key: string; values: readonly string[] }> | undefined;
  closing: AbortController;
}>;

type ServedResources = Readonly<{
  types: readonly ServedResource[];
  catalog: Catalog;
  byDefinition: ReadonlyMap<string, ServedResource>;
}>;

/** The virtual workspaces of exports. Each shows a provider the objects of its consumers. */
export interface VirtualWorkspaces {
  /** Resolves a path in the virtual workspace of an export; the logical cluster is a consumer's, or "*". */
  resolve(request: VirtualWorkspacePath): ApiRoot;
  /** Updates the served types after an export changed or was deleted. */
  refresh(exportCluster: string, exportName: string): void;
}

export type VirtualWorkspacePath = Readonly<{
  exportCluster: string;
  exportName: string;
  logicalCluster: string;
  path: string;
}>;

export function createVirtualWorkspaces({
  directory,
  catalogs,
  authorizer,
}: Readonly<{ directory: Directory; catalogs: Catalogs; authorizer: KcpAuthorizer }>): VirtualWorkspaces {
  const sets = new Map<string, ServedResources>();

  const refresh = (exportCluster: string, exportName: string): void => {
    const key = `${exportCluster}/${exportName}`;
    const old = sets.get(key);
    const apiExport = directory.apiExport(exportCluster, exportName);
    if (apiExport === undefined || textAt(apiExport, "status", "identityHash") === "") {
      sets.delete(key);
      for (const { closing } of old?.types ?? []) closing.abort(typeRemoved());
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
      if (byDefinition.get(nameOf(definition))?.closing !== closing) closing.abort(typeRemoved());
    }
  };

  return {
    refresh,
    resolve: ({ exportCluster, exportName, logicalCluster, path }) => {
      const key = `${exportCluster}/${exportName}`;
      if (!sets.has(key)) refresh(exportCluster, exportName);
      const served = sets.get(key);
      const typeOf = (definition: ResourceDefinition): ServedResource | undefined =>
        served?.byDefinition.get(nameOf(definition));
      const { group, version, resource } = parseRequestInfo("GET", path, new URLSearchParams());
      const isFiltered = served?.byDefinition.get(`${group}/${version}/${resource}`)?.label !== undefined;
      return {
        logicalCluster,
        path,
        catalog: served?.catalog ?? createCatalog([]),
        authorize: (user, attributes) =>
          authorize({ directory, authorizer, exportCluster, exportName, logicalCluster, user, attributes }),
        // Only an unfiltered list can have a remainingItemCount.
        visible: isFiltered
          ? (definition, object) => {
              const label = typeOf(definition)?.label;
              return label === undefined || label.values.includes(object.metadata.labels?.[label.key] ?? "");
            }
          : undefined,
        admit: (target, object) => admit(directory, { exportCluster, exportName, logicalCluster }, target, object),
        closed: (definition) => typeOf(definition)?.closing.signal ?? AbortSignal.abort(),
      };
    },
  };
}

/** The error that a real kcp sends to watchers of a removed type before it ends their streams. */
const typeRemoved = (): ApiFailure => {
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
): readonly Omit<ServedResource, "closing">[] {
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

/** Virtual workspaces do not serve `/scale`. */
function withoutScale(definition: ResourceDefinition): ResourceDefinition {
  const { scale: _, ...rest } = definition;
  return rest;
}

/** A built-in type as a virtual workspace serves it: like a bound type, by its schema only. */
const asClaimed = (definition: ResourceDefinition): ResourceDefinition => ({
  ...withoutScale(definition),
  flavor: "bound",
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
      const schema = directory.schema(logicalClusterOf(other), textAt(item, "schema"));
      if (schema !== undefined) return catalogs.exported(schema, identityHash).map(withoutScale);
    }
  }
  return [];
}

type AuthorizationRequest = Readonly<{
  directory: Directory;
  authorizer: KcpAuthorizer;
  exportCluster: string;
  exportName: string;
  logicalCluster: string;
  user: User;
  attributes: Attributes;
}>;

/**
 * Checks in kcp's order: the export exists, the consumer's binding grants the type, the provider has access to the
 * content, the path is supported.
 */
function authorize({
  directory,
  authorizer,
  exportCluster,
  exportName,
  logicalCluster,
  user,
  attributes,
}: AuthorizationRequest): void {
  const denied = forbiddenRequest(user, attributes, "access denied");
  const isWildcard = logicalCluster === "*";
  const isResource = attributes.resource !== "";
  const apiExport = directory.apiExport(exportCluster, exportName);
  if (!isWildcard && isResource) {
    if (apiExport === undefined) throw exportNotFound(exportName);
    const binding = findBinding(directory, { logicalCluster, exportCluster, exportName });
    if (binding === undefined || !isGranted(binding, apiExport, attributes)) throw denied;
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
  const providerCluster = exportCluster.includes(":")
    ? (directory.logicalClusterAt(exportCluster) ?? "")
    : exportCluster;
  if (!authorizer.decide(providerCluster, user, content)) throw denied;
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
  // A patch starts with a read, which fails with "not found".
  if (verb === "patch") throw objectNotFound({ group, plural: resource }, name);
  if (verb !== "list" && verb !== "watch") throw wildcardNotFound();
  if (namespace !== "" && !(group === "" && resource === "namespaces")) {
    const message = "cross-cluster LIST and WATCH are required to be cross-namespace, not scoped to namespace";
    throw new ApiFailure(400, "", `${message} ${namespace}`);
  }
  const isOwn = listAt(apiExport, "spec", "resources").some(
    (item) => textAt(item, "name") === resource && textAt(item, "group") === group,
  );
  const isServed = directory
    .bindingsOf(exportCluster, exportName)
    .some((binding) => listAt(binding, "status", "boundResources").some((item) => isResourceOf(item, group, resource)));
  if (isOwn && !isServed) throw wildcardNotFound();
}

const wildcardNotFound = (): ApiFailure => {
  const plain = resourceNotFound();
  const causes = [{ reason: "UnexpectedServerResponse", message: "404 page not found" }];
  return new ApiFailure(404, "NotFound", plain.message, { causes });
};

const isResourceOf = (item: unknown, group: string, resource: string): boolean =>
  textAt(item, "group") === group && textAt(item, "resource") === resource;

type Consumer = Readonly<{ logicalCluster: string; exportCluster: string; exportName: string }>;

function findBinding(
  directory: Directory,
  { logicalCluster, exportCluster, exportName }: Consumer,
): KubeObject | undefined {
  return directory.bindings(logicalCluster).find((binding) => {
    if (textAt(binding, "spec", "reference", "export", "name") !== exportName) return false;
    const boundTo = textAt(binding, "status", "apiExportClusterName");
    return (
      boundTo === exportCluster ||
      (boundTo === "" && textAt(binding, "spec", "reference", "export", "path") === exportCluster)
    );
  });
}

/**
 * Whether a binding grants access: to its own types, to claims on which export and binding agree, and read access to
 * bindings.
 */
function isGranted(binding: KubeObject, apiExport: KubeObject, { verb, group, resource }: Attributes): boolean {
  if (listAt(binding, "status", "boundResources").some((item) => isResourceOf(item, group, resource))) return true;
  for (const claim of bindingClaims(binding)) {
    if (!claim.accepted || claim.resource !== resource || claim.group !== claimedGroup(group, resource)) continue;
    const exported = exportClaims(apiExport).find((other) => isSameClaim(other, claim));
    const both = claim.verbs.filter((item) => exported?.verbs.includes(item) === true);
    if (both.includes(verb) || both.includes("*")) return true;
  }
  return group === "apis.kcp.io" && resource === "apibindings" && ["get", "list", "watch"].includes(verb);
}

/** Enforces the selector of a claim on writes: missing labels are added, conflicting labels are rejected. */
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
  if (!claimSelectorMatches(claim.selector, labels)) {
    throw forbiddenObject(definition, name, "object does not match required labels");
  }
}
