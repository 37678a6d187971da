import { createManualClock } from "@tmc/kube/manual-clock.ts";
import type { TransportRequest } from "@tmc/kube/transport/transport.ts";
import { describe, expect, it } from "vitest";
import { type ApiRequest, ConnectionReset, type Handler } from "../../src/server/http.ts";
import { createInProcessTransport } from "../../src/server/in-process-transport.ts";

const get: TransportRequest = {
  method: "GET",
  path: "/x?a=b",
  headers: { Accept: "application/json" },
  timeoutMs: 1000,
};
const ok: Handler = async () => ({ status: 200, headers: { "content-type": "text/plain" }, body: "fine" });

/** A handler that responds with a stream, and the signal that it got. */
function streaming(body: (signal: AbortSignal) => AsyncIterable<string>) {
  const seen: { signal?: AbortSignal } = {};
  const transport = createInProcessTransport({
    handler: async ({ signal }) => {
      seen.signal = signal;
      return { status: 200, headers: {}, body: body(signal) };
    },
  });
  return { transport, seen };
}

describe("an in-process transport", () => {
  it("adds its token to requests without one", async () => {
    const seen: ApiRequest[] = [];
    const handler: Handler = async (request) => {
      seen.push(request);
      return ok(request);
    };
    const transport = createInProcessTransport({ handler, token: "t" });
    await transport.send({ ...get, method: "POST", body: "{}" });
    await transport.send({
      ...get,
      headers: { Authorization: "Bearer other" },
      repeatedHeaders: { "Impersonate-Group": ["a", "b"] },
    });
    expect(seen[0]).toMatchObject({
      method: "POST",
      path: "/x",
      body: "{}",
      headers: { accept: "application/json", authorization: "Bearer t" },
    });
    expect(seen[0]?.query.get("a")).toBe("b");
    expect(seen[1]?.headers).toMatchObject({ authorization: "Bearer other", "impersonate-group": "a,b" });
  });

  it("returns the complete body or its chunks", async () => {
    const transport = createInProcessTransport({ handler: ok });
    expect(await (await transport.send(get)).text()).toBe("fine");
    const chunks = [];
    for await (const chunk of (await transport.send(get)).chunks()) chunks.push(chunk);
    expect(chunks).toEqual(["fine"]);
  });

  it("fails like a broken connection", async () => {
    const broken = createInProcessTransport({
      handler: async () => {
        throw new ConnectionReset("fault");
      },
    });
    await expect(broken.send(get)).rejects.toMatchObject({ code: "ECONNRESET" });
    const breaking = createInProcessTransport({
      handler: async () => ({
        status: 200,
        headers: {},
        body: (async function* () {
          yield "a";
          throw new ConnectionReset("fault");
        })(),
      }),
    });
    await expect((await breaking.send(get)).text()).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("times out by the clock without a response, and aborts the request on the server", async () => {
    const clock = createManualClock();
    let signal: AbortSignal | undefined;
    const transport = createInProcessTransport({
      clock,
      handler: (request) => {
        signal = request.signal;
        return new Promise(() => {});
      },
    });
    const answer = transport.send(get);
    clock.advance(1000);
    await expect(answer).rejects.toMatchObject({ code: "ETIMEDOUT" });
    expect(signal?.aborted).toBe(true);
  });

  it("ends with the caller's signal, before and during the response", async () => {
    const gone = new AbortController();
    const { transport, seen } = streaming(async function* (signal) {
      yield "a";
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const response = await transport.send({ ...get, signal: gone.signal });
    const chunks: (string | Uint8Array)[] = [];
    const read = async () => {
      for await (const chunk of response.chunks()) {
        chunks.push(chunk);
        gone.abort();
      }
    };
    await expect(read()).rejects.toThrow(/aborted/);
    expect(chunks).toEqual(["a"]);
    expect(seen.signal?.aborted).toBe(true);
    await expect(transport.send({ ...get, signal: gone.signal })).rejects.toThrow(/aborted/);
  });

  it("ends the request when its reader stops or cancels", async () => {
    for (const leave of ["break", "cancel"]) {
      const { transport, seen } = streaming(async function* () {
        for (;;) yield "x";
      });
      const response = await transport.send(get);
      if (leave === "cancel") response.cancel();
      else for await (const _chunk of response.chunks()) break;
      expect(seen.signal?.aborted).toBe(true);
    }
  });

  it("rejects requests after it was closed", async () => {
    const transport = createInProcessTransport({ handler: ok });
    await transport.close();
    await expect(transport.send(get)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
