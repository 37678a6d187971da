/** A request, from the TLS listener or from an in-process transport. */
export type ApiRequest = Readonly<{
  method: string;
  /** Without the query; each segment is percent-decoded: `/clusters/root:demo/api/v1/namespaces`. */
  path: string;
  query: URLSearchParams;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
  /** Subject of the client certificate, if this server's CA signed it. */
  certificate?: Readonly<{ user: string; groups: readonly string[] }> | undefined;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}>;

export type ApiResponse = Readonly<{
  status: number;
  headers: Readonly<Record<string, string>>;
  /** A complete body, or a stream (for a watch). */
  body: string | AsyncIterable<string>;
}>;

export type User = Readonly<{
  name: string;
  uid?: string;
  groups: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}>;

/** Handles one request. Rejects only with `ConnectionReset`, for an injected fault. */
export type Handler = (request: ApiRequest) => Promise<ApiResponse>;

/** An injected connection reset: the listener destroys the socket, the in-process transport fails with ECONNRESET. */
export class ConnectionReset extends Error {
  override readonly name = "ConnectionReset";
}
