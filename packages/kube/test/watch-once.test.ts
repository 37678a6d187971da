import { describe, expect, test, vi } from "vitest";
import { createManualClock } from "../../../test/support/manual-clock.ts";
import { ApiError } from "../src/errors.ts";
import { createKubeClient } from "../src/rest-client.ts";
import type { Transport } from "../src/transport.ts";

const pods = { type: { group: "", version: "v1", plural: "pods" } };

/** A watch whose server answers and then vanishes without a word. */
function aSilentWatch(timeoutSeconds: number | undefined) {
  const clock = createManualClock();
  const transport: Transport = {
    send: async ({ signal }) => ({
      status: 200,
      headers: {},
      text: async () => "",
      chunks: async function* () {
        yield '{"type":"ADDED","object":{}}\n';
        await new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      },
      cancel: () => {},
    }),
    close: async () => {},
  };
  const client = createKubeClient({ endpoint: { server: "https://a.example" }, transport, clock });
  const onOpen = vi.fn();
  const events = client.watch(pods, { timeoutSeconds, onOpen })[Symbol.asyncIterator]();
  return { clock, events, onOpen };
}

describe("one watch", () => {
  test("is taken for dead half a minute after the end that the server promised, and not before", async () => {
    const { clock, events } = aSilentWatch(240);
    await events.next();
    const failed = Promise.resolve(events.next()).catch((error: unknown) => error);
    await vi.waitFor(() => expect(clock.waits).toEqual([270_000]));
    clock.advance(270_000);
    const error = await failed;
    expect(error instanceof ApiError ? [error.fault, error.network] : error).toEqual(["unreachable", "timeout"]);
    expect(clock.waits).toEqual([]);
  });

  test("without a promised end stays open once it was answered", async () => {
    const { clock, events, onOpen } = aSilentWatch(undefined);
    await events.next();
    expect(clock.waits).toEqual([]);
    expect(onOpen).toHaveBeenCalledTimes(1);
  });
});
