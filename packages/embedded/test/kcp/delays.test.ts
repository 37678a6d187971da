import type { Clock } from "@tmc/kube/clock.ts";
import { afterEach, describe, expect, it } from "vitest";
import {
  aBinding,
  anExport,
  aResource,
  aSchema,
  aWorkspace,
  bindingsPath,
  exportsPath,
  type KcpUnderTest,
  kcpUnderTest,
  schemasPath,
  workspaces,
} from "./support.ts";

/** A manual clock. */
function stoppedClock(): Clock & { pass: (ms: number) => void } {
  let now = Date.parse("2026-01-01T00:00:00Z");
  let tasks: { at: number; task: () => void }[] = [];
  return {
    now: () => now,
    monotonicMs: () => now,
    after: (delayMs, task) => {
      const entry = { at: now + delayMs, task };
      tasks.push(entry);
      return () => {
        tasks = tasks.filter((other) => other !== entry);
      };
    },
    pass: (ms) => {
      const end = now + ms;
      for (;;) {
        const next = tasks.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        tasks = tasks.filter((other) => other !== next);
        now = Math.max(now, next.at);
        next.task();
      }
      now = end;
    },
  };
}

let test: KcpUnderTest;
afterEach(() => test.kcp.stop());

describe("an embedded kcp with delays", () => {
  it("delays the establishing of a binding's types by the clock", async () => {
    const clock = stoppedClock();
    test = await kcpUnderTest({ clock, delays: { bindingMs: 6_000 } });
    test.kcp.createWorkspace("root:provider");
    clock.pass(6_000);
    await test.call("POST", `/clusters/root:provider${schemasPath}`, aSchema("v1.widgets.example.dev"));
    const spec = { resources: [aResource("v1.widgets.example.dev")] };
    await test.call("POST", `/clusters/root:provider${exportsPath}`, anExport("example.dev", spec));
    await test.call("POST", `/clusters/root:provider${bindingsPath}`, aBinding("w", "", "example.dev"));
    const status = () => test.read(`/clusters/root:provider${bindingsPath}/w`, "status");
    const message = "Waiting for API(s) to be established: v1.widgets.example.dev";
    expect(await status()).toMatchObject({
      phase: "Binding",
      conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "False", message })]),
    });
    expect((await test.call("GET", "/clusters/root:provider/apis/example.dev/v1/widgets")).status).toBe(404);
    clock.pass(6_000);
    expect(await status()).toMatchObject({ phase: "Bound" });
    expect((await test.call("GET", "/clusters/root:provider/apis/example.dev/v1/widgets")).status).toBe(200);
  });

  it("delays the readiness of a workspace", async () => {
    const clock = stoppedClock();
    test = await kcpUnderTest({ clock, delays: { workspaceMs: 500 } });
    const path = `/clusters/root${workspaces}`;
    await test.call("POST", path, aWorkspace("a", { name: "universal", path: "root" }));
    expect(await test.read(`${path}/a`, "status", "phase")).toBe("Initializing");
    clock.pass(1_000);
    expect(await test.read(`${path}/a`, "status", "phase")).toBe("Ready");
  });

  it("generates the same names and identities from the same random numbers", async () => {
    const draw = async () => {
      let seed = 1;
      const random = () => {
        seed = (seed * 16_807) % 2_147_483_647;
        return seed / 2_147_483_647;
      };
      const one = await kcpUnderTest({ clock: stoppedClock(), random });
      const cluster = one.kcp.createWorkspace("root:a");
      const identity = await one.read(`/clusters/root${exportsPath}/tenancy.kcp.io`, "status", "identityHash");
      await one.kcp.stop();
      test = one;
      return { cluster, identity, token: one.kcp.adminToken };
    };
    expect(await draw()).toEqual(await draw());
  });
});
