import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog, ResourceDefinition } from "../definitions/definition.ts";
import type { ObjectTarget } from "../storage/operations.ts";
import type { ApiRequest, User } from "./http.ts";

/** A request in terms of RBAC. */
export type Attributes = Readonly<{
  /** get, list, watch, create, update, patch, delete, deletecollection; for other paths the method in lower case. */
  verb: string;
  group: string;
  version: string;
  /** Empty for a non-resource path. */
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  /** The path below the API root, for non-resource requests: `/readyz`. */
  path: string;
}>;

/** The API tree that a request's path leads to: a Kubernetes cluster, a workspace or a virtual workspace. */
export type ApiRoot = Readonly<{
  /** A logical cluster, "*" for all that the API root covers, empty on a Kubernetes cluster. */
  logicalCluster: string;
  /** The rest of the path: `/apis/apps/v1/namespaces/default/deployments/web`, `/openapi/v3`, `/version`. */
  path: string;
  catalog: Catalog;
  /** Rejects by throwing an `ApiFailure`; called for every request, also for reviews and discovery. */
  authorize: (user: User, attributes: Attributes) => void;
  /** Filters objects, as virtual workspaces do. */
  visible?: ((definition: ResourceDefinition, object: KubeObject) => boolean) | undefined;
  /** Rejects writes by throwing an `ApiFailure`, as virtual workspaces do for the selectors of claims. */
  admit?: ((target: ObjectTarget, object: KubeObject, user: User) => void) | undefined;
  /** Aborts when the type is no longer served (kcp ends watches when an export's schema changes). */
  closed?: ((definition: ResourceDefinition) => AbortSignal) | undefined;
}>;

/** Maps request paths to API roots, and credentials to users. */
export interface Frontend {
  /** Throws an `ApiFailure` for an unknown path. */
  resolve(path: string, user: User): ApiRoot;
  /** Throws 401 for invalid credentials; returns the anonymous user if there are none. */
  authenticate(request: ApiRequest): User;
}
