import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "./definition.ts";
import type { FaultPlan, FaultSubject, Faults } from "./faults.ts";
import type { Place } from "./frontend.ts";
import type { ApiRequest, User } from "./http.ts";
import type { Operations, Target } from "./operations.ts";
import type { RequestInfo } from "./request-info.ts";
import type { Store } from "./store.ts";

/** What is needed to answer requests about resources. */
export type ServerParts = Readonly<{
  operations: Operations;
  store: Store;
  clock: Clock;
  faults: Faults;
  random: () => number;
}>;

/** One request about a resource, resolved and allowed. */
export type ResourceRequest = Readonly<{
  request: ApiRequest;
  info: RequestInfo;
  place: Place;
  user: User;
  definition: ResourceDefinition;
  plan: FaultPlan;
  subject: FaultSubject;
  /** What the client is to be warned of, whether the request succeeds or not. */
  warnings: string[];
}>;

/** Where a request's operation happens. */
export const targetOf = ({ definition, place, info }: ResourceRequest): Target => ({
  definition,
  cluster: place.cluster,
  ...(definition.namespaced && info.namespace !== "" ? { namespace: info.namespace } : {}),
});

/** How the objects of an answer are shown. */
export const viewOptions = ({ clock }: ServerParts, { request }: ResourceRequest) => ({
  now: clock.now(),
  includeObject: request.query.get("includeObject"),
});

/** What a place shows of a type; undefined where it shows everything. */
export function visibleOf({ place, definition }: ResourceRequest): ((object: KubeObject) => boolean) | undefined {
  const { visible } = place;
  return visible === undefined ? undefined : (object) => visible(definition, object);
}
