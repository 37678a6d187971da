import { badRequest, objectNotFound, unforeseen } from "../api-errors.ts";
import { forbidden } from "../auth/rbac.ts";
import type { Frontend, Place } from "../frontend.ts";
import type { ApiRequest, User } from "../http.ts";
import { homeClusterKey, type KcpAuthorizer } from "./authorization.ts";
import { type Catalogs, createCatalog } from "./catalogs.ts";
import { type Directory, isValidPath } from "./directory.ts";
import type { VirtualWorkspaces } from "./virtual-workspace.ts";

export type KcpFrontendOptions = Readonly<{
  directory: Directory;
  catalogs: Catalogs;
  authorizer: KcpAuthorizer;
  virtualWorkspaces: VirtualWorkspaces;
  authenticate: (request: ApiRequest) => User;
}>;

const denied = "access denied";

/** Tells apart the places of a kcp server: workspaces by path or name, exports' virtual workspaces, and nothing at its root. */
export function createKcpFrontend({
  directory,
  catalogs,
  authorizer,
  virtualWorkspaces,
  authenticate,
}: KcpFrontendOptions): Frontend {
  const nothing = createCatalog([]);

  const workspace = (cluster: string, path: string): Place => ({
    cluster,
    path,
    catalog: catalogs.of(cluster),
    authorize: (user, attributes) => {
      if (!authorizer.decide(cluster, user, attributes)) throw forbidden(user, attributes, denied);
    },
  });

  const service = (path: string): Place => {
    const [, exportCluster = "", exportName = "", cluster, rest = ""] =
      /^\/services\/apiexport\/([^/]+)\/([^/]+)\/clusters\/([^/]*)(\/.*)?$/.exec(path) ?? [];
    if (cluster === "") {
      const why = "error getting valid cluster from context: cluster path is empty in the request context";
      throw unforeseen(`Internal Server Error: ${JSON.stringify(path)}: ${why}`);
    }
    // A consumer is named, never reached by a path.
    if (cluster === undefined || (cluster.includes(":") && !cluster.startsWith("system:"))) {
      return {
        cluster: "",
        path,
        catalog: nothing,
        authorize: (user, attributes) => {
          throw forbidden(user, attributes, "Path not resolved to a valid virtual workspace");
        },
      };
    }
    return virtualWorkspaces.place({ exportCluster, exportName, cluster, path: rest === "" ? "/" : rest });
  };

  return {
    authenticate,
    resolve: (path, user) => {
      if (path.startsWith("/services/")) return service(path);
      const [, given = "", rest = ""] = /^\/clusters\/([^/]*)(\/.*)?$/.exec(path) ?? [];
      if (given === "") {
        // Service accounts are at home where no workspace is named; nobody else is anywhere.
        const home = user.extra?.[homeClusterKey]?.[0];
        return workspace(home ?? "", path.startsWith("/clusters/") ? "/" : path);
      }
      const below = rest === "" ? "/" : rest;
      if (given === "*") return workspace("*", below);
      if (!isValidPath(given)) throw badRequest(`invalid cluster: "${given}" does not match the regex`);
      const cluster = given.startsWith("system:") ? given : directory.clusterAt(given);
      if (cluster === undefined) throw objectNotFound({ group: "tenancy.kcp.io", plural: "workspaces" }, given);
      return workspace(cluster, below);
    },
  };
}
