import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createForward } from "../../lib/lambda/forward.ts";
import { createReconcile } from "../../lib/lambda/reconcile.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { readyOf, statusOf } from "../lib/controller/stage.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { eventOf } from "./recording-sqs.ts";
import { type CloudStage, clusterToken, contextOf, hubToken, messageOf, saidIn, setCloudStage } from "./stage.ts";

let stage: CloudStage;
beforeEach(async () => {
  stage = await setCloudStage();
});
afterEach(() => stage.stop());

const registrationKey = (name: string): ObjectKey => ({
  logicalCluster: stage.cluster,
  kind: "ClusterRegistration",
  name,
});
const placementKey = (name: string): ObjectKey => ({ logicalCluster: stage.cluster, kind: "WorkloadPlacement", name });
const registration = (name: string) => stage.client.get({ ...registrations, name });
const placement = (name: string) => stage.client.get({ ...placements, name });
const register = (name: string) => stage.client.create(registrations, aRegistration(name));
const place = (name: string, spec: object = {}) => stage.client.create(placements, aPlacement(name, spec));
const keys = (messages: readonly { body: string }[]) =>
  messages.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

/** Takes messages to their functions until all queues are empty, as Lambda does; waits count as over. */
async function settle(handler: ReturnType<typeof createReconcile>): Promise<void> {
  const forward = createForward(stage.host(), stage.cloud);
  for (let round = 0; round < 50; round++) {
    const work = stage.sqs.take("work.fifo", 10);
    const delayed = stage.sqs.take("delay", 10);
    if (work.length + delayed.length === 0) return;
    if (work.length > 0) expect(await handler(eventOf(work), contextOf())).toEqual({ batchItemFailures: [] });
    if (delayed.length > 0) await forward(eventOf(delayed), contextOf());
  }
  throw new Error("the queues never came to rest");
}

test("a registered cluster becomes ready, and the placements that wait for it are told", async () => {
  const handler = createReconcile(stage.host(), stage.cloud);
  await place("web");
  await handler(eventOf([messageOf(placementKey("web"))]), contextOf());
  expect(statusOf(await placement("web")).selectedClusters ?? []).toEqual([]);

  await register("east");
  await handler(eventOf([messageOf(registrationKey("east"))]), contextOf());
  expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  expect(keys(stage.sqs.in("work.fifo"))).toMatchObject([{ name: "web", reason: "fan-out", v: 1 }]);
  await settle(handler);
  expect(statusOf(await placement("web")).selectedClusters).toEqual(["east"]);
});

test("placements of one batch are dealt out evenly", async () => {
  const handler = createReconcile(stage.host(), stage.cloud);
  for (const name of ["east", "west"]) await register(name);
  await handler(eventOf(["east", "west"].map((name) => messageOf(registrationKey(name)))), contextOf());
  const names = Array.from({ length: 8 }, (_, index) => `web-${index}`);
  for (const name of names) await place(name);
  await handler(eventOf(names.map((name) => messageOf(placementKey(name)))), contextOf());
  const chosen = await Promise.all(names.map(async (name) => statusOf(await placement(name)).selectedClusters));
  expect(chosen.filter((one) => String(one) === "east")).toHaveLength(4);
  expect(chosen.filter((one) => String(one) === "west")).toHaveLength(4);
});

test("everything is made once for a process, and said so in one line", async () => {
  const host = stage.host();
  const handler = createReconcile(host, stage.cloud);
  await register("east");
  for (let run = 0; run < 3; run++) await handler(eventOf([messageOf(registrationKey("east"))]), contextOf());
  const starts = host.lines.filter(({ message }) => message === "function started");
  expect(starts).toMatchObject([{ version: "1.2.3", importMs: 100, initMs: 0, function: "reconcile", stage: "test" }]);
  expect(stage.secrets.reads(), "the hub's and the cluster's").toBe(2);
});

test("each invocation sees what there is then", async () => {
  const handler = createReconcile(stage.host(), stage.cloud);
  await register("east");
  await handler(eventOf([messageOf(registrationKey("east"))]), contextOf());
  await place("all", { strategy: "Spread" });
  await handler(eventOf([messageOf(placementKey("all"))]), contextOf());
  await register("west");
  await handler(eventOf([messageOf(registrationKey("west"))]), contextOf());
  await handler(eventOf([messageOf(placementKey("all"))]), contextOf());
  expect(statusOf(await placement("all")).selectedClusters).toEqual(["east", "west"]);
});

test("every line of an invocation names it, and its metrics name no tenant", async () => {
  const host = stage.host();
  await register("east");
  await createReconcile(host, stage.cloud)(eventOf([messageOf(registrationKey("east"))]), contextOf());
  const [logged, metrics] = [
    host.lines.filter(({ _aws }) => _aws === undefined),
    host.lines.filter(({ _aws }) => _aws !== undefined),
  ];
  expect(logged.length).toBeGreaterThan(1);
  for (const line of logged) expect(line).toMatchObject({ requestId: "request-1", function: "reconcile" });
  expect(metrics).toContainEqual(
    expect.objectContaining({
      service: "tmc-test",
      kind: "ClusterRegistration",
      outcome: "done",
      tmc_reconcile_total: 1,
    }),
  );
  expect(JSON.stringify(metrics)).not.toContain(stage.cluster);
  expect(JSON.stringify(metrics)).not.toContain("east");
});

describe("a key that fails", () => {
  test("because the hub is away comes again later, and its message is done with", async () => {
    const handler = createReconcile(stage.host(), stage.cloud);
    await place("web");
    await handler(eventOf([messageOf(placementKey("web"))]), contextOf());
    const injection = stage.tenants.kcp.faults.inject({ match: {}, effect: { kind: "status", code: 503 } });
    expect(await handler(eventOf([messageOf(placementKey("web"))]), contextOf())).toEqual({ batchItemFailures: [] });
    injection.remove();
    expect(keys([...stage.sqs.in("delay"), ...stage.sqs.in("work.fifo")])).toMatchObject([
      { name: "web", reason: "retry", attempts: { trouble: 1 } },
    ]);
  });

  test("and whose retry the queue does not take is handed out again, and no other", async () => {
    const handler = createReconcile(stage.host(), stage.cloud);
    await place("web");
    stage.sqs.refuse("delay", "work.fifo");
    const injection = stage.tenants.kcp.faults.inject({
      match: { name: "bad" },
      effect: { kind: "status", code: 503 },
    });
    const event = eventOf([messageOf(placementKey("web")), messageOf(placementKey("bad"))]);
    expect(await handler(event, contextOf())).toEqual({ batchItemFailures: [{ itemIdentifier: "message-1" }] });
    injection.remove();
  });

  test("because nobody can read its message lies with the dead letters", async () => {
    const host = stage.host();
    const message = { body: "{not ours", groupId: "group", sentMs: Date.now() };
    await createReconcile(host, stage.cloud)(eventOf([message]), contextOf());
    expect(stage.sqs.in("dead.fifo")).toMatchObject([{ body: "{not ours", cause: "message: is not JSON" }]);
    expect(saidIn(host)).toContain("message set aside");
  });
});

test("an invocation whose time runs out still answers, with what it has not done", async () => {
  const handler = createReconcile(stage.host(), stage.cloud);
  for (const name of ["quick", "slow"]) await place(name);
  await handler(eventOf([messageOf(placementKey("quick"))]), contextOf());
  const injection = stage.tenants.kcp.faults.inject({
    match: { name: "slow" },
    effect: { kind: "partition", requests: "hang" },
  });
  const event = eventOf(["quick", "slow"].map((name) => messageOf(placementKey(name))));
  const answer = await handler(event, contextOf(4_000));
  injection.remove();
  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "message-1" }] });
});

describe("a start that fails", () => {
  const event = () => eventOf([messageOf(placementKey("web"))]);

  test("names everything that is wrong with the environment, and is tried again", async () => {
    const host = stage.host({ TMC_STAGE: "", TMC_WORK_QUEUE_URL: "somewhere", TMC_HEARTBEAT_SECONDS: "often" });
    const handler = createReconcile(host, stage.cloud);
    await expect(handler(event(), contextOf())).rejects.toThrow(
      "environment: TMC_STAGE is not set; TMC_WORK_QUEUE_URL has to be the URL of a queue; " +
        "TMC_HEARTBEAT_SECONDS has to be whole seconds from 1 to 86400",
    );
    expect(saidIn(host)).toEqual(["invocation failed"]);
    Object.assign(host.variables, stage.host().variables, { TMC_HEARTBEAT_SECONDS: "60" });
    expect(await handler(event(), contextOf())).toEqual({ batchItemFailures: [] });
    expect(saidIn(host).filter((said) => said === "function started")).toHaveLength(1);
  });

  test.each([
    ["is no kubeconfig", `users: [{ user: { token: ${hubToken} } }]`],
    ["is not YAML", `{{ ${hubToken}`],
    ["is missing", undefined],
  ])("because the hub's secret %s shows nothing of it, and is tried again", async (_what, text) => {
    const good = stage.secrets.secrets.get("tmc/kcp") ?? "";
    if (text === undefined) stage.secrets.secrets.delete("tmc/kcp");
    else stage.secrets.secrets.set("tmc/kcp", text);
    const host = stage.host();
    const handler = createReconcile(host, stage.cloud);
    const failure: unknown = await handler(event(), contextOf()).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/^Error: secret tmc\/kcp: .+$/);
    expect(failure).toSatisfy((error: Error) => !error.stack?.includes("\n") && error.cause === undefined);
    expect(stage.written()).not.toContain(hubToken);
    stage.secrets.secrets.set("tmc/kcp", good);
    expect(await handler(event(), contextOf())).toEqual({ batchItemFailures: [] });
  });
});

test("no line shows a secret, whatever goes wrong and at every level", async () => {
  const handler = createReconcile(stage.host({ TMC_LOG_LEVEL: "10" }), stage.cloud);
  for (const name of ["east", "west", "north"]) await register(name);
  stage.secrets.secrets.set(
    `tmc/${stage.cluster}/west`,
    `{"server":"https://west.example.com","token":"${clusterToken}`,
  );
  stage.secrets.secrets.set(`tmc/${stage.cluster}/north`, `{"server":"http://10.0.0.1","token":"${clusterToken}"}`);
  const refusal = stage.clusters.get("east")?.faults.inject({
    match: {},
    effect: { kind: "status", code: 401, message: `Authorization: Bearer ${clusterToken} is not known` },
  });
  const event = eventOf(["east", "west", "north"].map((name) => messageOf(registrationKey(name))));
  await handler(event, contextOf());
  const hubTrouble = stage.tenants.kcp.faults.inject({
    match: {},
    effect: { kind: "status", code: 500, message: `token: ${hubToken} made it fail` },
  });
  await handler(event, contextOf());
  hubTrouble.remove();
  refusal?.remove();
  expect(stage.written()).toContain("reconcile failed");
  for (const secret of [clusterToken, hubToken]) {
    expect(stage.written()).not.toContain(secret);
    expect(JSON.stringify([...stage.sqs.in("delay"), ...stage.sqs.in("work.fifo")])).not.toContain(secret);
    for (const name of ["east", "west", "north"]) {
      expect(JSON.stringify(await registration(name))).not.toContain(secret);
    }
  }
});

describe("people are told by functions, too", () => {
  const told = async (): Promise<readonly string[]> => {
    const { items } = await stage.client.list<KubeObject>({
      type: { group: "", version: "v1", plural: "events" },
      namespace: "default",
    });
    return items.map(({ reason, message, count }) => `${String(reason)} ×${String(count)} ${String(message)}`);
  };

  test("once that a cluster has died, whichever process finds it", async () => {
    await register("east");
    stage.clusters.get("east")?.beBroken();
    for (let run = 0; run < 3; run++) {
      const message = messageOf(registrationKey("east"), { reason: "on-demand" });
      await createReconcile(stage.host(), stage.cloud)(eventOf([message]), contextOf());
    }
    expect(readyOf(await registration("east"))).toBe("False ClusterUnhealthy");
    expect(await told()).toEqual([expect.stringMatching(/^HeartbeatFailed ×1 ClusterUnhealthy: /)]);
  });

  test("that an object was set aside, when it has failed as often as that takes", async () => {
    await register("south");
    const way = JSON.stringify({ server: "https://south.example.com", token: clusterToken });
    stage.secrets.secrets.set(`tmc/${stage.cluster}/south`, way);
    const handler = createReconcile(stage.host(), stage.cloud);
    await handler(eventOf([messageOf(registrationKey("south"), { attempts: { unforeseen: 3 } })]), contextOf());
    expect(await told()).toEqual([]);
    await handler(eventOf([messageOf(registrationKey("south"), { attempts: { unforeseen: 4 } })]), contextOf());
    expect(stage.sqs.in("dead.fifo")).toHaveLength(1);
    expect(await told()).toEqual([expect.stringMatching(/^ControllerError ×1 .*: nothing leads to south$/)]);
  });
});
