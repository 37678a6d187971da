import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { Transport, TransportRequest, TransportResponse } from "@tmc/kube/transport.ts";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler } from "./http.ts";
import { splitUrl } from "./listener.ts";

export type InProcessOptions = Readonly<{
  handler: Handler;
  /** Sent with requests that bring no credentials of their own. */
  token?: string | undefined;
  certificate?: ApiRequest["certificate"];
  /** @default the machine's */
  clock?: Clock | undefined;
}>;

/** Makes a transport that calls an embedded server directly: no socket, no thread, no time but the clock's. */
export function createInProcessTransport(options: InProcessOptions): Transport {
  const { handler, token, certificate, clock = systemClock } = options;
  let closed = false;
  return {
    send: async (request) => {
      if (closed) throw networkError("ECONNREFUSED", "the transport is closed");
      request.signal?.throwIfAborted();
      const gone = new AbortController();
      const onAbort = (): void => gone.abort(request.signal?.reason);
      request.signal?.addEventListener("abort", onAbort, { once: true });
      const release = (): void => request.signal?.removeEventListener("abort", onAbort);
      try {
        const response = await inTime(
          handler(apiRequest(request, gone.signal, token, certificate)),
          request,
          clock,
          gone,
        );
        return responseOf(response, gone, release, request.signal);
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

/** Made once: every request that ends is told so. */
const clientGone = new Error("the client has gone");

function apiRequest(
  { method, path: url, headers, repeatedHeaders = {}, body }: TransportRequest,
  signal: AbortSignal,
  token: string | undefined,
  certificate: ApiRequest["certificate"],
): ApiRequest {
  const lower: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) lower[name.toLowerCase()] = value;
  for (const [name, values] of Object.entries(repeatedHeaders)) lower[name.toLowerCase()] = values.join(",");
  if (token !== undefined && certificate === undefined) lower.authorization ??= `Bearer ${token}`;
  return {
    method,
    ...splitUrl(url),
    headers: lower,
    body: body ?? "",
    signal,
    ...(certificate === undefined ? {} : { certificate }),
  };
}

/** The answer, unless its headers take too long or the caller gives up. */
function inTime<T>(
  work: Promise<T>,
  { timeoutMs, signal }: TransportRequest,
  clock: Clock,
  gone: AbortController,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const cancel = clock.after(timeoutMs, () => {
      settle(() => reject(networkError("ETIMEDOUT", `no answer within ${timeoutMs} ms`)));
      gone.abort(clientGone);
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
  gone: AbortController,
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
      gone.abort(clientGone);
    }
    // A body that the caller cut short is not a whole one.
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
      gone.abort(clientGone);
    },
  };
}

const networkError = (code: string, message: string, options?: ErrorOptions): Error =>
  Object.assign(new Error(`${code}: ${message}`, options), { code });

const asNetworkError = (error: unknown): unknown =>
  error instanceof ConnectionReset ? networkError("ECONNRESET", error.message, { cause: error }) : error;
