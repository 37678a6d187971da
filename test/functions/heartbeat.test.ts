import { systemClock } from "@tmc/kube/clock.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHeartbeatFunction } from "../../lib/lambda/heartbeat.ts";
import { createProbeFunction } from "../../lib/lambda/probe.ts";
import { aRegistration, registrations } from "../lib/upstream/tenants.ts";
import { readyOf } from "../support/controller-environment.ts";
import {
  contextOf,
  type FunctionsEnvironment,
  saidIn,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";

const workspaces = ["root:one", "root:two"];
let stage: FunctionsEnvironment;
beforeEach(async () => {
  stage = await startFunctionsEnvironment(workspaces);
  for (const cluster of stage.tenants.clusters) {
    await stage.tenants.at(cluster).create(registrations, aRegistration("east"));
  }
});
afterEach(() => stage.stop());

const registration = (name: string) => stage.client.get({ ...registrations, name });
const bodies = (queue: string) => stage.sqs.in(queue).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const setNextProbe = (name: string, nextProbeTime: string) =>
  stage.client.patch(
    { ...registrations, name },
    { type: "merge", body: { status: { nextProbeTime } } },
    { subresource: "status" },
  );

const unread = (host: ReturnType<FunctionsEnvironment["host"]>) =>
  host.lines.flatMap((line) => (line.tmc_unread_workspaces === undefined ? [] : [line.tmc_unread_workspaces]));

describe("the heartbeat function", () => {
  test("heartbeat sends probes for the clusters of all workspaces, and counts them", async () => {
    const host = stage.host();
    expect(await createHeartbeatFunction(host, stage.cloud)({}, contextOf())).toEqual({
      clusters: 2,
      due: 2,
      messages: 1,
    });
    const [body] = bodies("heartbeat");
    expect(body).toMatchObject({ v: 1 });
    expect(body?.clusters).toEqual(
      expect.arrayContaining(stage.tenants.clusters.map((cluster) => ({ logicalCluster: cluster, name: "east" }))),
    );
    expect(host.lines).toContainEqual(expect.objectContaining({ ready: "unknown", tmc_clusters: 2 }));
  });

  test("heartbeat skips clusters with an open circuit breaker", async () => {
    await setNextProbe("east", new Date(Date.now() + 50_000).toISOString());
    expect(await createHeartbeatFunction(stage.host(), stage.cloud)({}, contextOf())).toMatchObject({ due: 1 });
  });

  test("heartbeat logs a missing workspace, continues with the others, and includes it once it exists", async () => {
    const host = stage.host({ TMC_WORKSPACES: "root:one,root:later" });
    const handler = createHeartbeatFunction(host, stage.cloud);
    expect(await handler({}, contextOf())).toMatchObject({ due: 1 });
    expect(host.lines).toContainEqual(
      expect.objectContaining({ message: "workspace cannot be read", workspace: "root:later" }),
    );
    expect(unread(host), "the alarm workspaces-unread sees it").toEqual([1]);
    const later = await stage.tenants.bind("root:later");
    await stage.tenants.at(later).create(registrations, aRegistration("west"));
    expect(await handler({}, contextOf())).toMatchObject({ due: 2 });
    expect(unread(host)).toEqual([1, 0]);
  });

  test("heartbeat resolves the logical cluster of a workspace once", async () => {
    const handler = createHeartbeatFunction(stage.host(), stage.cloud);
    await handler({}, contextOf());
    const asked = stage.tenants.kcp.faults.inject({
      match: { resource: "logicalclusters" },
      effect: { kind: "delay", ms: 0 },
    });
    await handler({}, contextOf());
    expect(asked.hits).toBe(0);
  });

  test("heartbeat fails if no workspace can be read or the queue rejects its messages", async () => {
    const handler = createHeartbeatFunction(stage.host(), stage.cloud);
    stage.sqs.refuse("heartbeat");
    await expect(handler({}, contextOf())).rejects.toThrow(/sqs: send to heartbeat: .*AccessDenied/);
    stage.sqs.refuse();
    const injection = stage.tenants.kcp.faults.inject({
      match: { verb: "list" },
      effect: { kind: "status", code: 503 },
    });
    await expect(handler({}, contextOf())).rejects.toThrow("no workspace could be read");
    injection.remove();
  });
});

describe("the probe function", () => {
  const planned = async () => {
    await createHeartbeatFunction(stage.host(), stage.cloud)({}, contextOf());
    return stage.sqs.take("heartbeat");
  };

  test("probe probes every cluster of its message", async () => {
    await createProbeFunction(stage.host(), stage.cloud)(eventOf(await planned()), contextOf());
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
    const other = stage.tenants.at(stage.tenants.clusters[1] ?? "");
    expect(readyOf(await other.get({ ...registrations, name: "east" }))).toBe("True ClusterReady");
  });

  test("probe drops a message that is older than a round, without counting its delay", async () => {
    const [message] = await planned();
    const nowMs = Date.now() + 80_000;
    const host = stage.host({}, { clock: { ...systemClock, now: () => nowMs } });
    const handler = createProbeFunction(host, stage.cloud);
    if (message === undefined) throw new Error("nothing was sent");
    await handler(eventOf([message]), contextOf());
    expect(saidIn(host)).toContain("heartbeat dropped");
    expect(readyOf(await registration("east"))).toBe("none");

    const body = JSON.stringify({ ...(JSON.parse(message.body) as object), delaySeconds: 40 });
    await handler(eventOf([{ ...message, body }]), contextOf());
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  });

  test("probe does not drop a late heartbeat that is delivered again, so that one that kills the function is dead-lettered", async () => {
    const [message] = (await planned()).map((each) => ({ ...each, sentMs: each.sentMs - 90_000 }));
    if (message === undefined) throw new Error("nothing was sent");
    const host = stage.host();
    const event = eventOf([message]);
    for (const { attributes } of event.Records) attributes.ApproximateReceiveCount = "2";
    await createProbeFunction(host, stage.cloud)(event, contextOf());
    expect(saidIn(host)).not.toContain("heartbeat dropped");
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  });

  test("probe sends a retry for a failed key and returns success", async () => {
    const event = eventOf(await planned());
    const injection = stage.tenants.kcp.faults.inject({
      match: { logicalCluster: stage.cluster },
      effect: { kind: "status", code: 503 },
    });
    const answer = await createProbeFunction(stage.host(), stage.cloud)(event, contextOf());
    injection.remove();
    expect(answer).toEqual({ batchItemFailures: [] });
    expect([...bodies("delay"), ...bodies("work.fifo")]).toMatchObject([
      { name: "east", logicalCluster: stage.cluster, reason: "retry", attempts: { transient: 1 } },
    ]);
  });

  test("probe leaves clusters that it cannot probe in time to the next round", async () => {
    const event = eventOf(await planned());
    const host = stage.host();
    const handler = createProbeFunction(host, stage.cloud);
    await handler(eventOf([]), contextOf());
    const injection = stage.clusters.get("east")?.faults.inject({ effect: { kind: "partition", requests: "hang" } });
    expect(await handler(event, contextOf(2_300))).toEqual({ batchItemFailures: [] });
    injection?.remove();
    expect(host.lines).toContainEqual(
      expect.objectContaining({ message: "probes not finished", clusters: 2, failed: 2 }),
    );
  });

  test("probe drops an invalid message", async () => {
    const host = stage.host();
    const event = eventOf([{ body: '{"v":2}', groupId: undefined, sentMs: Date.now() }]);
    expect(await createProbeFunction(host, stage.cloud)(event, contextOf())).toEqual({ batchItemFailures: [] });
    expect(saidIn(host)).toContain("heartbeat cannot be read");
  });
});
