import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { type Clock, systemClock } from "../clock.ts";
import { parseServerAddress } from "../kubeconfig/server-address.ts";
import type { Endpoint, Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { connectTimeoutMs, idleTimeoutMs, largestBodyBytes, requestConnections } from "./transport-limits.ts";

export type HttpsTransportOptions = Readonly<{
  /** @default 16 */
  connections?: number | undefined;
  /** @default 5 seconds */
  connectTimeoutMs?: number | undefined;
  /** @default 256 MiB */
  largestBodyBytes?: number | undefined;
  /** Resolves the server's name, for callers that check the address before they connect. @default the system's */
  lookup?: LookupFunction | undefined;
  clock?: Clock | undefined;
}>;

/** Creates the transport for functions. It uses only Node's modules, which keeps their cold start short. */
export function createHttpsTransport(endpoint: Endpoint, options: HttpsTransportOptions = {}): Transport {
  const address = parseServerAddress(endpoint.server);
  const clock = options.clock ?? systemClock;
  const connectLimitMs = options.connectTimeoutMs ?? connectTimeoutMs;
  const bodyLimit = options.largestBodyBytes ?? largestBodyBytes;
  const secure = address.protocol === "https:";
  const createAgent = (maxSockets: number): HttpAgent => {
    // The agent's time-out closes idle sockets; on a socket in use it only emits an event without a listener.
    const pooling = {
      keepAlive: true,
      maxSockets,
      timeout: idleTimeoutMs,
      ...(options.lookup !== undefined && { lookup: options.lookup }),
    };
    if (!secure) return new HttpAgent(pooling);
    return new HttpsAgent({
      ...pooling,
      ca: endpoint.ca,
      cert: endpoint.certificate,
      key: endpoint.key,
      rejectUnauthorized: endpoint.insecureSkipTlsVerify !== true,
      ...(endpoint.serverName !== undefined && { servername: endpoint.serverName }),
    });
  };
  const requests = createAgent(options.connections ?? requestConnections);
  // As many connections as there are watches: a watch never waits for another one, nor a request for a watch.
  const streams = createAgent(Number.POSITIVE_INFINITY);
  let closed = false;

  const send = (request: TransportRequest): Promise<TransportResponse> =>
    new Promise((resolve, reject) => {
      if (closed) {
        reject(failure("ERR_TRANSPORT_CLOSED", "transport is closed"));
        return;
      }
      const settings: RequestOptions = {
        agent: request.stream === true ? streams : requests,
        hostname: address.hostname,
        port: address.port,
        method: request.method,
        path: request.path,
        headers: headersOf(request),
        ...(request.signal !== undefined && { signal: request.signal }),
      };
      const outgoing = secure ? httpsRequest(settings) : httpRequest(settings);
      const cancelHeaderTimer = clock.after(request.timeoutMs, () => {
        outgoing.destroy(failure("ERR_HEADERS_TIMEOUT", "no headers in time"));
      });
      outgoing.once("socket", (socket) => {
        limitConnecting(socket, { secure, clock, limitMs: connectLimitMs });
      });
      outgoing.once("response", (incoming) => {
        cancelHeaderTimer();
        resolve(responseOf(incoming, bodyLimit));
      });
      // `on`, not `once`: a request may fail a second time when its socket is closed after the response.
      outgoing.on("error", (error) => {
        cancelHeaderTimer();
        reject(error);
      });
      outgoing.end(request.body);
    });

  return {
    send,
    close: async () => {
      closed = true;
      streams.destroy();
      for (const idle of Object.values(requests.freeSockets).flat()) idle?.destroy();
    },
  };
}

function headersOf({ headers, repeatedHeaders, body }: TransportRequest): OutgoingHttpHeaders {
  const all: OutgoingHttpHeaders = { ...headers };
  // Node omits it for a DELETE, and the server would ignore the body.
  if (body !== undefined) all["content-length"] = Buffer.byteLength(body);
  for (const [name, values] of Object.entries(repeatedHeaders ?? {})) all[name] = [...values];
  return all;
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function limitConnecting(
  socket: Socket,
  { secure, clock, limitMs }: Readonly<{ secure: boolean; clock: Clock; limitMs: number }>,
): void {
  if (!socket.connecting) return; // a keep-alive connection
  const cancel = clock.after(limitMs, () => {
    socket.destroy(failure("ETIMEDOUT", "connect timed out"));
  });
  socket.once(secure ? "secureConnect" : "connect", cancel);
  socket.once("close", cancel);
}

function responseOf(incoming: IncomingMessage, bodyLimit: number): TransportResponse {
  // The reader of the body gets its error. The error of a dropped body must not end the process.
  incoming.on("error", () => {});
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return {
    status: incoming.statusCode ?? 0,
    headers,
    text: () => readText(incoming, bodyLimit),
    chunks: () => incoming,
    cancel: () => void incoming.destroy(),
  };
}

function readText(incoming: IncomingMessage, bodyLimit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    if (incoming.destroyed && !incoming.complete) {
      reject(incoming.errored ?? failure("ECONNRESET", "answer was cut"));
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bodyLimit) {
        incoming.destroy(failure("ERR_BODY_TOO_LARGE", "answer is too large"));
        return;
      }
      chunks.push(chunk);
    });
    incoming.once("end", () => resolve(Buffer.concat(chunks, bytes).toString("utf8")));
    incoming.once("error", reject);
    incoming.once("close", () => reject(failure("ECONNRESET", "answer was cut")));
  });
}
