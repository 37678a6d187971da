import type { LookupFunction } from "node:net";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { checkedTransports } from "./checked-transport.ts";
import type { OpenTransport } from "./connections.ts";
import type { EndpointRules } from "./endpoint-rules.ts";

/** More than any list of a cluster needs. It keeps a tenant's server from exhausting the process's memory. */
const maxBodyBytes = 64 * 1024 * 1024;
/** Each registered cluster has its own pool, and an idle connection takes 0.14 MB: four per cluster were half of all memory. */
const connections = 2;
/** Opened for bursts: with two connections, each of 300 concurrent workloads waited 0.1 s. There are 32 sync workers by default. */
const spareConnections = 30;

/** Opens pooled connections for long-running processes and applies the endpoint rules. */
export function pooledTransports(rules: EndpointRules, resolve?: LookupFunction): OpenTransport {
  return checkedTransports(
    rules,
    (endpoint, { lookup }) =>
      createUndiciTransport(endpoint, { connections, spareConnections, largestBodyBytes: maxBodyBytes, lookup }),
    resolve,
  );
}
