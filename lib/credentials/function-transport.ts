import type { LookupFunction } from "node:net";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import { checkedTransports } from "./checked-transport.ts";
import type { OpenTransport } from "./connections.ts";
import type { EndpointRules } from "./endpoint-rules.ts";

/** Far more than a cluster's lists need, and less than a function has; a server that a tenant names must not take it all. */
const largestBodyBytes = 64 * 1024 * 1024;
/** A function works on a few keys at a time, and hardly ever on two of one cluster. */
const connections = 4;

/** Opens connections for functions, which start fast; servers that tenants name are checked as the rules say. */
export function functionTransports(rules: EndpointRules, resolve?: LookupFunction): OpenTransport {
  return checkedTransports(
    rules,
    (endpoint, { lookup }) => createHttpsTransport(endpoint, { connections, largestBodyBytes, lookup }),
    resolve,
  );
}
