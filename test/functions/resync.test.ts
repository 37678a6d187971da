import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createResyncFunction } from "../../lib/lambda/resync.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { contextOf, type FunctionsEnvironment, startFunctionsEnvironment } from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";

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
  stage.sqs.take("resync");
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
const leftIn = (host: ReturnType<FunctionsEnvironment["host"]>) =>
  host.lines.flatMap((line) => (line.tmc_resync_left === undefined ? [] : [line.tmc_resync_left]));

test("resync sends every key of every workspace once, ten per call, with different delays", async () => {
  const before = stage.sqs.calls();
  expect(await resyncOver(600)({}, contextOf())).toEqual({ keys: 26, left: 0, isContinued: false });
  const sent = stage.sqs.in("delay");
  const bodies = sent.map(({ body }) => JSON.parse(body) as Record<string, string>);
  expect(new Set(bodies.map(({ logicalCluster: cluster, kind, name }) => `${cluster} ${kind} ${name}`)).size).toBe(26);
  expect(new Set(bodies.map(({ reason }) => reason))).toEqual(new Set(["resync"]));
  expect(new Set(bodies.map(({ nonce }) => nonce)).size).toBe(26);
  // One call for the registrations and two for the placements of each workspace.
  expect(stage.sqs.calls() - before).toBe(6);
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
  const host = stage.host();
  const result = await createResyncFunction(host, stage.cloud)({}, contextOf());
  injection.remove();
  expect(result).toEqual({ keys: 13, left: 1, isContinued: false });
  expect(leftIn(host), "the alarm resync-left sees it").toEqual([1]);
});

test("a complete resync reports that nothing is left", async () => {
  const host = stage.host();
  await createResyncFunction(host, stage.cloud)({}, contextOf());
  expect(leftIn(host)).toEqual([0]);
});

test("a resync that runs out of time continues where it stopped, and reports at its end", async () => {
  const host = stage.host();
  const handler = createResyncFunction(host, stage.cloud);
  const slow = stage.tenants.kcp.faults.inject({
    match: { logicalCluster: stage.tenants.clusters[1] ?? "", verb: "list", resource: "workloadplacements" },
    effect: { kind: "partition", requests: "hang" },
  });
  expect(await handler({}, contextOf(4_000))).toEqual({ keys: 14, left: 1, isContinued: true });
  slow.remove();
  expect(leftIn(host), "an unfinished resync is no complete one").toEqual([]);
  const continuation = stage.sqs.take("resync");
  expect(continuation).toHaveLength(1);
  expect(await handler(eventOf(continuation), contextOf())).toEqual({ keys: 12, left: 0, isContinued: false });
  expect(leftIn(host)).toEqual([0]);
  const bodies = stage.sqs.in("delay").map(({ body }) => JSON.parse(body) as Record<string, string>);
  expect(new Set(bodies.map(({ logicalCluster, kind, name }) => `${logicalCluster} ${kind} ${name}`)).size).toBe(26);
});

test("a resync that is not finished when the next one starts ends, and reports what is left", async () => {
  const host = stage.host({ TMC_RESYNC_SECONDS: "1" });
  const slow = stage.tenants.kcp.faults.inject({
    match: { logicalCluster: stage.cluster, verb: "list" },
    effect: { kind: "partition", requests: "hang" },
  });
  expect(await createResyncFunction(host, stage.cloud)({}, contextOf(4_000))).toMatchObject({
    left: 1,
    isContinued: false,
  });
  slow.remove();
  expect(stage.sqs.in("resync")).toEqual([]);
  expect(leftIn(host)).toEqual([1]);
});

test("a continuation that cannot be read fails the invocation", async () => {
  const event = eventOf([{ body: "{}", groupId: undefined, sentMs: 0 }]);
  await expect(resyncOver(600)(event, contextOf())).rejects.toThrow("resync message: is not of version 1");
});

test("resync fails if the queue rejects its messages", async () => {
  stage.sqs.refuse("delay");
  await expect(resyncOver(600)({}, contextOf())).rejects.toThrow(/messages? rejected|AccessDenied/);
});
