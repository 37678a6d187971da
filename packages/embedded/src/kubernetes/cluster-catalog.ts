import { crdStorage, definitionsOf } from "../custom-definitions.ts";
import type { Catalog, ResourceDefinition } from "../definition.ts";
import type { Store } from "../store.ts";

/** Creates the catalog of a plain cluster: its built-in types, and what its custom resource definitions add at the moment. */
export function createClusterCatalog(builtin: readonly ResourceDefinition[], store: Store): Catalog {
  const builtinByName = new Map(builtin.map((definition) => [nameOf(definition), definition]));
  let all: readonly ResourceDefinition[] = builtin;
  let byName: ReadonlyMap<string, ResourceDefinition> = builtinByName;
  let changed = true;
  store.subscribe(({ key }) => {
    if (key.storage === crdStorage) changed = true;
  });
  const refresh = (): void => {
    if (!changed) return;
    changed = false;
    const custom = store.list(crdStorage, { cluster: "" }).flatMap((crd) => definitionsOf(crd));
    all = [...builtin, ...custom];
    byName = new Map([...custom.map((definition) => [nameOf(definition), definition] as const), ...builtinByName]);
  };
  return {
    definitions: () => {
      refresh();
      return all;
    },
    find: (group, version, plural) => {
      refresh();
      return byName.get(nameOf({ group, version, plural }));
    },
  };
}

const nameOf = ({ group, version, plural }: Pick<ResourceDefinition, "group" | "version" | "plural">): string =>
  `${group}/${version}/${plural}`;
