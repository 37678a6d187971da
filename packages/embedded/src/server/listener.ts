import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { jsonFromProtobuf } from "../builtin/protobuf.ts";
import type { CertificateAuthority } from "../tls/certificates.ts";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler } from "./http.ts";
import { maxBodyBytes } from "./request-body.ts";

export type ListenerOptions = Readonly<{
  handler: Handler;
  authority: CertificateAuthority;
  /** @default a free port */
  port?: number | undefined;
}>;

export interface Listener {
  /** `https://127.0.0.1:41234`. */
  readonly url: string;
  /** Closes all connections and the port. */
  close(): Promise<void>;
}

const address = "127.0.0.1";

/**
 * Serves a handler over TLS on loopback. Client certificates are optional, and trusted if the authority signed them.
 */
export async function createListener({ handler, authority, port = 0 }: ListenerOptions): Promise<Listener> {
  const { certificate, key } = authority.issueServing([address, "localhost"]);
  const server = createServer(
    {
      cert: certificate,
      key,
      ca: authority.certificate,
      requestCert: true,
      // A client without a valid certificate may have a token.
      rejectUnauthorized: false,
      keepAliveTimeout: 120_000,
    },
    (incoming, outgoing) => {
      void serve(handler, incoming, outgoing);
    },
  );
  // Clients may disconnect during the handshake.
  server.on("tlsClientError", () => {});
  server.on("clientError", (_error, socket) => socket.destroy());
  // Watches have no time limit.
  server.requestTimeout = 0;
  server.timeout = 0;
  server.listen(port, address);
  await once(server, "listening");
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    url: `https://${address}:${boundPort}`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Shared, because creating an error per request costs more than most requests. */
const clientDisconnected = new Error("the client disconnected");

async function serve(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const disconnect = new AbortController();
  outgoing.once("close", () => disconnect.abort(clientDisconnected));
  try {
    const bytes = await readBody(incoming);
    const response = await handler(requestOf(incoming, bytes, disconnect.signal));
    await sendResponse(incoming, outgoing, response, disconnect.signal);
  } catch (error) {
    // After an injected fault or a disconnect the connection cannot be used.
    if (!(error instanceof ConnectionReset) && !disconnect.signal.aborted && !outgoing.headersSent)
      outgoing.writeHead(500);
    incoming.socket.destroy();
  }
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const { method } = incoming;
  const length = incoming.headers["content-length"];
  if (method === "GET" || method === "HEAD" || length === "0") return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    // Without an encoding the stream yields buffers.
    const bytes = chunk as Buffer;
    size += bytes.length;
    // A body over the limit is read to the end, so that the client gets a response, but not kept.
    if (size <= maxBodyBytes + 1) chunks.push(bytes);
  }
  return size > maxBodyBytes ? Buffer.alloc(maxBodyBytes + 1, " ") : Buffer.concat(chunks);
}

function requestOf(incoming: IncomingMessage, bytes: Buffer, signal: AbortSignal): ApiRequest {
  const { path, query } = splitUrl(incoming.url ?? "/");
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  const certificate = certificateOf(incoming);
  // kubectl sends built-in types as protobuf; the rest of the server handles only JSON and YAML.
  const decoded = jsonFromProtobuf(bytes, headers["content-type"]);
  if (decoded !== undefined) headers["content-type"] = "application/json";
  const body = decoded ?? bytes.toString();
  return {
    method: incoming.method ?? "GET",
    path,
    query,
    headers,
    body,
    signal,
    ...(certificate === undefined ? {} : { certificate }),
  };
}

/** Splits path and query, and decodes each path segment. */
export function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const at = url.indexOf("?");
  const raw = at < 0 ? url : url.slice(0, at);
  const query = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  if (!raw.includes("%")) return { path: raw, query };
  try {
    return { path: raw.split("/").map(decodeURIComponent).join("/"), query };
  } catch {
    return { path: raw, query };
  }
}

type Identity = ApiRequest["certificate"];
const identities = new WeakMap<TLSSocket, Readonly<{ identity: Identity }>>();

function certificateOf({ socket }: IncomingMessage): Identity {
  // The server accepts only TLS connections.
  const secure = socket as TLSSocket;
  const known = identities.get(secure);
  if (known !== undefined) return known.identity;
  const identity = secure.authorized ? subjectOf(secure) : undefined;
  identities.set(secure, { identity });
  return identity;
}

function subjectOf(socket: TLSSocket): Identity {
  const subject: Readonly<Record<string, string | string[] | undefined>> = socket.getPeerCertificate().subject ?? {};
  const { CN, O } = subject;
  if (typeof CN !== "string") return undefined;
  return { user: CN, groups: O === undefined ? [] : Array.isArray(O) ? O : [O] };
}

async function sendResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body }: ApiResponse,
  disconnected: AbortSignal,
): Promise<void> {
  if (typeof body === "string") {
    outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    outgoing.end(incoming.method === "HEAD" ? "" : body);
    return;
  }
  outgoing.writeHead(status, headers);
  // Clients consider a watch open when they have the headers, even if there is no event for a long time.
  outgoing.flushHeaders();
  for await (const chunk of body) {
    if (disconnected.aborted) break;
    if (!outgoing.write(chunk)) await waitForDrain(outgoing);
  }
  outgoing.end();
}

/** Waits until a slow client has read the data or has disconnected. */
function waitForDrain(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.once("drain", done);
    outgoing.once("close", done);
  });
}
