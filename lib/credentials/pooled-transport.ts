import type { LookupFunction } from "node:net";
import { createUndiciTransport } from "@tmc/kube/undici-transport.ts";
import { checkedTransports } from "./checked-transport.ts";
import type { OpenTransport } from "./connections.ts";
import type { EndpointRules } from "./endpoint-rules.ts";

/** Far more than a cluster's lists need; a server that a tenant names must not take the process's memory. */
const largestBodyBytes = 64 * 1024 * 1024;
/** Every registered cluster has a pool of its own, and an idle connection takes 0.14 MB: with four of them, half of all memory. */
const connections = 2;
/** Three hundred workloads at once want more, as many as there are workers for them: two had each wait for a tenth of a second. */
const spareConnections = 30;

/** Opens pooled connections for processes that live long; servers that tenants name are checked as the rules say. */
export function pooledTransports(rules: EndpointRules, resolve?: LookupFunction): OpenTransport {
  return checkedTransports(
    rules,
    (endpoint, { lookup }) =>
      createUndiciTransport(endpoint, { connections, spareConnections, largestBodyBytes, lookup }),
    resolve,
  );
}
