import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** A request as the server received it, with its body. */
export type SeenRequest = Readonly<{
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  rawHeaders: readonly string[];
  body: string;
}>;

/** The response to the next request. */
export type Handler = (request: SeenRequest, response: ServerResponse, socket: Socket) => void | Promise<void>;

/** A test server on a free loopback port. */
export interface TestServer {
  /** `https://127.0.0.1:<port>`. */
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Number of connections so far; TLS handshakes for https. */
  readonly connections: number;
  handle(handler: Handler): void;
  /** Cuts every connection. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a server; with TLS when certificates are given. */
export async function startServer(tls?: ServerOptions): Promise<TestServer> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let handler: Handler = (_, response) => void response.writeHead(404).end();

  const listener: RequestListener = (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers, rawHeaders } = incoming;
      const seen = { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(seen);
      void handler(seen, response, incoming.socket);
    });
  };
  const server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    if (tls === undefined) connections++;
  });
  if (tls !== undefined) server.on("secureConnection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a path

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
    handle: (next) => {
      handler = next;
    },
    cut,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}

/** Answers with JSON. */
export function answerJson(
  response: ServerResponse,
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}
