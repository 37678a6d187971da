import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import { describe, expect, test, vi } from "vitest";
import { awaitWorkspace } from "../../../lib/upstream/await-workspace.ts";

const found = JSON.stringify({
  apiVersion: "core.kcp.io/v1alpha1",
  kind: "LogicalCluster",
  metadata: { name: "cluster", annotations: { "kcp.io/cluster": "abc", "kcp.io/path": "root:demo" } },
});

/** Waits for a workspace of a kcp whose answers change with time; `away` refuses connections. */
function ask(answerAt: (seconds: number) => Readonly<{ workspace: number | "away"; readyz?: number }>) {
  const clock = createManualClock();
  const beganMs = clock.now();
  const transport: Transport = {
    send: async ({ path }) => {
      const { workspace, readyz = 200 } = answerAt((clock.now() - beganMs) / 1000);
      if (workspace === "away") throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
      const status = path === "/readyz" ? readyz : workspace;
      const body = path === "/readyz" ? "" : status === 200 ? found : "{}";
      return {
        status,
        headers: { "content-type": "application/json" },
        text: async () => body,
        chunks: async function* () {
          yield body;
        },
        cancel: () => {},
      };
    },
    close: async () => {},
  };
  const client = createKubeClient({ endpoint: { server: "https://a.example/clusters/root" }, transport, clock });
  const onWait = vi.fn();
  const signal = new AbortController().signal;
  const ended = awaitWorkspace(client, "root:demo", { clock, random: () => 0.5, signal, onWait }).then(
    ({ name }) => name,
    (error: unknown) => String(error),
  );
  const turning = setInterval(() => clock.advance(1_000), 1);
  return ended
    .finally(() => clearInterval(turning))
    .then((outcome) => ({ outcome, waits: onWait.mock.calls.length, seconds: (clock.now() - beganMs) / 1000 }));
}

describe("awaitWorkspace", () => {
  test("awaitWorkspace fails at once for a workspace that a ready kcp does not have", async () => {
    for (const status of [403, 404]) {
      const { outcome, waits } = await ask(() => ({ workspace: status }));
      expect(outcome).toContain('workspace "root:demo": there is none');
      expect(waits).toBe(0);
    }
  });

  test("awaitWorkspace waits while kcp starts", async () => {
    const starting = await ask((s) => ({ workspace: s < 10 ? 403 : 200, readyz: 500 }));
    expect(starting.outcome).toBe("abc");
    const back = await ask((s) => ({ workspace: s < 5 ? "away" : s < 10 ? 404 : 200 }));
    expect(back.outcome).toBe("abc");
  });

  test("awaitWorkspace fails for a workspace that is still missing a minute after kcp became reachable", async () => {
    const { outcome, seconds } = await ask((s) => ({ workspace: s < 5 ? "away" : 403 }));
    expect(outcome).toContain('workspace "root:demo": there is none');
    expect(seconds).toBeGreaterThan(60);
  });
});
