import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import type { Operations, ResourceTarget } from "../storage/operations.ts";
import type { Store } from "../storage/store.ts";
import type { FaultPlan, FaultSubject, Faults } from "./faults.ts";
import type { ApiRoot } from "./frontend.ts";
import type { ApiRequest, User } from "./http.ts";
import type { RequestInfo } from "./request-info.ts";

/** The parts of a server that handle resource requests. */
export type ServerParts = Readonly<{
  operations: Operations;
  store: Store;
  clock: Clock;
  faults: Faults;
  random: () => number;
}>;

/** One authorized request for a resource. */
export type AuthorizedRequest = Readonly<{
  request: ApiRequest;
  info: RequestInfo;
  apiRoot: ApiRoot;
  user: User;
  definition: ResourceDefinition;
  plan: FaultPlan;
  subject: FaultSubject;
  /** Warnings for the client, sent with successful and failed responses. */
  warnings: string[];
}>;

export const targetOf = ({ definition, apiRoot, info }: AuthorizedRequest): ResourceTarget => ({
  definition,
  logicalCluster: apiRoot.logicalCluster,
  ...(definition.namespaced && info.namespace !== "" ? { namespace: info.namespace } : {}),
});

export const viewOptions = ({ clock }: ServerParts, { request }: AuthorizedRequest) => ({
  now: clock.now(),
  includeObject: request.query.get("includeObject"),
});

/** The API root's filter for a type; undefined if it shows all objects. */
export function visibilityFilter({
  apiRoot,
  definition,
}: AuthorizedRequest): ((object: KubeObject) => boolean) | undefined {
  const { visible } = apiRoot;
  return visible === undefined ? undefined : (object) => visible(definition, object);
}
