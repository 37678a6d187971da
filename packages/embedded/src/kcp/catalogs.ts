import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { crdStorage } from "../custom-definitions.ts";
import type { Catalog, ResourceDefinition, ResourceHooks } from "../definition.ts";
import { listAt, textAt } from "../fields.ts";
import type { Store } from "../store.ts";
import type { ExportOfType } from "./authorization.ts";
import { type Directory, storages } from "./directory.ts";
import { definitionsOf, type TypeSpec } from "./kcp-types.ts";

/** A fixed set of types. */
export function createCatalog(definitions: readonly ResourceDefinition[]): Catalog {
  const byName = new Map(definitions.map((item) => [`${item.group}/${item.version}/${item.plural}`, item]));
  return {
    plainGroups: true,
    definitions: () => definitions,
    find: (group, version, plural) => byName.get(`${group}/${version}/${plural}`),
  };
}

/** Where the objects of an exported type are kept: two exports' types of one name never meet. */
export const boundStorage = (group: string, plural: string, identity: string): string =>
  `${group === "" ? plural : `${plural}.${group}`}:${identity}`;

/** What every workspace serves, and the types that exports bring into some. */
export interface Catalogs {
  of(cluster: string): Catalog;
  /** The types that an APIResourceSchema describes, under an export's identity; the same objects each time. */
  exported(schema: KubeObject, identity: string): readonly ResourceDefinition[];
  readonly exportOfType: ExportOfType;
  stop(): void;
}

export type CatalogsOptions = Readonly<{
  store: Store;
  directory: Directory;
  /** Served everywhere. */
  common: readonly ResourceDefinition[];
  /** The types of a custom resource definition that are served now. */
  custom: (crd: KubeObject) => readonly ResourceDefinition[];
  /** The rules of an exported type that is kcp's own. */
  hooksOf: (group: string, plural: string) => ResourceHooks | undefined;
  decorate: (definition: ResourceDefinition) => ResourceDefinition;
}>;

export function createCatalogs(options: CatalogsOptions): Catalogs {
  const { store, directory, decorate } = options;
  const common = options.common.map(decorate);
  const everywhere = createCatalog(common);
  const commonKeys = new Set(common.map(({ group, plural }) => `${group}/${plural}`));
  const catalogs = new Map<string, Catalog>();
  // Types outlive their schemas: a bound type is served for as long as its binding names it.
  const byIdentity = new Map<string, readonly ResourceDefinition[]>();

  const unsubscribe = store.subscribe(({ key: { storage, cluster } }) => {
    if (storage === storages.bindings || storage === crdStorage) catalogs.delete(cluster);
  });

  const exported = (schema: KubeObject, identity: string): readonly ResourceDefinition[] => {
    const key = `${schema.metadata.uid ?? ""}:${identity}`;
    const known = byIdentity.get(key);
    if (known !== undefined) return known;
    // Its shape was checked when the schema was created, and it cannot change.
    const spec = schema.spec as TypeSpec;
    const { group, names } = spec;
    const made = definitionsOf(
      spec,
      boundStorage(group, names.plural, identity),
      options.hooksOf(group, names.plural),
    ).map(decorate);
    byIdentity.set(key, made);
    return made;
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

  const made = (cluster: string): Catalog => {
    const fromBindings = directory.bindings(cluster).flatMap(bound);
    const taken = new Set([...commonKeys, ...fromBindings.map(({ group, plural }) => `${group}/${plural}`)]);
    const fromCrds = store
      .list(crdStorage, { cluster })
      .flatMap((crd) => options.custom(crd))
      .filter(({ group, plural }) => !taken.has(`${group}/${plural}`))
      .map(decorate);
    if (fromBindings.length === 0 && fromCrds.length === 0) return everywhere;
    return createCatalog([...common, ...fromBindings, ...fromCrds]);
  };

  return {
    of: (cluster) => {
      if (directory.logicalCluster(cluster) === undefined) return everywhere;
      const known = catalogs.get(cluster) ?? made(cluster);
      catalogs.set(cluster, known);
      return known;
    },
    exported,
    exportOfType: (cluster, group, plural) => {
      for (const binding of directory.bindings(cluster)) {
        const isBound = listAt(binding, "status", "boundResources").some(
          (resource) => textAt(resource, "resource") === plural && textAt(resource, "group") === group,
        );
        if (isBound) {
          return {
            cluster: textAt(binding, "status", "apiExportClusterName"),
            name: textAt(binding, "spec", "reference", "export", "name"),
          };
        }
      }
      return undefined;
    },
    stop: unsubscribe,
  };
}
