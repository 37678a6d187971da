import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { crdStorage } from "../definitions/custom-definitions.ts";
import type { Catalog, ResourceDefinition, ResourceHooks } from "../definitions/definition.ts";
import { listAt } from "../machinery/fields.ts";
import type { Store } from "../storage/store.ts";
import type { ExportOfType } from "./authorization.ts";
import { type Directory, storages } from "./directory.ts";
import { definitionsOfType, type TypeSpec } from "./kcp-types.ts";

/** Creates a catalog of fixed types. */
export function createCatalog(definitions: readonly ResourceDefinition[]): Catalog {
  const byName = new Map(definitions.map((item) => [`${item.group}/${item.version}/${item.plural}`, item]));
  return {
    plainGroups: true,
    definitions: () => definitions,
    find: (group, version, plural) => byName.get(`${group}/${version}/${plural}`),
  };
}

/**
 * Storage name of an exported type. It contains the identity, so that two exports with the same type do not share
 * objects.
 */
const boundStorage = (group: string, plural: string, identity: string): string =>
  `${group === "" ? plural : `${plural}.${group}`}:${identity}`;

/** The catalogs of all workspaces, and the types of exports. */
export interface Catalogs {
  of(logicalCluster: string): Catalog;
  /** Returns the types of an APIResourceSchema under an export's identity. Results are cached. */
  exported(schema: KubeObject, identity: string): readonly ResourceDefinition[];
  readonly exportOfType: ExportOfType;
  stop(): void;
}

export type CatalogsOptions = Readonly<{
  store: Store;
  directory: Directory;
  /** Served in every workspace. */
  common: readonly ResourceDefinition[];
  /** Returns the served types of a custom resource definition. */
  custom: (crd: KubeObject) => readonly ResourceDefinition[];
  /** Hooks for kcp's own exported types. */
  hooksOf: (group: string, plural: string) => ResourceHooks | undefined;
  decorate: (definition: ResourceDefinition) => ResourceDefinition;
}>;

export function createCatalogs(options: CatalogsOptions): Catalogs {
  const { store, directory, decorate } = options;
  const common = options.common.map(decorate);
  const everywhere = createCatalog(common);
  const commonKeys = new Set(common.map(({ group, plural }) => `${group}/${plural}`));
  const catalogs = new Map<string, Catalog>();
  // Kept after the schema is deleted: a bound type is served as long as its binding lists it.
  const byIdentity = new Map<string, readonly ResourceDefinition[]>();

  const unsubscribe = store.subscribe(({ key: { storage, logicalCluster } }) => {
    if (storage === storages.bindings || storage === crdStorage) catalogs.delete(logicalCluster);
  });

  const exported = (schema: KubeObject, identity: string): readonly ResourceDefinition[] => {
    const key = `${schema.metadata.uid ?? ""}:${identity}`;
    const known = byIdentity.get(key);
    if (known !== undefined) return known;
    // Validated when the schema was created; it is immutable.
    const spec = schema.spec as TypeSpec;
    const { group, names } = spec;
    const definitions = definitionsOfType(
      spec,
      boundStorage(group, names.plural, identity),
      options.hooksOf(group, names.plural),
    ).map(decorate);
    byIdentity.set(key, definitions);
    return definitions;
  };

  const bound = (binding: KubeObject): readonly ResourceDefinition[] =>
    listAt(binding, "status", "boundResources").flatMap((resource) => {
      const identity = textAt(resource, "schema", "identityHash");
      const uid = textAt(resource, "schema", "UID");
      const known = byIdentity.get(`${uid}:${identity}`);
      if (known !== undefined) return known;
      const schema = directory.schema(
        textAt(binding, "status", "apiExportClusterName"),
        textAt(resource, "schema", "name"),
      );
      return schema === undefined || schema.metadata.uid !== uid ? [] : exported(schema, identity);
    });

  const buildCatalog = (logicalCluster: string): Catalog => {
    const fromBindings = directory.bindings(logicalCluster).flatMap(bound);
    const taken = new Set([...commonKeys, ...fromBindings.map(({ group, plural }) => `${group}/${plural}`)]);
    const fromCrds = store
      .list(crdStorage, { logicalCluster })
      .flatMap((crd) => options.custom(crd))
      .filter(({ group, plural }) => !taken.has(`${group}/${plural}`))
      .map(decorate);
    if (fromBindings.length === 0 && fromCrds.length === 0) return everywhere;
    return createCatalog([...common, ...fromBindings, ...fromCrds]);
  };

  return {
    of: (logicalCluster) => {
      if (directory.logicalCluster(logicalCluster) === undefined) return everywhere;
      const known = catalogs.get(logicalCluster) ?? buildCatalog(logicalCluster);
      catalogs.set(logicalCluster, known);
      return known;
    },
    exported,
    exportOfType: (logicalCluster, group, plural) => {
      for (const binding of directory.bindings(logicalCluster)) {
        const isBound = listAt(binding, "status", "boundResources").some(
          (resource) => textAt(resource, "resource") === plural && textAt(resource, "group") === group,
        );
        if (isBound) {
          return {
            logicalCluster: textAt(binding, "status", "apiExportClusterName"),
            name: textAt(binding, "spec", "reference", "export", "name"),
          };
        }
      }
      return undefined;
    },
    stop: unsubscribe,
  };
}
