import type { Authenticator } from "../auth/authenticator.ts";
import { forbiddenRequest, isAllowed, type RbacSource } from "../auth/rbac.ts";
import { crdStorage, customDefinitionsOf } from "../definitions/custom-definitions.ts";
import type { Catalog, ResourceDefinition } from "../definitions/definition.ts";
import type { Frontend } from "../server/frontend.ts";
import type { Store } from "../storage/store.ts";

/** Creates the frontend of a Kubernetes cluster: one API root for all paths, authorization by RBAC. */
export function createClusterFrontend(
  options: Readonly<{ catalog: Catalog; rbac: RbacSource; authenticator: Authenticator }>,
): Frontend {
  const { catalog, rbac, authenticator } = options;
  return {
    authenticate: (request) => authenticator.authenticate(request),
    resolve: (path) => ({
      logicalCluster: "",
      path,
      catalog,
      authorize: (user, attributes) => {
        const { allowed, reason } = isAllowed(rbac, user, attributes);
        if (!allowed) throw forbiddenRequest(user, attributes, reason);
      },
    }),
  };
}

/** Creates the catalog of a Kubernetes cluster: built-in types and the types of its custom resource definitions. */
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
    const custom = store.list(crdStorage, { logicalCluster: "" }).flatMap((crd) => customDefinitionsOf(crd));
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
