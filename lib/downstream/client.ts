import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { ObjectKey } from "../model/key.ts";
import type { Downstream } from "../sync/downstream.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { type CachedCopies, createCopyReads } from "./copy-reads.ts";
import { createCopyWrites } from "./copy-writes.ts";
import { createDownstreamTypes } from "./crds.ts";
import { createDownstreamNamespaces } from "./namespaces.ts";
import { defaultRateLimit, type RateLimit } from "./rate-limit.ts";
import { createSessions } from "./session.ts";
import type { WatchSubscriptions } from "./watch-subscriptions.ts";

export type DownstreamOptions = Readonly<{
  clientFor: ClientFor;
  /** The watch cache of copies. @default every read is a request */
  copies?: CachedCopies | undefined;
  /** Receives the types that sync subscribes to on a cluster. */
  subscriptions?: Pick<WatchSubscriptions, "subscribe"> | undefined;
  clock: Clock;
  /** The rate limit of each cluster. @default 200 requests per second, bursts of 400 */
  rate?: RateLimit | undefined;
  /** Timeout of one request; a short one detects soon that a cluster hangs. @default the client's own */
  callSeconds?: number | undefined;
  /** Workload types besides the built-in ones: a namespace with objects of such a type is not empty. */
  types?: readonly WorkloadType[] | undefined;
  /** A cluster rejected its credentials: others should be found. */
  onUnauthorized?: ((registration: ObjectKey) => void) | undefined;
}>;

/** Creates the interface through which sync reads and writes registered clusters. */
export function createDownstream(options: DownstreamOptions): Downstream {
  const { copies, rate = defaultRateLimit } = options;
  const withSession = createSessions({ ...options, rate });
  const namespaces = createDownstreamNamespaces(options.types ?? []);
  const types = createDownstreamTypes(options.clock);
  const { get, ...reads } = createCopyReads(withSession, copies);
  return {
    ...reads,
    ...createCopyWrites({ withSession, reads: { get }, copies, namespaces, types }),
    subscribe: (registration, subscribed) => options.subscriptions?.subscribe(registration, subscribed),
    serves: (registration, type, signal) =>
      withSession(registration, signal, (session) => types.serves(session, type, signal)),
    ensureType: (registration, desired, signal) =>
      withSession(registration, signal, (session) => types.ensure(session, desired, signal)),
    ensureNamespace: (registration, locator, signal) =>
      withSession(registration, signal, (session) => namespaces.ensure(session, registration, locator, signal)),
    removeNamespace: (registration, locator, signal) =>
      withSession(registration, signal, (session) => namespaces.remove(session, locator, signal)),
  };
}
