import type { Authenticator } from "../auth/authenticator.ts";
import { forbidden, isAllowed, type RbacSource } from "../auth/rbac.ts";
import type { Catalog } from "../definition.ts";
import type { Frontend } from "../frontend.ts";

/** Creates the frontend of a plain cluster: one place, every path as it is, rights by RBAC. */
export function createClusterFrontend(
  options: Readonly<{ catalog: Catalog; rbac: RbacSource; authenticator: Authenticator }>,
): Frontend {
  const { catalog, rbac, authenticator } = options;
  return {
    authenticate: (request) => authenticator.authenticate(request),
    resolve: (path) => ({
      cluster: "",
      path,
      catalog,
      authorize: (user, attributes) => {
        const { allowed, reason } = isAllowed(rbac, user, attributes);
        if (!allowed) throw forbidden(user, attributes, reason);
      },
    }),
  };
}
