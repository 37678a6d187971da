import { afterEach, expect, test } from "vitest";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { type ControllerEnvironment, startControllerEnvironment } from "../../support/controller-environment.ts";
import { aPlacement, placements } from "../upstream/tenants.ts";

let stage: ControllerEnvironment | undefined;
afterEach(() => stage?.stop());

/** Number of placements with a decision, by workspace. */
async function decided({ tenants }: ControllerEnvironment): Promise<readonly number[]> {
  const lists = await Promise.all(tenants.clusters.map((cluster) => tenants.at(cluster).list(placements)));
  return lists.map(({ items }) => items.filter(({ status }) => status !== undefined).length);
}

async function setPlacements(workspaces: readonly string[], counts: readonly number[]): Promise<ControllerEnvironment> {
  const made = await startControllerEnvironment({ workspaces });
  for (const [at, cluster] of made.tenants.clusters.entries()) {
    for (let name = 0; name < (counts[at] ?? 0); name += 1) {
      await made.tenants.at(cluster).create(placements, aPlacement(`web-${name}`));
    }
  }
  return made;
}

test("a tenant above its rate limit waits, and another tenant does not", async () => {
  stage = await setPlacements(["root:noisy", "root:quiet"], [6, 1]);
  const metrics = createMetrics();
  const controller = stage.controller({ metrics, settings: { tenantEventsPerSecond: 4 } });
  await controller.start();
  await stage.rest();
  expect(await decided(stage)).toEqual([1, 1]);
  expect(metrics.render()).toContain("tmc_relay_rate_limited_keys 5");
  expect(controller.isSettled()).toBe(false);
  await stage.pass(1_500, 50);
  expect(await decided(stage)).toEqual([6, 1]);
  expect(metrics.render()).toContain("tmc_relay_rate_limited_keys 0");
});

test("a single tenant has no rate limit", async () => {
  stage = await setPlacements(["root:demo"], [6]);
  const controller = stage.controller({ settings: { tenantEventsPerSecond: 4 } });
  await controller.start();
  await stage.rest();
  expect(await decided(stage)).toEqual([6]);
});
