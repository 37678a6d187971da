import type { Clock } from "@tmc/kube/clock.ts";
import { createLineSplitter } from "@tmc/kube/transport/json-lines.ts";
import type { Transport, TransportRequest, TransportResponse } from "@tmc/kube/transport/transport.ts";
import { type Cause, causes } from "./cause.ts";

/** The process at one end of a wire. */
export interface WireOwner {
  readonly alive: boolean;
  /** Called when it dies; the answer takes it back. */
  onDeath(end: () => void): () => void;
}

export type WireEvents = Readonly<{
  /** A request leaves; whether its sender dies before it does, or after the server has acted on it. */
  sending(request: TransportRequest, cause: Cause | undefined): "before" | "after" | undefined;
  /** The server has answered; `undefined` for a failure of the way there. */
  answered(request: TransportRequest, status: number | undefined, cause: Cause | undefined): void;
  /** A complete answer has reached the living process, which reads it next. */
  delivered(request: TransportRequest, answer: Readonly<{ status: number; text: string }>): void;
  /** A watch is open; its lines, each before the process reads it, and its end. */
  watching(request: TransportRequest): Readonly<{ line(text: string): void; end(): void }>;
}>;

export type WireOptions = Readonly<{
  /** The server's own transport. */
  server: Transport;
  owner: WireOwner;
  kill: () => void;
  /** Time on the wire does not stop with a process. */
  clock: Clock;
  events: WireEvents;
  latencyMs: () => number;
  watchLagMs: () => number;
  /** Whether a request that was on its way when its sender died still arrives. */
  arrivesAnyway: () => boolean;
}>;

const textOf = (chunk: Uint8Array | string): string =>
  typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");

const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** A transport between a process that can die and a server: messages take time, and a dead process hears nothing more. */
export function createWire(options: WireOptions): Transport {
  const { server, owner, kill, clock, events, latencyMs, watchLagMs, arrivesAnyway } = options;

  const travel = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
    if (ms > 0) {
      await new Promise<void>((resolve, reject) => {
        const give = (): void => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = clock.after(ms, () => {
          signal?.removeEventListener("abort", give);
          resolve();
        });
        signal?.addEventListener("abort", give, { once: true });
      });
    }
    signal?.throwIfAborted();
  };

  return {
    send: async (request) => {
      if (!owner.alive) return never();
      const cause = causes.getStore();
      const death = events.sending(request, cause);
      if (death === "before") {
        kill();
        return never();
      }
      await travel(latencyMs(), request.signal);
      if (!owner.alive && !arrivesAnyway()) return never();

      // The server hears of the sender's death as of any client that hangs up.
      const gone = new AbortController();
      const leave = (): void => gone.abort(request.signal?.reason);
      request.signal?.addEventListener("abort", leave, { once: true });
      const forget = owner.onDeath(() => gone.abort(new Error("the process has died")));
      const release = (): void => {
        request.signal?.removeEventListener("abort", leave);
        forget();
      };
      let response: TransportResponse;
      try {
        response = await server.send({ ...request, signal: gone.signal });
      } catch (error) {
        release();
        if (!owner.alive) return never();
        events.answered(request, undefined, cause);
        throw error;
      }
      events.answered(request, response.status, cause);
      if (death === "after") kill();
      if (!owner.alive) {
        release();
        response.cancel();
        return never();
      }
      try {
        await travel(latencyMs(), request.signal);
      } catch (error) {
        release();
        response.cancel();
        throw error;
      }
      if (!owner.alive) return never();
      return delivered(response, release, request);
    },
    close: () => server.close(),
  };

  function delivered(response: TransportResponse, release: () => void, request: TransportRequest): TransportResponse {
    const isWatch = request.stream === true && response.status === 200;
    async function* chunks(): AsyncGenerator<Uint8Array | string> {
      const watch = isWatch ? events.watching(request) : undefined;
      const splitter = createLineSplitter();
      let text = "";
      try {
        for await (const chunk of response.chunks()) {
          if (request.stream === true) await travel(watchLagMs(), request.signal);
          if (!owner.alive) await never();
          if (watch === undefined) text += textOf(chunk);
          else for (const line of splitter.push(chunk)) watch.line(line);
          yield chunk;
        }
        if (watch === undefined && owner.alive) events.delivered(request, { status: response.status, text });
      } catch (error) {
        if (!owner.alive) await never();
        throw error;
      } finally {
        watch?.end();
        release();
      }
    }
    return {
      status: response.status,
      headers: response.headers,
      text: async () => {
        let text = "";
        for await (const chunk of chunks()) text += textOf(chunk);
        return text;
      },
      chunks,
      cancel: () => {
        release();
        response.cancel();
      },
    };
  }
}
