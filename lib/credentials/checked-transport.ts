import { isIP, type LookupFunction } from "node:net";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseServerAddress } from "@tmc/kube/server-address.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import type { OpenTransport } from "./connections.ts";
import { createCheckedLookup, type EndpointRules, serverRefusal } from "./endpoint-rules.ts";

/** Opens a transport; with a lookup, it connects to no address that this has not given. */
export type OpenWithLookup = (endpoint: Endpoint, options: Readonly<{ lookup?: LookupFunction }>) => Transport;

/**
 * Opens transports that hold servers named by tenants to the rules. Whatever is refused is so when something is sent, with
 * the fault "forbidden": a name may lead elsewhere the next time. Names are asked of `resolve`, or of the system.
 */
export function checkedTransports(rules: EndpointRules, open: OpenWithLookup, resolve?: LookupFunction): OpenTransport {
  const lookup = createCheckedLookup(rules, resolve);
  return (endpoint, { givenBy }) => {
    if (givenBy !== "tenant") return open(endpoint, {});
    // A connection to a bare address looks nothing up.
    const isAddress = isIP(parseServerAddress(endpoint.server).hostname) !== 0;
    const refusal = isAddress ? serverRefusal(endpoint.server, rules) : undefined;
    return refusal === undefined ? open(endpoint, { lookup }) : refusingTransport(refusal);
  };
}

function refusingTransport(refusal: string): Transport {
  return {
    send: () => Promise.reject(new ControllerError("forbidden", refusal)),
    close: () => Promise.resolve(),
  };
}
