import type { LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
// Not the package's index, which also loads fetch, web sockets, caches and mocks: 14 MB of memory and 70 ms.
import request from "undici/lib/api/api-request.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { parseServerAddress } from "../kubeconfig/server-address.ts";
import type { Endpoint, Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { connectTimeoutMs, idleTimeoutMs, largestBodyBytes, requestConnections } from "./transport-limits.ts";

export type UndiciTransportOptions = Readonly<{
  /** @default 16 */
  connections?: number | undefined;
  /** How many more connections are opened while requests queue up; they are closed soon after. @default 0 */
  spareConnections?: number | undefined;
  /** @default 5 seconds */
  connectTimeoutMs?: number | undefined;
  /** @default 256 MiB */
  largestBodyBytes?: number | undefined;
  /** Resolves the server's name, for callers that check the address before they connect. @default the system's */
  lookup?: LookupFunction | undefined;
}>;

/** Spare connections are worth their handshakes from this many requests per connection. */
const requestsPerConnection = 3;
/** A burst of requests has pauses; after this time an idle spare connection only takes memory. */
const spareIdleMs = 2_000;

/** Creates the transport for long-lived processes: the fastest one, and the slowest to load. */
export function createUndiciTransport(endpoint: Endpoint, options: UndiciTransportOptions = {}): Transport {
  const { origin } = parseServerAddress(endpoint.server);
  const shared: Pool.Options = {
    // HTTP/1.1: with many requests at once, several connections are twice as fast as one with HTTP/2.
    allowH2: false,
    keepAliveTimeout: idleTimeoutMs,
    connect: {
      timeout: options.connectTimeoutMs ?? connectTimeoutMs,
      rejectUnauthorized: endpoint.insecureSkipTlsVerify !== true,
      ...(endpoint.ca !== undefined && { ca: endpoint.ca }),
      ...(endpoint.certificate !== undefined && { cert: endpoint.certificate }),
      ...(endpoint.key !== undefined && { key: endpoint.key }),
      ...(endpoint.serverName !== undefined && { servername: endpoint.serverName }),
      ...(options.lookup !== undefined && { lookup: options.lookup }),
    },
  };
  const { connections = requestConnections, spareConnections = 0 } = options;
  const limited = { ...shared, maxResponseSize: options.largestBodyBytes ?? largestBodyBytes };
  const requests = new Pool(origin, { ...limited, connections });
  const spare =
    spareConnections === 0
      ? undefined
      : new Pool(origin, { ...limited, connections: spareConnections, keepAliveTimeout: spareIdleMs });
  // One connection per watch: no watch waits for another one, and no request waits for a watch.
  const streams = new Pool(origin, { ...shared, connections: null });

  let closing: Promise<void> | undefined;
  /** Requests that use a regular connection, or wait for one. */
  let activeRequests = 0;

  return {
    send: async (outgoing) => {
      if (outgoing.stream === true) return responseOf(await request.call(streams, optionsOf(outgoing)));
      if (spare !== undefined && activeRequests >= connections * requestsPerConnection) {
        return responseOf(await request.call(spare, optionsOf(outgoing)));
      }
      activeRequests += 1;
      try {
        return responseOf(await request.call(requests, optionsOf(outgoing)));
      } finally {
        activeRequests -= 1;
      }
    },
    close: () => {
      closing ??= Promise.all([requests.close(), spare?.close(), streams.destroy()]).then(() => {});
      return closing;
    },
  };
}

function optionsOf(request: TransportRequest): Dispatcher.RequestOptions {
  const { repeatedHeaders } = request;
  return {
    method: request.method,
    path: request.path,
    headers: repeatedHeaders === undefined ? request.headers : { ...request.headers, ...mutable(repeatedHeaders) },
    body: request.body ?? null,
    signal: request.signal ?? null,
    headersTimeout: request.timeoutMs,
    bodyTimeout: request.stream === true ? 0 : request.timeoutMs,
  };
}

function mutable(headers: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, [...values]]));
}

function responseOf({ statusCode, headers, body }: Dispatcher.ResponseData): TransportResponse {
  // The reader of the body gets its error. The error of a dropped body must not end the process.
  body.on("error", () => {});
  const flat: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  return {
    status: statusCode,
    headers: flat,
    text: () => body.text(),
    chunks: () => body,
    cancel: () => void body.destroy(),
  };
}
