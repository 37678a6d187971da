/**
 * Sends HTTP requests to an API server. Three implementations: undici for long-lived processes, `node:https` for functions
 * (cold start), and one that calls an embedded server in the same process without a socket.
 */
export interface Transport {
  /**
   * Resolves as soon as the headers have arrived. Rejects only with a network error; every HTTP status is a response,
   * including redirects. The error has a `code` that `fault-tables.ts` knows: ECONNREFUSED, ECONNRESET, ETIMEDOUT …
   */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Closes idle connections and rejects new requests. */
  close(): Promise<void>;
}

export type TransportRequest = Readonly<{
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, from the root of the server: `/clusters/root:demo/api/v1/namespaces?limit=500`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Headers that are sent once per value (`impersonate-group`): servers do not accept several values in one line. */
  repeatedHeaders?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The body is long-lived (a watch): it gets a connection that no other request waits for, and no body time-out. */
  stream?: boolean | undefined;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Limit until the headers arrive. */
  timeoutMs: number;
}>;

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The complete body. Either this or `chunks` is read, once; an unread body must be dropped with `cancel`. */
  text(): Promise<string>;
  /** The body as it arrives; leaving the loop closes the connection. */
  chunks(): AsyncIterable<Uint8Array | string>;
  cancel(): void;
}

/** The address of a server and our credentials for it: a resolved context of a kubeconfig. */
export type Endpoint = Readonly<{
  /** Scheme, host, port and, for kcp, a path: `https://kcp.example.com:6443/clusters/root:demo`. No trailing slash. */
  server: string;
  /** PEM. */
  ca?: string | undefined;
  /** PEM. */
  certificate?: string | undefined;
  /** PEM. */
  key?: string | undefined;
  /** Called for each request, so that token rotation needs no restart. */
  token?: (() => Promise<string>) | undefined;
  insecureSkipTlsVerify?: boolean | undefined;
  serverName?: string | undefined;
  impersonate?: Readonly<{ user: string; groups?: readonly string[] }> | undefined;
}>;
