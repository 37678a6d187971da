import { describe, expect, test, vi } from "vitest";
import { ApiError } from "../../src/errors.ts";
import { createManualClock } from "../../src/manual-clock.ts";
import { createKubeClient } from "../../src/rest-client.ts";
import type { Transport } from "../../src/transport/transport.ts";

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
  test("fails 30 seconds after its timeoutSeconds, and not earlier", async () => {
    const { clock, events } = aSilentWatch(240);
    await events.next();
    const failed = Promise.resolve(events.next()).catch((error: unknown) => error);
    await vi.waitFor(() => expect(clock.waits).toEqual([270_000]));
    clock.advance(270_000);
    const error = await failed;
    expect(error instanceof ApiError ? [error.fault, error.network] : error).toEqual(["unreachable", "timeout"]);
    expect(clock.waits).toEqual([]);
  });

  test("without timeoutSeconds stays open after the server has accepted it", async () => {
    const { clock, events, onOpen } = aSilentWatch(undefined);
    await events.next();
    expect(clock.waits).toEqual([]);
    expect(onOpen).toHaveBeenCalledTimes(1);
  });
});
