import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog, ResourceDefinition } from "./definition.ts";
import type { ApiRequest, User } from "./http.ts";
import type { ObjectTarget } from "./operations.ts";

/** What a request wants to do, in the words of RBAC. */
export type Attributes = Readonly<{
  /** get, list, watch, create, update, patch, delete, deletecollection; for other paths the method in lower case. */
  verb: string;
  group: string;
  version: string;
  /** Empty for a path that is no resource. */
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  /** The path below the place, for what is no resource: `/readyz`. */
  path: string;
}>;

/** Where a request leads: the part of the server that its path names, before the ordinary Kubernetes path begins. */
export type Place = Readonly<{
  /** A logical cluster's name, "*" for all that the place shows, empty on a plain cluster. */
  cluster: string;
  /** The ordinary path: `/apis/apps/v1/namespaces/default/deployments/web`, `/openapi/v3`, `/version`. */
  path: string;
  catalog: Catalog;
  /** Refuses by throwing an `ApiFailure`; called for every request, reviews and discovery included. */
  authorize: (user: User, attributes: Attributes) => void;
  /** A virtual workspace shows only some objects of a type. */
  visible?: ((definition: ResourceDefinition, object: KubeObject) => boolean) | undefined;
  /** A virtual workspace refuses some writes (claims' selectors); throws an `ApiFailure`. */
  admit?: ((target: ObjectTarget, object: KubeObject, user: User) => void) | undefined;
  /** Ends when what the place serves is torn down (kcp ends watches when an export's schema changes). */
  closed?: ((definition: ResourceDefinition) => AbortSignal) | undefined;
}>;

/** Tells a server's places apart: one for a plain cluster, workspaces and virtual workspaces for kcp. */
export interface Frontend {
  /** Throws an `ApiFailure` where the path leads nowhere. */
  resolve(path: string, user: User): Place;
  /** Who sent it; throws 401. Anonymous where nothing was shown. */
  authenticate(request: ApiRequest): User;
}
