import type { TransportRequest } from "@tmc/kube/transport.ts";
import { describe, expect, it } from "vitest";
import { createManualClock } from "../../../test/support/manual-clock.ts";
import { type ApiRequest, ConnectionReset, type Handler } from "../src/http.ts";
import { createInProcessTransport } from "../src/in-process-transport.ts";

const get: TransportRequest = {
  method: "GET",
  path: "/x?a=b",
  headers: { Accept: "application/json" },
  timeoutMs: 1000,
};
const ok: Handler = async () => ({ status: 200, headers: { "content-type": "text/plain" }, body: "fine" });

/** Answers with a stream, and shows the signal that the handler was given. */
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

describe("a transport inside the process", () => {
  it("hands requests on with a token, unless they bring one", async () => {
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

  it("answers with the whole body, or with its parts", async () => {
    const transport = createInProcessTransport({ handler: ok });
    expect(await (await transport.send(get)).text()).toBe("fine");
    const chunks = [];
    for await (const chunk of (await transport.send(get)).chunks()) chunks.push(chunk);
    expect(chunks).toEqual(["fine"]);
  });

  it("fails as a broken connection does", async () => {
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

  it("gives up by the clock when no answer begins, and tells the server", async () => {
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

  it("ends with the caller's signal, before and during the answer", async () => {
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

  it("leaving the loop or cancelling ends the request", async () => {
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

  it("refuses requests once it is closed", async () => {
    const transport = createInProcessTransport({ handler: ok });
    await transport.close();
    await expect(transport.send(get)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
