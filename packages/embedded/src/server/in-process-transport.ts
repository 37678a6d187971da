import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { Transport, TransportRequest, TransportResponse } from "@tmc/kube/transport/transport.ts";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler } from "./http.ts";
import { splitUrl } from "./listener.ts";

export type InProcessOptions = Readonly<{
  handler: Handler;
  /** Sent with requests that have no credentials of their own. */
  token?: string | undefined;
  certificate?: ApiRequest["certificate"];
  /** @default the system clock */
  clock?: Clock | undefined;
}>;

/** Creates a transport that calls an embedded server directly, without sockets; timeouts use the clock. */
export function createInProcessTransport(options: InProcessOptions): Transport {
  const { handler, token, certificate, clock = systemClock } = options;
  let closed = false;
  return {
    send: async (request) => {
      if (closed) throw networkError("ECONNREFUSED", "the transport is closed");
      request.signal?.throwIfAborted();
      const disconnect = new AbortController();
      const onAbort = (): void => disconnect.abort(request.signal?.reason);
      request.signal?.addEventListener("abort", onAbort, { once: true });
      const release = (): void => request.signal?.removeEventListener("abort", onAbort);
      try {
        const response = await withTimeout(
          handler(apiRequest(request, disconnect.signal, token, certificate)),
          request,
          clock,
          disconnect,
        );
        return responseOf(response, disconnect, release, request.signal);
      } catch (error) {
        release();
        throw asNetworkError(error);
      }
    },
    close: async () => {
      closed = true;
    },
  };
}

/** Shared, because creating an error per request is expensive. */
const clientDisconnected = new Error("the client disconnected");

function apiRequest(
  { method, path: url, headers, repeatedHeaders = {}, body }: TransportRequest,
  signal: AbortSignal,
  token: string | undefined,
  certificate: ApiRequest["certificate"],
): ApiRequest {
  const lowerCaseHeaders: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) lowerCaseHeaders[name.toLowerCase()] = value;
  for (const [name, values] of Object.entries(repeatedHeaders)) lowerCaseHeaders[name.toLowerCase()] = values.join(",");
  if (token !== undefined && certificate === undefined) lowerCaseHeaders.authorization ??= `Bearer ${token}`;
  return {
    method,
    ...splitUrl(url),
    headers: lowerCaseHeaders,
    body: body ?? "",
    signal,
    ...(certificate === undefined ? {} : { certificate }),
  };
}

/** Rejects if there is no response in time or if the caller aborts. */
function withTimeout<T>(
  work: Promise<T>,
  { timeoutMs, signal }: TransportRequest,
  clock: Clock,
  disconnect: AbortController,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const cancel = clock.after(timeoutMs, () => {
      settle(() => reject(networkError("ETIMEDOUT", `no response within ${timeoutMs} ms`)));
      disconnect.abort(clientDisconnected);
    });
    const settle = (finish: () => void): void => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
      finish();
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}

function responseOf(
  { status, headers, body }: ApiResponse,
  disconnect: AbortController,
  release: () => void,
  callerSignal: AbortSignal | undefined,
): TransportResponse {
  async function* chunks(): AsyncGenerator<string> {
    try {
      if (typeof body === "string") yield body;
      else yield* body;
    } catch (error) {
      throw asNetworkError(error);
    } finally {
      release();
      // Only the stream of a watch outlives the request, and has to learn that its client is gone.
      if (typeof body !== "string") disconnect.abort(clientDisconnected);
    }
    // A body that the caller aborted is incomplete.
    callerSignal?.throwIfAborted();
  }
  return {
    status,
    headers,
    text: async () => {
      let text = "";
      for await (const chunk of chunks()) text += chunk;
      return text;
    },
    chunks,
    cancel: () => {
      release();
      disconnect.abort(clientDisconnected);
    },
  };
}

const networkError = (code: string, message: string, options?: ErrorOptions): Error =>
  Object.assign(new Error(`${code}: ${message}`, options), { code });

const asNetworkError = (error: unknown): unknown =>
  error instanceof ConnectionReset ? networkError("ECONNRESET", error.message, { cause: error }) : error;
