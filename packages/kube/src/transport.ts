/**
 * How bytes reach an API server. Three implementations: undici for processes that live long, `node:https` for functions
 * (their cold start), and one that calls an embedded server inside the process without a socket.
 */
export interface Transport {
  /**
   * Answers as soon as the headers are there. Fails with a network error only; every HTTP status is an answer, redirects
   * included. The error carries a `code` that packages/kube/src/fault-tables.ts knows: ECONNREFUSED, ECONNRESET, ETIMEDOUT …
   */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Ends idle connections and refuses new requests. */
  close(): Promise<void>;
}

export type TransportRequest = Readonly<{
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, from the root of the server: `/clusters/root:demo/api/v1/namespaces?limit=500`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Headers that are sent once per value (`impersonate-group`): a server does not take several from one line. */
  repeatedHeaders?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The body goes on for long (a watch): it gets a connection that no other request waits for, and no body time-out. */
  stream?: boolean | undefined;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Limit for the headers to arrive. */
  timeoutMs: number;
}>;

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The whole body. Either this or `chunks` is read, once; an unread body must be dropped with `cancel`. */
  text(): Promise<string>;
  /** The body as it arrives; leaving the loop ends the connection. */
  chunks(): AsyncIterable<Uint8Array | string>;
  cancel(): void;
}

/** Where a server is and who we are there; what a kubeconfig says, resolved. */
export type Endpoint = Readonly<{
  /** Scheme, host, port and, for kcp, a path: `https://kcp.example.com:6443/clusters/root:demo`. No trailing slash. */
  server: string;
  /** PEM. */
  ca?: string | undefined;
  /** PEM. */
  certificate?: string | undefined;
  /** PEM. */
  key?: string | undefined;
  /** A fresh token for each request, so that rotation needs no restart. */
  token?: (() => Promise<string>) | undefined;
  insecureSkipTlsVerify?: boolean | undefined;
  serverName?: string | undefined;
  impersonate?: Readonly<{ user: string; groups?: readonly string[] }> | undefined;
}>;
