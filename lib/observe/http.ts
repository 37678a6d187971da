import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type Metrics, metricsContentType } from "./metrics.ts";

/** A request to look at something. */
export type HttpRequest = Readonly<{
  /** What follows the route's own path, without the slash between them. */
  rest: string;
  query: URLSearchParams;
  accept: string;
}>;

export type Answer = Readonly<{ status: number; type: string; body: string }>;

/** What is served under each path, and below it; undefined where there is nothing. */
export type Routes = Readonly<Record<string, (request: HttpRequest) => Answer | undefined>>;

export type HttpOptions = Readonly<{
  /** What is served, for messages: "metrics". */
  name: string;
  /** 0 takes a free one. */
  port: number;
  /** @default all of this machine's addresses, for a scraper comes from another one */
  host?: string;
  routes: Routes;
}>;

export interface HttpServer {
  readonly port: number;
  /** Takes no more requests, lets those under way finish, and frees the port. */
  close(): Promise<void>;
}

/** The route of the metrics. */
export function metricsRoutes(metrics: Metrics): Routes {
  return {
    "/metrics": ({ rest }) =>
      rest === "" ? { status: 200, type: metricsContentType, body: metrics.render() } : undefined,
  };
}

/** Starts a server that only shows: it reads no bodies and changes nothing. Fails in one line that names the port. */
export async function startHttp({ name, port, host, routes }: HttpOptions): Promise<HttpServer> {
  let underWay = 0;
  let closing = false;
  const server = createServer(
    // Nobody who asks for these needs longer; who does is holding a connection open.
    { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8 * 1024 },
    (incoming, outgoing) => {
      underWay += 1;
      outgoing.once("close", () => {
        underWay -= 1;
        cutSilent();
      });
      serve(routes, incoming, outgoing);
    },
  );
  /** Whoever has connected and asks nothing would otherwise hold up the end. */
  const cutSilent = (): void => {
    if (closing && underWay === 0) server.closeAllConnections();
  };
  server.maxConnections = 256;
  server.on("clientError", (_error, socket) => socket.destroy());
  await listen(server, name, port, host);
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return {
    port: bound,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        server.close(() => resolve());
        cutSilent();
      }),
  };
}

function listen(server: Server, name: string, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown): void => {
      reject(new ControllerError("invalid", `${name}: ${whyNot(error, port, host)}`, { cause: error }));
    };
    server.once("error", refuse);
    try {
      server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
        server.off("error", refuse);
        resolve();
      });
    } catch (error) {
      refuse(error);
    }
  });
}

function whyNot(error: unknown, port: number, host: string | undefined): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} is in use`;
    case "EACCES":
      return `port ${port} is not allowed to this user`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host ?? "the address"} is no address of this machine`;
    case "ERR_SOCKET_BAD_PORT":
      return `port ${port} is none; 0 to 65535 are`;
    default:
      return `port ${port} cannot be opened: ${error instanceof Error ? error.message : "unknown failure"}`;
  }
}

function serve(routes: Routes, incoming: IncomingMessage, outgoing: ServerResponse): void {
  // A body is nobody's business here; left unread, it would block the connection's next request.
  incoming.resume();
  const { method = "" } = incoming;
  const answer = method === "GET" || method === "HEAD" ? answerOf(routes, incoming) : notAllowed;
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
const notAllowed: Answer = { status: 405, type: plain, body: "only GET and HEAD\n" };
const failed: Answer = { status: 500, type: plain, body: "internal error\n" };

function answerOf(routes: Routes, incoming: IncomingMessage): Answer {
  const url = incoming.url ?? "/";
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  const accept = incoming.headers.accept ?? "";
  try {
    for (const [own, route] of Object.entries(routes)) {
      if (path !== own && !path.startsWith(`${own}/`)) continue;
      const answer = route({ rest: path.slice(own.length + 1), query, accept });
      if (answer !== undefined) return answer;
    }
  } catch {
    return failed;
  }
  return { status: 404, type: plain, body: `not found; there are ${Object.keys(routes).join(", ")}\n` };
}
