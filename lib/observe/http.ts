import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type Metrics, metricsContentType } from "./metrics.ts";

export type HttpRequest = Readonly<{
  /** The part of the path after the route's path and the slash. */
  subpath: string;
  query: URLSearchParams;
  accept: string;
}>;

export type HttpResponse = Readonly<{ status: number; type: string; body: string }>;

/** Handlers by path prefix; undefined means not found. */
export type Routes = Readonly<Record<string, (request: HttpRequest) => HttpResponse | undefined>>;

export type HttpOptions = Readonly<{
  /** Name of the server for error messages, such as "metrics". */
  name: string;
  /** 0 for any free port. */
  port: number;
  /** @default all addresses of this machine, because scrapers are on other machines */
  host?: string;
  routes: Routes;
}>;

export interface HttpServer {
  readonly port: number;
  /** Stops accepting requests, lets open requests finish, and frees the port. */
  close(): Promise<void>;
}

export function metricsRoutes(metrics: Metrics): Routes {
  return {
    "/metrics": ({ subpath }) =>
      subpath === "" ? { status: 200, type: metricsContentType, body: metrics.render() } : undefined,
  };
}

/** Starts a read-only server. It ignores request bodies. Throws a one-line error with the port if it cannot listen. */
export async function startHttp({ name, port, host, routes }: HttpOptions): Promise<HttpServer> {
  let openRequests = 0;
  let isClosing = false;
  const server = createServer(
    // No scraper or probe needs longer; a slower client only occupies a connection.
    { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8 * 1024 },
    (incoming, outgoing) => {
      openRequests += 1;
      outgoing.once("close", () => {
        openRequests -= 1;
        closeIdle();
      });
      serve(routes, incoming, outgoing);
    },
  );
  /** Idle connections would otherwise delay the close. */
  const closeIdle = (): void => {
    if (isClosing && openRequests === 0) server.closeAllConnections();
  };
  server.maxConnections = 256;
  server.on("clientError", (_error, socket) => socket.destroy());
  await listen(server, name, port, host);
  const address = server.address();
  const boundPort = typeof address === "object" && address !== null ? address.port : port;
  return {
    port: boundPort,
    close: () =>
      new Promise((resolve) => {
        isClosing = true;
        server.close(() => resolve());
        closeIdle();
      }),
  };
}

function listen(server: Server, name: string, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: unknown): void => {
      reject(new ControllerError("invalid", `${name}: ${listenError(error, port, host)}`, { cause: error }));
    };
    server.once("error", onError);
    try {
      server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
        server.off("error", onError);
        resolve();
      });
    } catch (error) {
      onError(error);
    }
  });
}

function listenError(error: unknown, port: number, host: string | undefined): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} is in use`;
    case "EACCES":
      return `no permission to listen on port ${port}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host ?? "the address"} is not an address of this machine`;
    case "ERR_SOCKET_BAD_PORT":
      return `port ${port} is not a port; must be 0 to 65535`;
    default:
      return `cannot listen on port ${port}: ${error instanceof Error ? error.message : "unknown failure"}`;
  }
}

function serve(routes: Routes, incoming: IncomingMessage, outgoing: ServerResponse): void {
  // An unread body would block the next request on the connection.
  incoming.resume();
  const { method = "" } = incoming;
  const answer = method === "GET" || method === "HEAD" ? respond(routes, incoming) : notAllowed;
  outgoing.writeHead(answer.status, {
    "content-type": answer.type,
    "content-length": Buffer.byteLength(answer.body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...(answer === notAllowed ? { allow: "GET, HEAD" } : {}),
  });
  outgoing.end(method === "HEAD" ? undefined : answer.body);
}

const plain = "text/plain; charset=utf-8";
const notAllowed: HttpResponse = { status: 405, type: plain, body: "method not allowed; use GET or HEAD\n" };
const failed: HttpResponse = { status: 500, type: plain, body: "internal error\n" };

function respond(routes: Routes, incoming: IncomingMessage): HttpResponse {
  const url = incoming.url ?? "/";
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  const accept = incoming.headers.accept ?? "";
  try {
    for (const [own, route] of Object.entries(routes)) {
      if (path !== own && !path.startsWith(`${own}/`)) continue;
      const answer = route({ subpath: path.slice(own.length + 1), query, accept });
      if (answer !== undefined) return answer;
    }
  } catch {
    return failed;
  }
  return { status: 404, type: plain, body: `not found; available: ${Object.keys(routes).join(", ")}\n` };
}
