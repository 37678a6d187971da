import { createUndiciTransport } from "../kube/undici-transport.ts";
import type { OpenTransport } from "./connections.ts";
import { createCheckedLookup, type EndpointRules } from "./endpoint-rules.ts";

/** Far more than a cluster's lists need; a server that a tenant names must not take the process's memory. */
const largestBodyBytes = 64 * 1024 * 1024;
/** A probe is one request at a time, a sync a few; every registered cluster has a pool of its own. */
const connections = 4;

/** Opens pooled connections for processes that live long; servers that tenants name are checked as the rules say. */
export function pooledTransports(rules: EndpointRules): OpenTransport {
  const lookup = createCheckedLookup(rules);
  return (endpoint, { givenBy }) =>
    createUndiciTransport(endpoint, {
      connections,
      largestBodyBytes,
      ...(givenBy === "tenant" && { lookup }),
    });
}
