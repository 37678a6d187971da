import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { jsonFromProtobuf } from "./builtin/protobuf.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler } from "./http.ts";
import { maxBodyBytes } from "./request-body.ts";

export type ListenerOptions = Readonly<{
  handler: Handler;
  authority: CertificateAuthority;
  /** @default a free one */
  port?: number | undefined;
}>;

export interface Listener {
  /** `https://127.0.0.1:41234`. */
  readonly url: string;
  /** Ends every connection and frees the port. */
  close(): Promise<void>;
}

const address = "127.0.0.1";

/** Serves a handler over TLS on loopback; client certificates are asked for, and believed when our authority signed them. */
export async function createListener({ handler, authority, port = 0 }: ListenerOptions): Promise<Listener> {
  const { certificate, key } = authority.issueServing([address, "localhost"]);
  const server = createServer(
    {
      cert: certificate,
      key,
      ca: authority.certificate,
      requestCert: true,
      // Whoever shows no certificate, or a strange one, may still have a token.
      rejectUnauthorized: false,
      keepAliveTimeout: 120_000,
    },
    (incoming, outgoing) => {
      void serve(handler, incoming, outgoing);
    },
  );
  // A client that goes away in the middle of its handshake is its own affair.
  server.on("tlsClientError", () => {});
  server.on("clientError", (_error, socket) => socket.destroy());
  // Watches last longer than any ordinary request.
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

/** Made once: an error of its own for every request that ends would cost more than most requests. */
const clientGone = new Error("the client has gone");

async function serve(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort(clientGone));
  try {
    const bytes = await readBody(incoming);
    const response = await handler(requestOf(incoming, bytes, gone.signal));
    await answer(incoming, outgoing, response, gone.signal);
  } catch (error) {
    // An injected fault, or a client that went away: in both cases the connection is beyond use.
    if (!(error instanceof ConnectionReset) && !gone.signal.aborted && !outgoing.headersSent) outgoing.writeHead(500);
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
    // Without an encoding the stream gives buffers.
    const bytes = chunk as Buffer;
    size += bytes.length;
    // What is over the limit is only read to be refused with an answer.
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
  // kubectl sends built-in types as protobuf; behind this point there is only JSON and YAML.
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

/** Splits path and query, and decodes the path segment by segment. */
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
  // The server speaks TLS only.
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

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body }: ApiResponse,
  gone: AbortSignal,
): Promise<void> {
  if (typeof body === "string") {
    outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    outgoing.end(incoming.method === "HEAD" ? "" : body);
    return;
  }
  outgoing.writeHead(status, headers);
  // A watch is open as soon as its headers are there, even if nothing happens for long.
  outgoing.flushHeaders();
  for await (const chunk of body) {
    if (gone.aborted) break;
    if (!outgoing.write(chunk)) await drained(outgoing);
  }
  outgoing.end();
}

/** Waits until a slow reader has taken what was written, or has gone. */
function drained(outgoing: ServerResponse): Promise<void> {
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
