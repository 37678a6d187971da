import { isIP, type LookupFunction } from "node:net";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseServerAddress } from "@tmc/kube/kubeconfig/server-address.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import type { OpenTransport } from "./connections.ts";
import { createCheckedLookup, type EndpointRules, serverRejection } from "./endpoint-rules.ts";

/** Opens a transport. If `lookup` is given, the transport connects only to addresses that it returned. */
export type OpenWithLookup = (endpoint: Endpoint, options: Readonly<{ lookup?: LookupFunction }>) => Transport;

/**
 * Creates an OpenTransport that applies the endpoint rules to servers that tenants provide.
 *
 * A rejected server fails when a request is sent, with the fault "forbidden", because a host name may resolve to another
 * address next time. `resolve` replaces the system's DNS lookup.
 */
export function checkedTransports(rules: EndpointRules, open: OpenWithLookup, resolve?: LookupFunction): OpenTransport {
  const lookup = createCheckedLookup(rules, resolve);
  return (endpoint, { providedBy }) => {
    if (providedBy !== "tenant") return open(endpoint, {});
    // Connections to an IP address do not call `lookup`, so the address is checked here.
    const isAddress = isIP(parseServerAddress(endpoint.server).hostname) !== 0;
    const rejection = isAddress ? serverRejection(endpoint.server, rules) : undefined;
    return rejection === undefined ? open(endpoint, { lookup }) : rejectingTransport(rejection);
  };
}

function rejectingTransport(rejection: string): Transport {
  return {
    send: () => Promise.reject(new ControllerError("forbidden", rejection)),
    close: () => Promise.resolve(),
  };
}
