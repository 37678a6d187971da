import type { LookupFunction } from "node:net";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import { checkedTransports } from "./checked-transport.ts";
import type { OpenTransport } from "./connections.ts";
import type { EndpointRules } from "./endpoint-rules.ts";

/** More than any list of a cluster needs. It keeps a tenant's server from exhausting the function's memory. */
const maxBodyBytes = 64 * 1024 * 1024;
/** A function processes a few keys at a time, rarely two of one cluster. */
const connections = 4;

/** Opens connections for Lambda functions with `node:https`, which loads fast, and applies the endpoint rules. */
export function functionTransports(rules: EndpointRules, resolve?: LookupFunction): OpenTransport {
  return checkedTransports(
    rules,
    (endpoint, { lookup }) => createHttpsTransport(endpoint, { connections, largestBodyBytes: maxBodyBytes, lookup }),
    resolve,
  );
}
