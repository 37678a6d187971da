import { afterEach, beforeEach, expect, test } from "vitest";
import { createHealthFunction } from "../../lib/lambda/health.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import {
  contextOf,
  type FunctionsEnvironment,
  hubToken,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";

let stage: FunctionsEnvironment;
beforeEach(async () => {
  stage = await startFunctionsEnvironment(["root:one"]);
  await stage.client.create(registrations, aRegistration("east"));
  await stage.client.create(placements, aPlacement("web"));
});
afterEach(() => stage.stop());

const empty = { ok: true, visible: 0, inFlight: 0, delayed: 0 };
const ready = (type: string, name: string) =>
  stage.client.patch(
    { type: { ...registrations.type, plural: type }, name },
    {
      type: "merge",
      body: {
        status: {
          conditions: [
            { type: "Ready", status: "True", reason: "Any", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
          ],
        },
      },
    },
    { subresource: "status" },
  );

test("health reports kcp, clusters, placements and queues", async () => {
  await ready("clusterregistrations", "east");
  const answer = await createHealthFunction(stage.host(), stage.cloud)({}, contextOf());
  expect(answer).toMatchObject({
    version: "1.2.3",
    stage: "test",
    ok: true,
    hub: { ok: true },
    clusters: { ok: true, ready: 1, total: 1 },
    placements: { ok: true, ready: 0, total: 1 },
    queues: { work: empty, delay: empty, heartbeat: empty, deadLetters: empty },
  });
  expect(answer.hub.ok && answer.hub.tookMs).toBeGreaterThanOrEqual(0);
});

test("health is not ok if there is a dead letter", async () => {
  stage.sqs.put("dead.fifo", "given up");
  const answer = await createHealthFunction(stage.host(), stage.cloud)({}, contextOf());
  expect(answer).toMatchObject({ ok: false, queues: { deadLetters: { ok: true, visible: 1 } } });
});

test("health reports why a part cannot be read, without secrets, and reports the other parts", async () => {
  stage.sqs.refuse("heartbeat");
  stage.secrets.secrets.set("tmc/kcp", `{{ ${hubToken}`);
  const handler = createHealthFunction(stage.host(), stage.cloud);
  const answer = await handler({}, contextOf());
  expect(answer).toMatchObject({
    ok: false,
    hub: { ok: false, reason: expect.stringMatching(/^secret tmc\/kcp: /) as string },
    clusters: { ok: false },
    placements: { ok: false },
    queues: { work: empty, heartbeat: { ok: false, reason: expect.stringContaining("AccessDenied") as string } },
  });
  expect(JSON.stringify(answer)).not.toContain(hubToken);
});

test("health names a missing workspace and counts the others", async () => {
  const host = stage.host({ TMC_WORKSPACES: "root:one,root:none" });
  const answer = await createHealthFunction(host, stage.cloud)({}, contextOf());
  expect(answer).toMatchObject({
    ok: false,
    clusters: { ok: true, total: 1, unread: { "root:none": expect.stringContaining("there is none") as string } },
  });
});

test("health writes nothing and sends no messages", async () => {
  const writes = ["create", "update", "patch", "delete"].map((verb) =>
    stage.tenants.kcp.faults.inject({ match: { verb }, effect: { kind: "delay", ms: 0 } }),
  );
  await createHealthFunction(stage.host(), stage.cloud)({}, contextOf());
  expect(writes.map(({ hits }) => hits)).toEqual([0, 0, 0, 0]);
  expect(["work.fifo", "delay", "heartbeat", "dead.fifo"].flatMap((queue) => stage.sqs.in(queue))).toEqual([]);
});
