import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createResyncFunction } from "../../lib/lambda/resync.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { contextOf, type FunctionsEnvironment, startFunctionsEnvironment } from "../support/functions-environment.ts";

let stage: FunctionsEnvironment;
beforeAll(async () => {
  stage = await startFunctionsEnvironment(["root:one", "root:two"]);
  for (const cluster of stage.tenants.clusters) {
    await stage.tenants.at(cluster).create(registrations, aRegistration("east"));
    for (let index = 0; index < 12; index++) {
      await stage.tenants.at(cluster).create(placements, aPlacement(`web-${index}`));
    }
  }
});
afterAll(() => stage.stop());
beforeEach(() => {
  stage.sqs.take("delay");
  stage.sqs.refuse();
});

const spreadOver = (seconds: number) => {
  let at = 0;
  return { TMC_RESYNC_SECONDS: String(seconds), random: () => ((at++ * 7) % 10) / 10 };
};
const resyncOver = (seconds: number) => {
  const { random, ...variables } = spreadOver(seconds);
  return createResyncFunction(stage.host(variables, { random }), stage.cloud);
};

test("resync sends every key of every workspace once, ten per call, with different delays", async () => {
  const before = stage.sqs.calls();
  expect(await resyncOver(600)({}, contextOf())).toEqual({ keys: 26, sent: 26 });
  const sent = stage.sqs.in("delay");
  const bodies = sent.map(({ body }) => JSON.parse(body) as Record<string, string>);
  expect(new Set(bodies.map(({ logicalCluster: cluster, kind, name }) => `${cluster} ${kind} ${name}`)).size).toBe(26);
  expect(new Set(bodies.map(({ reason }) => reason))).toEqual(new Set(["resync"]));
  expect(new Set(bodies.map(({ nonce }) => nonce)).size).toBe(26);
  expect(stage.sqs.calls() - before).toBe(3);
  const delays = sent.map(({ delaySeconds }) => delaySeconds);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(1);
  expect(Math.max(...delays)).toBeLessThanOrEqual(600);
  expect(new Set(delays).size).toBeGreaterThan(5);
});

test("no delay of resync exceeds the limit of SQS", async () => {
  await resyncOver(1_800)({}, contextOf());
  expect(Math.max(...stage.sqs.in("delay").map(({ delaySeconds }) => delaySeconds))).toBeLessThanOrEqual(900);
});

test("resync lists metadata only and reads no objects", async () => {
  const lists = stage.tenants.kcp.faults.inject({ match: { verb: "list" }, effect: { kind: "delay", ms: 0 } });
  const gets = stage.tenants.kcp.faults.inject({
    match: { verb: "get", resource: "workloadplacements" },
    effect: { kind: "delay", ms: 0 },
  });
  await resyncOver(600)({}, contextOf());
  expect([lists.hits, gets.hits]).toEqual([6, 0]);
});

test("resync continues if one workspace cannot be read", async () => {
  const injection = stage.tenants.kcp.faults.inject({
    match: { logicalCluster: stage.cluster, verb: "list" },
    effect: { kind: "status", code: 503 },
  });
  expect(await resyncOver(600)({}, contextOf())).toEqual({ keys: 13, sent: 13 });
  injection.remove();
});

test("resync fails if the queue rejects its messages", async () => {
  stage.sqs.refuse("delay");
  await expect(resyncOver(600)({}, contextOf())).rejects.toThrow("26 of 26 messages rejected");
});
