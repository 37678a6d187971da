import { forbiddenRequest } from "../auth/rbac.ts";
import { badRequest, objectNotFound, unexpectedError } from "../machinery/api-errors.ts";
import type { ApiRoot, Frontend } from "../server/frontend.ts";
import type { ApiRequest, User } from "../server/http.ts";
import { type KcpAuthorizer, originClusterKey } from "./authorization.ts";
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

/**
 * Resolves request paths: workspaces by path or logical cluster name, and virtual workspaces of exports. The server's
 * root path serves nothing.
 */
export function createKcpFrontend({
  directory,
  catalogs,
  authorizer,
  virtualWorkspaces,
  authenticate,
}: KcpFrontendOptions): Frontend {
  const emptyCatalog = createCatalog([]);

  const workspace = (logicalCluster: string, path: string): ApiRoot => ({
    logicalCluster,
    path,
    catalog: catalogs.of(logicalCluster),
    authorize: (user, attributes) => {
      if (!authorizer.decide(logicalCluster, user, attributes)) throw forbiddenRequest(user, attributes, denied);
    },
  });

  const virtualWorkspace = (path: string): ApiRoot => {
    const [, exportCluster = "", exportName = "", logicalCluster, rest = ""] =
      /^\/services\/apiexport\/([^/]+)\/([^/]+)\/clusters\/([^/]*)(\/.*)?$/.exec(path) ?? [];
    if (logicalCluster === "") {
      const why = "error getting valid cluster from context: cluster path is empty in the request context";
      throw unexpectedError(`Internal Server Error: ${JSON.stringify(path)}: ${why}`);
    }
    // Virtual workspaces address a consumer by the name of its logical cluster, not by path.
    if (logicalCluster === undefined || (logicalCluster.includes(":") && !logicalCluster.startsWith("system:"))) {
      return {
        logicalCluster: "",
        path,
        catalog: emptyCatalog,
        authorize: (user, attributes) => {
          throw forbiddenRequest(user, attributes, "Path not resolved to a valid virtual workspace");
        },
      };
    }
    return virtualWorkspaces.resolve({ exportCluster, exportName, logicalCluster, path: rest === "" ? "/" : rest });
  };

  return {
    authenticate,
    resolve: (path, user) => {
      if (path.startsWith("/services/")) return virtualWorkspace(path);
      const [, workspacePath = "", rest = ""] = /^\/clusters\/([^/]*)(\/.*)?$/.exec(path) ?? [];
      if (workspacePath === "") {
        // Without a workspace in the path, a service account gets its own workspace and other users get none.
        const origin = user.extra?.[originClusterKey]?.[0];
        return workspace(origin ?? "", path.startsWith("/clusters/") ? "/" : path);
      }
      const below = rest === "" ? "/" : rest;
      if (workspacePath === "*") return workspace("*", below);
      if (!isValidPath(workspacePath)) throw badRequest(`invalid cluster: "${workspacePath}" does not match the regex`);
      const logicalCluster = workspacePath.startsWith("system:")
        ? workspacePath
        : directory.logicalClusterAt(workspacePath);
      if (logicalCluster === undefined)
        throw objectNotFound({ group: "tenancy.kcp.io", plural: "workspaces" }, workspacePath);
      return workspace(logicalCluster, below);
    },
  };
}
