import type { LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
// Not the package's index: it also loads fetch, web sockets, caches and mocks, 14 MB of memory and 70 ms for nothing.
import request from "undici/lib/api/api-request.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { parseServerAddress } from "./server-address.ts";
import type { Endpoint, Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { connectTimeoutMs, idleTimeoutMs, largestBodyBytes, requestConnections } from "./transport-limits.ts";

export type UndiciTransportOptions = Readonly<{
  /** @default 16 */
  connections?: number | undefined;
  /** How many more are opened when requests queue up; they are closed soon after they were needed. @default 0 */
  spareConnections?: number | undefined;
  /** @default 5 seconds */
  connectTimeoutMs?: number | undefined;
  /** @default 256 MiB */
  largestBodyBytes?: number | undefined;
  /** Resolves the server's name, for callers that check where they connect to. @default the system's */
  lookup?: LookupFunction | undefined;
}>;

/** So many requests a connection has before spare ones are worth their handshakes. */
const fewRequests = 3;
/** A rush has pauses; beyond that a spare connection only takes memory. */
const spareIdleMs = 2_000;

/** Creates the transport for processes that live long: the fastest one, and the slowest to load. */
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
  // As many connections as there are watches: a watch never waits for another one, nor a request for a watch.
  const streams = new Pool(origin, { ...shared, connections: null });

  let closing: Promise<void> | undefined;
  /** Requests that the connections which are kept have, or that wait for them. */
  let kept = 0;

  return {
    send: async (wanted) => {
      if (wanted.stream === true) return responseOf(await request.call(streams, optionsOf(wanted)));
      if (spare !== undefined && kept >= connections * fewRequests) {
        return responseOf(await request.call(spare, optionsOf(wanted)));
      }
      kept += 1;
      try {
        return responseOf(await request.call(requests, optionsOf(wanted)));
      } finally {
        kept -= 1;
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
  // Whoever reads the body meets its error there; one that is dropped must not bring the process down.
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
