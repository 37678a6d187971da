import { expect, test } from "vitest";
import type { Input, Scenario, Step } from "./scenario.ts";
import { startServers } from "./servers.ts";
import { runScenario, violationsOf } from "./simulate.ts";
import type { RegistrationWish } from "./wishes.ts";

const wish = (cluster: RegistrationWish["cluster"], wayIn: RegistrationWish["wayIn"]): RegistrationWish => ({
  cluster,
  wayIn,
  labels: {},
  spec: { location: "us-west-2" },
});
const at = (seconds: number, input: Input): Step => ({ atMs: seconds * 1000, input });

/** A little of everything that makes a controller write. */
const steps: readonly Step[] = [
  at(0, { kind: "register", tenant: 0, name: "east", wish: wish("c0", "operator") }),
  at(0, { kind: "register", tenant: 0, name: "west", wish: wish("c1", "token") }),
  at(0, { kind: "place", tenant: 0, name: "web", wish: { annotations: {}, spec: { strategy: "Spread" } } }),
  at(1, { kind: "place", tenant: 0, name: "one", wish: { annotations: {}, spec: { strategy: "RoundRobin" } } }),
  at(5, { kind: "secret", tenant: 0, name: "west", content: "two" }),
  at(10, { kind: "cluster", cluster: "c0", state: "refuse" }),
  at(110, { kind: "cluster", cluster: "c0", state: "up" }),
  at(120, { kind: "unregister", tenant: 0, name: "west" }),
];
const scenario: Scenario = {
  seed: 1,
  steps,
  endMs: 130_000,
  finalStates: { c0: "up", c1: "up", c2: "up", c3: "up" },
  ending: "as-is",
  restMs: 0,
  settings: { workers: 2, heartbeatWriteSeconds: 3600, resyncSeconds: 60 },
};

test("a controller that dies at any of its writes leaves a world that ends in the same place", {
  timeout: 120_000,
}, async () => {
  const servers = await startServers();
  const oracle = await runScenario(scenario, { servers }, "without faults");
  const whole = await runScenario(scenario, { servers }, "with faults");
  expect(violationsOf(oracle, whole)).toEqual([]);
  expect(whole.writes).toBeGreaterThan(15);

  for (let nth = 1; nth <= whole.writes; nth++) {
    for (const when of ["before", "after"] as const) {
      const death: Step = { atMs: 0, fault: { kind: "kill-at-write", nth, when, restartAfterMs: 1_000 } };
      const found = await runScenario({ ...scenario, steps: [death, ...steps] }, { servers }, "with faults");
      expect(violationsOf(oracle, found), `killed ${when} write ${nth}`).toEqual([]);
    }
  }
});
