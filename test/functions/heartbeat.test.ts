import { systemClock } from "@tmc/kube/clock.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHeartbeatPlanner } from "../../lib/lambda/heartbeat.ts";
import { createProbe } from "../../lib/lambda/probe.ts";
import { readyOf } from "../lib/controller/stage.ts";
import { aRegistration, registrations } from "../lib/upstream/tenants.ts";
import { eventOf } from "./recording-sqs.ts";
import { type CloudStage, contextOf, saidIn, setCloudStage } from "./stage.ts";

const workspaces = ["root:one", "root:two"];
let stage: CloudStage;
beforeEach(async () => {
  stage = await setCloudStage(workspaces);
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

describe("the planner", () => {
  test("has the clusters of all workspaces probed, and counts them", async () => {
    const host = stage.host();
    expect(await createHeartbeatPlanner(host, stage.cloud)({}, contextOf())).toEqual({
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

  test("leaves out those that wait for their breaker", async () => {
    await setNextProbe("east", new Date(Date.now() + 50_000).toISOString());
    expect(await createHeartbeatPlanner(stage.host(), stage.cloud)({}, contextOf())).toMatchObject({ due: 1 });
  });

  test("goes on where a workspace is not there, says so, and has it again when it is", async () => {
    const host = stage.host({ TMC_WORKSPACES: "root:one,root:later" });
    const handler = createHeartbeatPlanner(host, stage.cloud);
    expect(await handler({}, contextOf())).toMatchObject({ due: 1 });
    expect(host.lines).toContainEqual(
      expect.objectContaining({ message: "workspace cannot be read", workspace: "root:later" }),
    );
    const later = await stage.tenants.bind("root:later");
    await stage.tenants.at(later).create(registrations, aRegistration("west"));
    expect(await handler({}, contextOf())).toMatchObject({ due: 2 });
  });

  test("asks for a workspace's logical cluster once", async () => {
    const handler = createHeartbeatPlanner(stage.host(), stage.cloud);
    await handler({}, contextOf());
    const asked = stage.tenants.kcp.faults.inject({
      match: { resource: "logicalclusters" },
      effect: { kind: "delay", ms: 0 },
    });
    await handler({}, contextOf());
    expect(asked.hits).toBe(0);
  });

  test("fails when no workspace can be read, or when the queue does not take its messages", async () => {
    const handler = createHeartbeatPlanner(stage.host(), stage.cloud);
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

describe("the probe", () => {
  const planned = async () => {
    await createHeartbeatPlanner(stage.host(), stage.cloud)({}, contextOf());
    return stage.sqs.take("heartbeat");
  };

  test("looks at every cluster of its message", async () => {
    await createProbe(stage.host(), stage.cloud)(eventOf(await planned()), contextOf());
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
    const other = stage.tenants.at(stage.tenants.clusters[1] ?? "");
    expect(readyOf(await other.get({ ...registrations, name: "east" }))).toBe("True ClusterReady");
  });

  test("drops a message that is older than a round, but not for the time that it was meant to wait", async () => {
    const [message] = await planned();
    const nowMs = Date.now() + 80_000;
    const host = stage.host({}, { clock: { ...systemClock, now: () => nowMs } });
    const handler = createProbe(host, stage.cloud);
    if (message === undefined) throw new Error("nothing was planned");
    await handler(eventOf([message]), contextOf());
    expect(saidIn(host)).toContain("heartbeat dropped");
    expect(readyOf(await registration("east"))).toBe("none");

    const body = JSON.stringify({ ...(JSON.parse(message.body) as object), delaySeconds: 40 });
    await handler(eventOf([{ ...message, body }]), contextOf());
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  });

  test("sends a key that fails on its way by itself, and answers that all is done", async () => {
    const event = eventOf(await planned());
    const injection = stage.tenants.kcp.faults.inject({
      match: { cluster: stage.cluster },
      effect: { kind: "status", code: 503 },
    });
    const answer = await createProbe(stage.host(), stage.cloud)(event, contextOf());
    injection.remove();
    expect(answer).toEqual({ batchItemFailures: [] });
    expect([...bodies("delay"), ...bodies("work.fifo")]).toMatchObject([
      { name: "east", logicalCluster: stage.cluster, reason: "retry", attempts: { trouble: 1 } },
    ]);
  });

  test("leaves what it cannot do in time to the next round", async () => {
    const event = eventOf(await planned());
    const host = stage.host();
    const handler = createProbe(host, stage.cloud);
    await handler(eventOf([]), contextOf());
    const injection = stage.clusters.get("east")?.faults.inject({ effect: { kind: "partition", requests: "hang" } });
    expect(await handler(event, contextOf(2_300))).toEqual({ batchItemFailures: [] });
    injection?.remove();
    expect(host.lines).toContainEqual(expect.objectContaining({ message: "probes not done", clusters: 2, failed: 2 }));
  });

  test("drops what is no message of ours", async () => {
    const host = stage.host();
    const event = eventOf([{ body: '{"v":2}', groupId: undefined, sentMs: Date.now() }]);
    expect(await createProbe(host, stage.cloud)(event, contextOf())).toEqual({ batchItemFailures: [] });
    expect(saidIn(host)).toContain("heartbeat cannot be read");
  });
});
