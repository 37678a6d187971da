/** A request as the embedded servers see it, whether it came over TLS or from inside the process. */
export type ApiRequest = Readonly<{
  method: string;
  /** Without the query, percent-decoded segment by segment where needed: `/clusters/root:demo/api/v1/namespaces`. */
  path: string;
  query: URLSearchParams;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
  /** From the client certificate, where one was shown and our CA signed it. */
  certificate?: Readonly<{ user: string; groups: readonly string[] }> | undefined;
  /** Ends when the client goes away. */
  signal: AbortSignal;
}>;

export type ApiResponse = Readonly<{
  status: number;
  headers: Readonly<Record<string, string>>;
  /** A whole body, or one that is sent as it comes (a watch). */
  body: string | AsyncIterable<string>;
}>;

export type User = Readonly<{
  name: string;
  uid?: string;
  groups: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}>;

/** Answers one request. Never rejects but when a fault injection wants the connection reset (`ConnectionReset`). */
export type Handler = (request: ApiRequest) => Promise<ApiResponse>;

/** Thrown by an injected fault: the listener destroys the socket, the in-process transport fails with ECONNRESET. */
export class ConnectionReset extends Error {
  override readonly name = "ConnectionReset";
}
